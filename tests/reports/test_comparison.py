"""What people and programs read of a comparison, and that hostile names in it do nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.comparison import Comparison
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.run_differences import CaseCount, RunDifferences, SettingChange
from evenhand.reports.comparison import (
    comparison_json,
    comparison_markdown,
    comparison_text,
)
from evenhand.reports.comparison_file import comparison_writer, write_comparison
from evenhand.reports.paired_cases import PairedSummarizer

WIDE = 200
HOSTILE: list[str] = json.loads((Path(__file__).parent / "hostile.json").read_text(encoding="utf-8"))


@pytest.fixture
def comparison(made: Any) -> Callable[..., Comparison]:
    """Make a comparison of cases with these scores in A and in B, each named by its place."""

    def make(*pairs: tuple[Any, Any], name: str = "refunds", called: str = "case", **rest: Any) -> Comparison:
        comparing = PairedSummarizer(limit=rest.pop("limit", 10), evaluator=rest.get("evaluator"))
        for place, (a, b) in enumerate(pairs):
            sides = (
                made.case(*(found if isinstance(found, tuple) else (found,)), id=f"{called}-{place}", position=place)
                for found in (a, b)
            )
            comparing.add(*(made.judged(side) for side in sides))
        a, b = (RunRecord(number=number, id=f"run-{number}", name=name, status=RunStatus.FINISHED) for number in (1, 2))
        return Comparison(
            a=a,
            b=b,
            cases=comparing.cases(),
            evaluators=comparing.evaluators(),
            changes=comparing.changes(),
            changed=comparing.changed,
            **rest,
        )

    return make


def test_the_text_says_who_is_better_by_how_much_and_how_sure_that_is(comparison: Any) -> None:
    text = comparison_text(comparison(*[(0.0, 1.0)] * 15, *[(1.0, 0.0)] * 5, *[(1.0, 1.0)] * 30, limit=2), width=WIDE)

    assert "A: run-1 refunds\nB: run-2 refunds\n" in text
    assert "B is better than A: +0.200 [+0.023, +0.361] over 50 cases\n" in text
    assert "mean 0.700 in A, 0.900 in B; 15 wins, 30 ties, 5 losses for B\n" in text
    assert "exact McNemar test, since all scores are 0 or 1: p = 0.041; odds ratio 3.00\n" in text
    assert re.search(r"^quality +0\.700 +0\.900 +\+0\.200 .* 0\.041 +0\.041 +50 +15/30/5$", text, re.MULTILINE)
    assert re.search(r"^✓ pass +30 +· +5 +· +·$", text, re.MULTILINE)
    assert "Changed, the largest first: 2 of 20 cases\n" in text
    assert re.search(r"^case-0 +0\.000 +1\.000 +\+1\.000 +fail → pass$", text, re.MULTILINE)


def test_changes_that_are_not_listed_are_counted_without_an_empty_table(comparison: Any) -> None:
    text = comparison_text(comparison(*[(0.0, 1.0)] * 8, limit=0), width=WIDE)

    assert "\n8 cases changed, of which none is listed\n" in f"{text}\n"
    assert "largest first" not in text
    assert not re.search("^case +A +B", text, re.MULTILINE)


def test_too_little_data_is_said_first_and_plainly(comparison: Any) -> None:
    text = comparison_text(comparison((0.1, 0.9), (0.2, 0.8)))

    assert "not enough data: 2 cases are scored in both runs; at least 6 are needed" in text
    assert "mean 0.150 in A, 0.850 in B" in text
    assert not re.search(r"\bp [=<]|test,", text)
    assert re.search(r"^quality .* not enough data +– +– ", text, re.MULTILINE)


def test_no_difference_is_no_proof_of_none(comparison: Any) -> None:
    text = comparison_text(comparison(*[(0.4, 0.6), (0.6, 0.4), (0.5, 0.45), (0.7, 0.8)] * 3), width=WIDE)

    assert "no difference shown: " in text
    assert (
        "With 12 cases, only differences of 0.14 or more would usually be detected; to detect 0.05 you would need "
        "about 81." in text
    )


def test_an_interval_and_an_exact_test_that_disagree_are_a_hint(comparison: Any) -> None:
    found = comparison(*[(0.0, 1.0)] * 9, *[(1.0, 0.0)] * 2, *[(1.0, 1.0)] * 19)

    assert found.cases.scores.p > 0.05
    assert found.cases.scores.is_hint
    assert not found.cases.scores.better
    assert "treat this as a hint" in comparison_text(found)


def test_a_difference_larger_than_scores_allow_is_not_promised(comparison: Any) -> None:
    text = comparison_text(comparison(*[(0.1, 1.0), (1.0, 0.1)] * 3), width=WIDE)

    assert "With 6 cases, no difference would usually be detected; to detect 0.05 you would need about " in text


def test_what_was_left_out_is_counted(comparison: Any) -> None:
    text = comparison_text(comparison((0.5, "timeout: late"), (None, 0.5), (None, None), *[(0.1, 0.2)] * 7))

    assert "left out: 1 without a score in A, 1 without a score in B, 1 without a score in either\n" in text
    assert re.search(r"^✗ fail +· +· +7 +1 +·$", text, re.MULTILINE)


def test_the_evaluator_that_was_asked_for_leads_and_its_p_is_corrected(comparison: Any) -> None:
    pairs = [((0.0, 0.5), (1.0, 0.5))] * 8

    text = comparison_text(comparison(*pairs, evaluator="quality"), width=WIDE)

    assert "evaluator quality: B is better than A: +1.000" in text
    assert "p = 0.008 (0.016 corrected for 2 evaluators); no odds ratio, for lack of losses" in text
    assert "Evaluators, p corrected for 2 of them (Holm)" in text


def test_runs_that_were_judged_differently_say_so_before_any_number(comparison: Any) -> None:
    found = comparison((0.1, 0.2), differing=("judge.model: 'a' in A, 'b' in B",), notes=("run-1 is not finished",))

    text = comparison_text(found)

    assert text.index("judged differently") < text.index("judge.model: 'a' in A") < text.index("not enough data")
    assert "Notes\nrun-1 is not finished\n" in text


def test_json_has_everything_and_is_strict(comparison: Any) -> None:
    given = json.loads(comparison_json(comparison(*[(0.0, 1.0)] * 6)))

    assert given["schema_version"] == 1
    assert given["cases"]["scores"]["effect"] == {"name": "odds ratio", "value": None}
    assert given["cases"]["better"] is True
    assert given["evaluators"]["quality"]["p_holm"] == pytest.approx(0.03125)
    assert len(given["changes"]) == given["changed"] == 6


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: f"{name!a:.30}")
def test_a_hostile_name_does_nothing(comparison: Any, name: str) -> None:
    settings = tuple(SettingChange(name=name, before=name, after=after) for after in (f"{name}\nx", [name], None))
    differences = RunDifferences(settings=settings, edited=CaseCount(count=1, first=(name,)))
    found = comparison(
        *[(0.0, 1.0)] * 6, name=name, called=name, differing=(name,), notes=(name,), differences=differences
    )

    text, markdown, written = comparison_text(found), comparison_markdown(found), comparison_json(found)

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text + markdown)
    assert not re.search(r"(?<!\\)[<`\[]", markdown)
    assert len([line for line in markdown.splitlines() if line.startswith("#")]) == 7
    assert written.count("\n") == 0
    assert len({line.replace("\\|", "").count("|") for line in markdown.splitlines() if line.startswith("| ")}) <= 3


def test_the_ending_of_a_file_says_its_format(comparison: Any, tmp_path: Path) -> None:
    found = comparison((0.1, 0.2))

    for name in ("found.md", "found.JSON"):
        write_comparison(found, str(tmp_path / name))

    assert (tmp_path / "found.md").read_text(encoding="utf-8") == comparison_markdown(found)
    assert json.loads((tmp_path / "found.JSON").read_text(encoding="utf-8"))["evaluator"] is None
    with pytest.raises(ConfigError, match=r"unknown extension \.csv; a comparison can be \.html, \.md, \.json"):
        comparison_writer("found.csv")
    with pytest.raises(ConfigError, match=r"unknown extension \(none\)"):
        comparison_writer("found")
