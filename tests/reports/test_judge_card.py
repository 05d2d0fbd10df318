"""A judge card as text, Markdown and HTML: plain sentences, and nothing that users wrote does anything."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.label import Draw, DrawnCase, Label, answer_hash
from evenhand.domain.run import CaseResult, Judgment, RunRecord, RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.reports.html.judge_card import judge_card_html
from evenhand.reports.judge_card import card_markdown, card_text
from evenhand.reports.judge_card_file import judge_card_writer, write_judge_card
from evenhand.trust.calibration import judge_card
from evenhand.trust.card import JudgeCard

HOSTILE = "<script>alert(1)</script>\"'\x1b[2J|[x](javascript:y)"


def card(hostile: str = "", *, people: int = 1, labelled: int = 60) -> JudgeCard:
    """Return a card of 120 cases, of which people label some, and differ from the judge on every sixth."""
    run = RunRecord(number=1, id="20261117-120000-abcd", name=f"refunds{hostile}", status=RunStatus.FINISHED, cases=120)
    results, labels, drawn = [], [], []
    for position in range(120):
        score = (0.95, 0.85, 0.35, 0.45)[position % 4]
        evaluation = Evaluation.with_score(
            evaluator=f"quality{hostile}", type="llm_judge", score=score, verdict=Thresholds().verdict(score)
        )
        case = Case(id=f"case-{position}{hostile}", question=f"Question {position}? {hostile}", candidate_answer="Yes.")
        results.append(CaseResult(position=position, case=case, judgments=(Judgment(evaluation),)))
        if position >= labelled:
            continue
        passes = (score > 0.8) != (position % 6 == 0)
        about: dict[str, Any] = {
            "case": case.id or "",
            "position": position,
            "answer": answer_hash("Yes."),
            "p": labelled / 120,
        }
        drawn.append(DrawnCase(**about))
        labels += [
            Label(
                rater=f"Ann {number} <b>" if hostile else f"Ann {number}", value="pass" if passes else "fail", **about
            )
            for number in range(people)
        ]
    draw = Draw(seed=7, uncertain=0.0, evaluator=None, eligible=120, unsure=0, cases=tuple(drawn))
    return judge_card(results, run, labels, draw if labels else None)


class Read(HTMLParser):
    """The tags of a page, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") or name in ("src", "style") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_text_says_what_the_judge_is_worth_in_plain_sentences() -> None:
    text = card_text(card())

    assert "60 cases labelled by Ann 0, drawn at random with equal chances (seed 7)" in text
    assert "people would pass 0.50 [" in text
    assert "judge and people agree on 0.83 [" in text
    assert "of what people pass, the judge passes 0.83 [" in text
    assert "no bias shown: the judge's pass rate minus that of people is +0.00 [" in text
    assert "people said  judge passed  judge did not" in text
    assert "Where judge and people differ: 10" in text


def test_the_file_draws_the_curve_and_the_verdicts_and_has_no_script() -> None:
    read = Read(judge_card_html(card(people=2)))

    assert "script" not in read.tags
    assert read.tags.count("svg") >= 8
    assert "What people say by the judge's score" in read.text
    assert "The judge passes 50%; people would pass 50%" in read.text
    assert "People pass: the judge is right in 25 of 30" in read.text
    assert "Krippendorff's alpha is 1.00" in read.text


def test_hostile_texts_are_shown_and_do_nothing() -> None:
    hostile = card(HOSTILE, people=2)

    page = judge_card_html(hostile)
    read, text, markdown = Read(page), card_text(hostile), card_markdown(hostile)

    assert not {"script", "b"} & set(read.tags)
    assert "<script>alert(1)</script>" in read.text
    assert "\x1b" not in page + text + markdown
    assert "<script>" not in markdown.replace("\\<script\\>", "")
    assert "[x](" not in markdown.replace("\\[x\\](", "")


def test_without_labels_every_format_says_what_to_do() -> None:
    nothing = card(labelled=0)

    assert "Draw cases at random and label them" in card_text(nothing)
    assert "Draw cases at random and label them" in card_markdown(nothing)
    assert "what people would pass cannot be said yet" in Read(judge_card_html(nothing)).text


def test_the_name_of_a_file_says_its_format(tmp_path: Path) -> None:
    found = card()

    for ending in ("html", "md", "json"):
        write_judge_card(found, str(tmp_path / f"card.{ending}"))

    assert (tmp_path / "card.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (tmp_path / "card.md").read_text(encoding="utf-8").startswith("# Judge card\n")
    assert json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))["judged"] == 120
    with pytest.raises(ConfigError, match=r"a judge card can be \.html, \.md, \.json"):
        judge_card_writer("card.pdf")
