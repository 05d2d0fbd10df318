"""A run that is a scoring, a ranking or an audit reports what it is about, in the words of these."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from evenhand import Audit, RankedProfiles, ScoredProfiles, Scripted, audit, rank, score

pytestmark = pytest.mark.usefixtures("few_draws")

VERDICTS = re.compile(r"\b(pass|passed|pass rate|borderline|fail|fails)\b", re.IGNORECASE)
DESIGN = {
    "template": "{name}, {years} years a nurse.",
    "factors": {"name": ["Anna", "Ben"], "years": [2, 10]},
    "groups": ["name"],
    "criteria": "Experience",
    "gates": {"max_group_effect": 9},
}


@functools.cache
def scored() -> ScoredProfiles:
    replies = [json.dumps({"score": one, "justification": "Because."}) for one in (4, 9, 8)]
    return score(["A", "B", "C"], criteria="Care", judge=Scripted(replies), concurrency=1, store=None)


@functools.cache
def ranked() -> RankedProfiles:
    def judge(messages: Any) -> str:
        shown = re.findall(r"<profile_([A-Z]) id=\S+>\nworth (\d)", messages[-1]["content"])
        return json.dumps({"reasoning": "", "order": [one for one, _ in sorted(shown, key=lambda one: -int(one[1]))]})

    return rank([f"worth {number}" for number in range(6)], criteria="Worth", judge=judge, store=None)


@functools.cache
def audited() -> Audit:
    def judge(messages: Any) -> str:
        return json.dumps({"score": 8 if "10 years" in messages[-1]["content"] else 5, "justification": "By years."})

    return audit(DESIGN, judge=judge, store=None)


MAKERS = [scored, ranked, audited]


@pytest.mark.parametrize("make", MAKERS)
def test_its_report_is_that_of_the_scoring_the_ranking_or_the_audit(make: Any) -> None:
    made = make()

    assert made.run.report() == made.report()
    assert not VERDICTS.search(made.run.report())


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("form", ["md", "csv", "json", "jsonl", "xml", "html"])
def test_so_is_every_format_in_a_text_and_in_a_file(make: Any, form: str, tmp_path: Path) -> None:
    made = make()

    expected = made.save(tmp_path / f"a.{form}").read_bytes()

    assert made.run.report(form).encode() == expected
    assert made.run.save(tmp_path / f"b.{form}").read_bytes() == expected


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (scored, "finished: 3 profiles, 3 scored, mean 7.00 and median 8.00 of 10"),
        (ranked, "led by profile-6, profile-5, profile-4; earlier rounds predict"),
        (audited, "finished: 4 profiles, no group effect beyond chance"),
    ],
)
def test_it_says_in_one_line_what_came_of_it(make: Any, told: str) -> None:
    made = make()

    assert told in repr(made.run)
    assert repr(made.run).partition(": ")[2] == repr(made).partition(": ")[2]
    assert told.partition(": ")[2] in made.run._repr_html_()


def test_nobody_leads_where_there_is_no_order() -> None:
    def judge(messages: Any) -> str:
        shown = re.findall(r"<profile_([A-Z]) id=", messages[-1]["content"])
        return json.dumps({"reasoning": "", "order": shown})

    made = rank([f"worth {number}" for number in range(6)], criteria="Worth", judge=judge, store=None)

    assert made.agreement.beats_chance is False
    assert "6 profiles; " in repr(made)


def test_a_line_about_many_groups_waits_for_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ranked.__wrapped__()  # which nobody has fitted
    monkeypatch.setattr("evenhand.profiles.ranking.report.MOST_FITTED_FOR_A_LINE", 1)

    assert repr(made.run).endswith(f": a ranking of {made.ranks.groups} groups")


def test_an_unpaired_surrogate_is_no_hindrance() -> None:
    judge = Scripted([json.dumps({"reasoning": "", "order": ["A", "B"]})] * 9)
    made = rank(["one \ud800", "two"], criteria="Worth", judge=judge, store=None)

    assert {one.rank for one in made} <= {1, 2}
    assert "2 profiles" in made.report()


def test_the_gates_of_an_audit_are_in_the_report_of_its_run_once() -> None:
    found = json.loads(audited().run.report("json"))

    assert [gate["name"] for gate in found["gates"]] == ["max_group_effect", "equal_refusals"]


@pytest.mark.parametrize("make", MAKERS)
def test_marks_that_nobody_set_are_not_shown(make: Any, tmp_path: Path) -> None:
    page = make().save(tmp_path / "a.html").read_text()

    assert "Definition of the run" in page
    assert "thresholds" not in page


def test_a_page_of_repeated_scores_has_their_spread_and_failures(tmp_path: Path) -> None:
    replies = ['{"score": 4, "justification": "So."}', '{"score": 7, "justification": "So."}', "No."]
    made = score(["A"], criteria="X", judge=Scripted(replies), repeat=3, max_attempts=1, concurrency=1, store=None)

    page = made.save(tmp_path / "a.html").read_text()
    once = scored().save(tmp_path / "b.html").read_text()

    (row,) = re.findall(r'<tr id="case-1".*?class="why"', page, re.DOTALL)
    assert re.findall(r'class="number"[^>]*>([^<]*)<', row) == ["5.50", "2.12", "1"]
    assert ">Spread<" in page
    assert ">Spread<" not in once
    assert len(re.findall('<th scope="row">(?:profiles|score)</th>', page)) == 1


def test_a_page_of_an_audit_has_each_score_in_one_column(tmp_path: Path) -> None:
    page = audited().save(tmp_path / "a.html").read_text()

    headings = re.findall('role="columnheader"[^>]*>([^<]+)<', page)

    assert headings == ["Profile", "Outcome", "Score", "Spread", "Failed"]
