"""The HTML report: whole, honest about what it leaves out, and deaf to whatever the texts in it say."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, Contains, evaluate
from evenhand.domain.evaluation import Attempt, Check, Usage
from evenhand.domain.run import CaseResult, MadeAnswer, RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.reports.html import table
from evenhand.reports.html.page import fragment_html, write_html
from evenhand.reports.html.table import MOST_DETAILED, Room
from evenhand.reports.phrases import Standing, mean_sentence, pass_rate_sentence
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize

# Many, and together they take a while.
pytestmark = pytest.mark.slow

HOSTILE: list[str] = json.loads((Path(__file__).parent / "hostile.json").read_text(encoding="utf-8"))
VOID = {"br", "col", "input", "meta"}


class Page(HTMLParser):
    """A page taken apart; elements that are not closed, or in the wrong order, are a failure."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def skeleton(self) -> list[tuple[str, list[str]]]:
        return [(tag, list(attributes)) for tag, attributes in self.elements]

    @property
    def text(self) -> str:
        return "".join(data for parent, data in self.texts if parent not in {"style", "script"})


def written(report: Report) -> str:
    out = io.StringIO()
    write_html(report, out)
    return out.getvalue()


def page(report: Report) -> Page:
    return Page(written(report))


def full_of(made: Any, said: str) -> Report:
    """Make a report with a text in every place that has one."""
    attempts = (
        Attempt(kind="transport", error=said),
        Attempt(kind="reply", raw=said, error=said, usage=Usage(input_tokens=1)),
    )
    judged = made.judgment(
        0.7, name=said, score_raw=said, reasoning=said, hits=(said,), misses=(said,), flags=(said,),
        checks=(Check(id=said, satisfied=True, reasoning=said, evidence=said),), attempts=attempts,
        details={"judge": said, said: {said: [said]}},
        evaluator_provider_request={"systemPrompt": said, "userPrompt": said, f"{said}!": said},
    )  # fmt: skip
    judged = judged._replace(evaluation=replace(judged.evaluation, type=said))
    broken = made.judgment(f"{said}: {said}", name=f"{said}2", attempts=attempts)
    case = made.case(
        judged, broken, id=said, question=said, reference_answer=said, expected_outcome=said, cluster=said,
        metadata={said: said}, evaluation_schema=said, rubrics=[said], output_messages=[("user", said), (said, said)],
        expected_messages=[{"role": said, "content": said, "tool_calls": [said]}],
        answers=(MadeAnswer(text=said, error=said, attempts=attempts),), replaced=(broken,),
    )  # fmt: skip
    skipped = made.case(
        made.judgment(None, name=said, reasoning=said), candidate_answer=said, input_messages=[("user", said)]
    )
    report: Report = made.report(
        case, skipped, id=said, name=said, status=RunStatus.STOPPED, reason=said, source=said, version=said,
        forked_from=said, definition={"judge": said, "target": {"command": [said, said]}, said: said},
        options={said: said}, gates={"evaluators": {said: {"min_mean": 0.9}}},
    )  # fmt: skip
    return report


# Whatever the texts say


def shown(said: str) -> str:
    """Return a text as it is shown: invisible characters by their pictures."""
    told = said.replace("\r\n", "\n").encode("utf-8", "replace").decode()
    return "".join(chr(0x2400 + ord(one)) if ord(one) < 32 and one not in "\t\n" else one for one in told)


@pytest.fixture(scope="module")
def harmless(made: Any) -> Page:
    return page(full_of(made, "harmless"))


@pytest.fixture(scope="module")
def harmless_fragment(made: Any) -> Page:
    return Page(fragment_html(full_of(made, "harmless")))


@pytest.mark.parametrize("said", HOSTILE)
def test_no_text_becomes_markup(made: Any, harmless: Page, said: str) -> None:
    hostile = page(full_of(made, said))

    assert hostile.skeleton == harmless.skeleton
    assert hostile.text.count(shown(said)) > 40


@pytest.mark.parametrize("said", HOSTILE)
def test_no_text_becomes_markup_in_a_notebook(made: Any, harmless_fragment: Page, said: str) -> None:
    hostile = Page(fragment_html(full_of(made, said)))

    assert hostile.skeleton == harmless_fragment.skeleton
    assert shown(said) in hostile.text


def test_the_page_can_do_nothing_but_what_was_written_here(made: Any) -> None:
    source = written(full_of(made, "harmless"))

    def allowed(name: str) -> str:
        (content,) = re.findall(f"<{name}>(.*?)</{name}>", source, re.DOTALL)
        return "'sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() + "'"

    (policy,) = (given["content"] for _, given in Page(source).elements if given.get("http-equiv"))
    assert (policy or "").split("; ") == [
        "default-src 'none'", f"style-src {allowed('style')}", f"script-src {allowed('script')}", "base-uri 'none'",
        "form-action 'none'",
    ]  # fmt: skip


def test_the_page_refers_to_itself_only(made: Any) -> None:
    taken = page(full_of(made, "harmless"))

    names = {name for _, attributes in taken.elements for name in attributes}
    links = {given["href"] for tag, given in taken.elements if tag == "a"}
    assert not {name for name in names if name == "style" or name.startswith("on")}
    assert not names & {"src", "srcset", "action", "formaction", "data", "poster", "ping", "xlink:href"}
    assert links == {"#case-1", "#case-2"}
    assert ("meta", {"name": "referrer", "content": "no-referrer"}) in taken.elements


def test_our_own_script_and_style_make_no_markup_and_no_requests() -> None:
    assets = resources.files("evenhand.reports") / "assets"
    script, style = ((assets / name).read_text(encoding="utf-8") for name in ("report.js", "report.css"))

    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(|fetch|import|https?:", script
    )
    assert set(re.findall(r"@import|url\([^)]*\)", style)) == {"url(#evenhand-hatching)"}
    assert "</" not in script + style


def test_ids_are_unique(made: Any) -> None:
    taken = page(made.report(made.case(1.0, id="a b"), made.case(0.1, id="a b"), made.case(None)))

    ids = [given["id"] for _, given in taken.elements if "id" in given]
    assert len(ids) == len(set(ids))
    assert {"case-1", "case-2", "case-3"} <= set(ids)


def test_what_cannot_be_seen_is_pictured(made: Any) -> None:
    case = made.case(1.0, question="\x00\x1b[2J bell\x07 \x7f", candidate_answer="one\r\ntwo\rthree")

    taken = page(made.report(case))

    assert "␀␛[2J bell␇ ␡" in taken.text
    assert "one\ntwo␍three" in taken.text


def test_half_a_character_does_not_stop_the_writing(made: Any, tmp_path: Path) -> None:
    with (tmp_path / "report.html").open("w", encoding="utf-8") as out:
        write_html(made.report(made.case(1.0, question="half \ud83d of a face")), out)

    assert "half ? of a face" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_text_that_begins_with_a_line_break_keeps_it(made: Any) -> None:
    source = written(made.report(made.case(1.0, candidate_answer="\nsecond line")))

    # A browser takes the first one for itself.
    assert '<pre dir="auto">\n\nsecond line</pre>' in source


# The run and its numbers


def test_the_numbers_are_said_as_everywhere(made: Any) -> None:
    report = made.report(made.case(0.9), made.case(0.4), made.case("truncated: cut off"), made.case(None))

    text = page(report).text

    assert mean_sentence(report.summary.cases) in text
    assert pass_rate_sentence(report.summary.cases) in text


def facts(source: str) -> dict[str, str]:
    found = re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", source)
    return {name: re.sub("<.*?>", "", value) for name, value in found}


def test_the_head_names_run_judge_and_target(made: Any) -> None:
    judged = made.judgment(1.0, details={"judge": "openai/gpt-5-mini"})
    target = {"model": "ollama/qwen3", "temperature": 0}

    known = facts(written(made.report(made.case(judged), source="refunds.yaml", definition={"target": target})))

    assert known.items() >= {
        "Run": "20260102-030405-abcd", "Status": "finished", "Started": "2026-01-02 03:04 UTC", "Duration": "2.50 s",
        "Suite": "refunds.yaml", "Judge": "openai/gpt-5-mini", "Target": "ollama/qwen3",
    }.items()  # fmt: skip


@pytest.mark.parametrize(
    ("target", "named"),
    [
        (None, "none; the cases have answers"),
        ("openai/gpt-5", "openai/gpt-5"),
        ({"command": ["python", "bot.py"]}, "python bot.py"),
        ({"python": "bots:answer"}, "bots:answer"),
    ],
)
def test_a_target_is_named_whatever_it_is(made: Any, target: object, named: str) -> None:
    known = facts(written(made.report(made.case(1.0), definition={"target": target})))

    assert known["Target"] == named


def test_the_cost_is_in_dollars_or_unknown(made: Any) -> None:
    priced = facts(written(made.report(made.case(made.judgment(1.0, cost=0.0123)))))
    unpriced = facts(written(made.report(made.case(made.judgment(1.0, cost=None)))))

    assert (priced["Cost"], unpriced["Cost"]) == ("$0.012", "unknown")


def test_a_run_that_is_not_finished_says_so_first(made: Any) -> None:
    cases = [made.case(1.0), made.case(awaited=2), made.case(0.2, awaited=1)]

    taken = page(made.report(*cases, status=RunStatus.STOPPED, reason="the budget of $5 is reached", finished=None))

    assert "This run is not finished (stopped: the budget of $5 is reached). 2 of 3 cases pending" in taken.text
    assert [given["data-standing"] for tag, given in taken.elements if tag == "tr" and "data-standing" in given] == [
        "pass", "pending", "pending",
    ]  # fmt: skip
    assert "This run is not finished" not in page(made.report(made.case(1.0))).text


def test_gates_show_whether_they_were_met(made: Any) -> None:
    text = page(made.report(made.case(0.7), gates={"min_mean": 0.6, "min_pass_rate": 0.9})).text

    assert "✓ gate met min_mean: " in text
    assert "✗ gate missed min_pass_rate: " in text


def test_a_report_without_cases_can_be_written(made: Any) -> None:
    taken = page(made.report())

    assert "No case has a score." in taken.text
    assert "no mean: none of 0 cases was scored" in taken.text


# The table


def rows(source: str) -> list[list[str]]:
    """Return the cells of the table's rows as text, without the cell that opens."""
    found = re.findall(r'<tr id="case-\d+".*?>(.*?)<td role="cell" class="more">', source, re.DOTALL)
    return [
        [re.sub("<.*?>", "", cell).strip() for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, re.DOTALL)]
        for row in found
    ]


def test_a_row_has_the_case_its_verdict_and_all_scores(made: Any) -> None:
    source = written(made.report(made.case(0.9, 0.3, id="first", question="Why?"), made.case(1.0, id="second")))

    assert rows(source) == [
        ["first Why?", "≈ borderline", "0.60", "✓ 0.90", "✗ 0.30"],
        ["second", "✓ pass", "1.00", "✓ 1.00", "–"],
    ]


def test_a_broken_judge_and_a_case_not_judged_are_no_zeros(made: Any) -> None:
    source = written(made.report(made.case("truncated: cut off", id="broken"), made.case(None, id="skipped")))

    assert rows(source) == [["broken", "! error", "–", "!"], ["skipped", "– not evaluated", "–", "–"]]


def test_samples_are_shown_by_their_mean(made: Any) -> None:
    same = [made.judgment(score, sample=sample) for sample, score in enumerate((0.8, 0.9, 1.0))]
    mixed = [made.judgment(score, sample=sample) for sample, score in enumerate((0.2, 1.0, "timeout: late"))]

    source = written(made.report(made.case(*same, id="same"), made.case(*mixed, id="mixed"), repeat=3))

    assert rows(source) == [["same", "✓ pass", "0.90", "✓ 0.90 ×3"], ["mixed", "✗ fail", "0.60", "0.60 ×3"]]
    assert "3 samples: ✗ 0.20, ✓ 1.00, ! error" in source


def test_more_evaluators_than_columns_are_told_of(made: Any) -> None:
    many = [made.judgment(1.0, name=f"evaluator {number}") for number in range(11)]

    source = written(made.report(made.case(*many)))

    assert "The table has columns for 8 of 11 evaluators" in source
    assert len(rows(source)[0]) == 3 + 8
    assert source.count("evaluator 10") > 1


# What there is no room for


def test_errors_and_fails_come_first_where_room_is_scarce() -> None:
    counts = {Standing.PASS: 5, Standing.FAIL: 3, Standing.ERROR: 1}
    room = Room(5, counts)

    taken = [room.take(one) for one in [Standing.PASS, Standing.PASS, Standing.FAIL] * 2 + [Standing.ERROR]]

    assert taken == [True, False, True, False, False, True, True]
    assert room.left_out == 4


def test_where_there_is_room_for_all_all_are_taken() -> None:
    room = Room(3, {Standing.PASS: 2, Standing.FAIL: 1})

    assert all(room.take(one) for one in (Standing.PASS, Standing.PASS, Standing.FAIL))
    assert room.left_out == 0


def test_cases_judged_since_they_were_counted_are_not_sent_away() -> None:
    room = Room(2, {Standing.PENDING: 2})

    assert [room.take(Standing.FAIL) for _ in range(3)] == [True, True, False]


def many(made: Any, count: int) -> Report:
    """Make a report of many cases without keeping them; the last one failed."""
    passed, failed = made.case(1.0), made.case(0.1)

    def results() -> Iterator[CaseResult]:
        for place in range(count):
            yield replace(passed if place < count - 1 else failed, position=place)

    report: Report = made.report(passed, failed)
    return replace(report, results=results, summary=summarize(results()))


@pytest.mark.parametrize("most", [100, pytest.param(MOST_DETAILED, marks=pytest.mark.long)])
def test_cases_that_cannot_be_opened_are_counted(made: Any, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(table, "MOST_DETAILED", most)
    total = most + 50

    source = written(many(made, total))

    assert source.count('<div class="about">') == most
    assert f"{most:,} of {total:,} cases can be opened, errors and fails before others; of the other 50" in source
    assert f"Details of case-{total}<" in source
    assert f"Details of case-{total - 1}<" not in source


def test_rows_that_are_left_out_are_counted(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    most, total = 200, 205
    monkeypatch.setattr(table, "MOST_ROWS", most)

    source = written(many(made, total))

    assert source.count('<tr id="case-') == most
    assert f"The table has {most} of {total} cases, errors and fails before others; 5 cases are left out" in source
    assert f'<tr id="case-{total}"' in source


def test_of_more_cases_than_there_is_room_for_only_those_that_are_shown_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(table, "MOST_ROWS", 6)
    cases = [Case(id=f"case-{place}", candidate_answer="Rome" if place % 9 == 8 else "Paris") for place in range(60)]
    report = evaluate(cases, Contains(value="Paris"), store=tmp_path / "runs.db").whole_report
    whole = written(replace(report, standings=None))

    def refused() -> Iterator[CaseResult]:
        raise AssertionError("somebody reads all cases")

    assert written(replace(report, results=refused)) == whole
    assert re.findall(r'<tr id="case-(\d+)"', whole) == ["9", "18", "27", "36", "45", "54"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "count",
    [150, pytest.param(400, marks=pytest.mark.long), pytest.param(1_500, marks=pytest.mark.sweep)],
)
def test_memory_stays_flat(made: Any, tmp_path: Path, count: int) -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            with (tmp_path / "report.html").open("w", encoding="utf-8") as out:
                write_html(many(made, count), out)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)  # whatever is loaded and remembered once

    assert peak(count) < peak(25) + 100_000


def test_of_a_long_text_beginning_and_end_are_shown(made: Any) -> None:
    long = "begin" + "x" * 50_000 + "end"
    judged = made.judgment(1.0, reasoning=long, hits=(long,), attempts=(made.reply(long, error=long),))

    text = page(made.report(made.case(judged, candidate_answer=long))).text

    assert len(text) < 150_000
    assert text.count("beginxxx") == text.count("xxxend") == 5
    assert text.count("… 30,008 characters left out of this page …") == 5


# All about a case


def about(made: Any, *found: Any, **rest: Any) -> str:
    """Return what a report shows of a case, with single spaces."""
    texts = page(made.report(made.case(*found, **rest))).texts
    return " ".join(" ".join(data for _, data in texts).split())


def test_a_case_shows_what_was_asked_answered_and_expected(made: Any) -> None:
    text = about(
        made, 1.0, question="Why?", candidate_answer="So.", reference_answer="Because.", expected_outcome="Ends"
    )

    for name, said in (
        ("Question", "Why?"),
        ("Answer", "So."),
        ("Reference", "Because."),
        ("Expected outcome", "Ends"),
    ):
        assert f"{name} {said}" in text


def test_a_case_shows_its_context(made: Any) -> None:
    text = about(made, 1.0, question="Why?", context="Since.")
    documents = about(made, 1.0, question="Why?", context=[{"id": "faq", "text": "Since."}, "<b>"])

    assert "Question Why? Context Since. Answer" in text
    assert "Context, document 1: faq Since. Context, document 2 <b> Answer" in documents
    assert "Other fields" not in text + documents


def test_a_reference_given_as_messages_is_shown_once(made: Any) -> None:
    single = about(made, 1.0, question="Why?", candidate_answer="So.", expected_messages=[("assistant", "Because.")])
    several = about(made, 1.0, candidate_answer="So.", expected_messages=[("user", "Why?"), ("assistant", "Because.")])

    assert "Reference Because." in single
    assert single.count("Because.") == 1
    assert "Expected: user Why? Expected: assistant Because." in several
    assert several.count("Because.") == 1


def test_an_evaluation_shows_everything_that_was_found(made: Any) -> None:
    check = Check(id="safe", satisfied=False, reasoning="risky", score=3, probability=0.25, evidence="just do it")
    attempts = (
        Attempt(kind="transport", error="timeout: no answer", latency=5.0),
        Attempt(kind="reply", raw="hm", error="no_json: no object", latency=1.25, usage=Usage(input_tokens=10)),
        Attempt(kind="reply", raw='{"score": 7}', cached=True),
    )
    judged = made.judgment(
        0.7, weight=2, required=True, score_raw=7, reasoning="mostly right", hits=("names it",), misses=("no date",),
        checks=(check,), flags=("clamped",), attempts=attempts, retry_count=1, details={"spread": 0.1},
        evaluator_provider_request={"userPrompt": "the question", "systemPrompt": "the rules"},
    )  # fmt: skip

    text = about(made, judged)

    assert (
        "quality ≈ borderline 0.700 llm_judge · given as 7 · weight 2 · required · asked 2 times · flags: clamped"
        in text
    )
    assert "mostly right" in text
    assert "✓ names it ✗ no date" in text
    assert "1 check, 0 satisfied" in text
    assert "Check Satisfied Score P(yes) Reasoning and evidence safe ✗ no 3 of 10 0.250 risky just do it" in text
    assert "3 attempts, 2 failed, 1 cached" in text
    assert "1. transport · 5.00 s timeout: no answer" in text
    assert "2. reply · 1.25 s · 10 tokens in, 0 out no_json: no object hm" in text
    assert '3. reply · from the cache {"score": 7}' in text
    assert "System prompt the rules User prompt the question" in text
    assert '"spread": 0.1' in text


def test_a_failed_judge_shows_its_error_and_no_score(made: Any) -> None:
    text = about(made, "truncated: cut off", id="broken")

    assert "broken cost $0.00 · the judge failed: no score, excluded from all means" in text
    assert "quality ! error llm_judge The judge failed: no score; left out of all means. truncated: cut off" in text


def test_a_failed_target_is_not_said_to_be_the_judge(made: Any) -> None:
    text = about(made, made.judgment("no_answer: the target failed: timeout", cost=None), id="broken")

    assert "broken the target failed: no score, excluded from all means" in text


def test_a_case_that_fails_for_a_required_evaluator_says_so(made: Any) -> None:
    required = made.judgment(0.2, required=True, weight=0)

    assert "fails because a required evaluator fails" in about(made, required, 1.0)
    assert "fails because a required evaluator fails" not in about(made, 0.2)
    assert "fails because a required evaluator fails" not in about(made, 0.5, thresholds=Thresholds(pass_at=0.9))


def test_an_answer_that_the_target_could_not_make_shows_why(made: Any) -> None:
    failed = MadeAnswer(text=None, error="timeout: no answer within 60 s", latency=60.0, cost=None)

    text = about(made, None, answers=(failed,), question="Why?")

    assert "Answer timeout: no answer within 60 s 1 min 0 s · cost unknown" in text


def test_answers_of_several_samples_are_told_apart(made: Any) -> None:
    answers = [MadeAnswer(text=f"answer {letter}", sample=sample) for sample, letter in enumerate("AB")]
    judged = [made.judgment(1.0, sample=sample) for sample in range(2)]

    text = about(made, *judged, answers=tuple(answers))

    assert "Answer, sample 1 answer A" in text
    assert "quality, sample 2 ✓ pass" in text


def test_what_was_done_anew_is_kept(made: Any) -> None:
    text = about(made, 1.0, replaced=(made.judgment("timeout: late"), MadeAnswer(text="first try", error="cut off")))

    assert "2 earlier attempts, retried after an error" in text
    assert "timeout: late" in text
    assert "first try" in text


def test_a_case_without_an_answer_says_so(made: Any) -> None:
    assert "Answer No answer." in about(made, None, question="Why?")


def test_what_else_a_case_has_is_there_too(made: Any) -> None:
    text = about(made, 1.0, metadata={"channel": "mail"}, evaluation_schema={"type": "object"}, rubrics=["is kind"])

    assert "Other fields of the case: evaluation_schema, rubrics, metadata" in text
    assert '"channel": "mail"' in text


# In a notebook


def test_a_notebook_gets_the_numbers_and_no_more(made: Any) -> None:
    report = made.report(made.case(0.9), made.case(0.4), gates={"min_mean": 0.9})

    taken = Page(fragment_html(report))

    tags = {tag for tag, _ in taken.elements}
    assert not tags & {"script", "style", "link"}
    assert not any("style" in given for _, given in taken.elements)
    assert mean_sentence(report.summary.cases) in taken.text
    assert "✓ pass 1 · ✗ fail 1" in taken.text
    assert "✗ missed: min_mean" in taken.text
