"""What a comparison is, and cannot be."""

from __future__ import annotations

import json

import pytest

from evenhand.domain.comparison import STANDINGS, Change, Compared, Comparison
from evenhand.domain.paired_difference import PairedDifference
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.summary import Interval

NONE_YET = PairedDifference(n=0, lacking="no case")


def interval(low: float, high: float) -> Interval:
    return Interval(low=low, high=high, method="t")


def about(scores: PairedDifference) -> Compared:
    return Compared(
        in_common=1, only_a=0, only_b=0, unscored_a=0, unscored_b=0, unscored_both=1, pending=0, scores=scores,
        transitions=tuple((0,) * len(STANDINGS) for _ in STANDINGS),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "better", "worse"),
    [((0.01, 0.2), True, False), ((-0.2, -0.01), False, True), ((-0.1, 0.1), False, False), ((0, 0.1), False, False)],
)
def test_better_and_worse_go_by_the_whole_interval(ends: tuple[float, float], better: bool, worse: bool) -> None:
    found = PairedDifference(n=1, wins=1, interval=interval(*ends))

    assert (found.better, found.worse) == (better, worse)


def test_wins_ties_and_losses_are_all_cases() -> None:
    with pytest.raises(ValueError, match="are not 3 cases"):
        PairedDifference(n=3, wins=1, ties=1, lacking="more")


@pytest.mark.parametrize("given", [{}, {"interval": interval(0, 1), "lacking": "more"}])
def test_a_comparison_has_an_interval_or_says_what_it_lacks(given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="an interval, or says what it lacks"):
        PairedDifference(n=0, **given)  # type: ignore[arg-type]  # as given


def test_the_subject_is_the_cases_or_the_evaluator_that_was_asked_for() -> None:
    run = RunRecord(number=1, id="a", name="a", status=RunStatus.FINISHED)
    cases, quality = about(NONE_YET), about(NONE_YET)

    whole = Comparison(a=run, b=run, cases=cases, evaluators={"quality": quality})
    one = Comparison(a=run, b=run, cases=cases, evaluators={"quality": quality}, evaluator="quality")

    assert whole.subject is cases
    assert one.subject is quality


def test_plain_values_are_json_and_name_the_cells_of_the_matrix() -> None:
    run = RunRecord(number=1, id="a", name="a", status=RunStatus.FINISHED)
    change = Change(case_id="c", score_a=0.25, score_b=1.0, standing_a="fail", standing_b="pass")

    given = Comparison(
        a=run, b=run, cases=about(NONE_YET), evaluators={}, changes=(change,), changed=1, differing=("judge",)
    ).as_dict()

    assert json.loads(json.dumps(given)) == given
    assert given["cases"]["transitions"]["pass"]["not_evaluated"] == 0
    assert given["changes"][0]["difference"] == 0.75
    assert (given["differing"], given["changed"]) == (["judge"], 1)
