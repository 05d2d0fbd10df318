"""The pass mark that people's labels suggest: golden figures, refusals, and what must always hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st

from evenhand.domain.verdict import reaches
from evenhand.stats.pass_mark import PassMark, pass_mark
from evenhand.stats.refusal import Refused

Golden: TypeAlias = Callable[[str, str], list[Any]]


def chosen(value: PassMark | Refused) -> PassMark:
    assert isinstance(value, PassMark), value.reason
    return value


def counts(found: PassMark) -> dict[str, int]:
    labels = found.labels
    return {"tp": labels.tp, "fp": labels.fp, "fn": labels.fn, "tn": labels.tn}


def test_the_mark_and_its_folds_are_the_golden_ones(golden: Golden) -> None:
    (case,) = golden("threshold.json", "threshold_by_youden")

    found = chosen(pass_mark(case["scores"], case["human"], current=case["current_mark"], fewest=9))

    assert (found.mark, list(found.by_fold)) == (case["chosen"], case["mark_by_fold"])
    assert list(found.fold_of) == case["fold_of"]
    assert list(found.passes) == case["out_of_fold_pass"]
    assert counts(found) == case["out_of_fold"]
    assert (found.apparent, found.honest, found.optimism) == pytest.approx(
        (case["apparent_youden"], case["honest_youden"], case["optimism"]), abs=1e-6
    )
    assert found.agreement.value == pytest.approx(case["honest_agreement"], abs=1e-6)
    assert found.agreement.interval is not None
    assert [found.agreement.interval.low, found.agreement.interval.high] == pytest.approx(
        case["honest_agreement_interval"], abs=1e-6
    )


def test_the_mark_of_a_judge_card_is_the_golden_one(golden: Golden, judged_rows: list[Any]) -> None:
    (card,) = golden("trust_expected.json", "judge_card")
    labelled = [row for row in judged_rows if row["human"] is not None]
    expected = card["threshold"]

    found = chosen(
        pass_mark(
            [row["score"] for row in labelled], [row["human"] == "pass" for row in labelled], current=card["pass_mark"]
        )
    )

    assert (found.mark, list(found.by_fold)) == (expected["chosen"], expected["mark_by_fold"])
    assert counts(found) == expected["out_of_fold"]
    assert (found.apparent, found.honest) == pytest.approx(
        (expected["apparent_youden"], expected["honest_youden"]), abs=1e-6
    )


@pytest.mark.parametrize(("passes", "verdict"), [(9, "passed 9"), (31, "failed 9")])
def test_below_ten_of_a_class_no_mark_is_suggested(passes: int, verdict: str) -> None:
    refused = pass_mark([0.5] * 40, [True] * passes + [False] * (40 - passes), current=0.8)

    assert refused == Refused(f"people {verdict} of the labelled cases; a pass mark takes at least 10")


def test_equally_good_marks_are_told_apart_by_the_current_one() -> None:
    scores, people = [0.9, 0.7, 0.5, 0.3] * 10, [True, False, True, False] * 10

    assert chosen(pass_mark(scores, people, current=0.9)).mark == 0.9
    assert chosen(pass_mark(scores, people, current=0.5)).mark == 0.5
    assert chosen(pass_mark(scores, people, current=0.7)).mark == 0.9  # as far away as 0.5, and higher


def test_scores_that_differ_by_float_noise_are_one() -> None:
    scores, people = [0.1 + 0.7, 0.8, 0.3] * 10, [True, True, False] * 10

    found = chosen(pass_mark(scores, people, current=0.8))

    assert reaches(found.mark, 0.8)
    assert found.apparent == found.honest == 1


def test_each_case_has_a_score_and_a_label() -> None:
    with pytest.raises(ValueError, match="got 1 and 2"):
        pass_mark([0.5], [True, False], current=0.8)


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=4, max_size=40))
def test_no_other_score_would_be_a_better_mark(cases: list[tuple[int, bool]]) -> None:
    scores, people = [tenth / 10 for tenth, _ in cases], [passed for _, passed in cases]
    passes, fails = sum(people), len(people) - sum(people)

    found = pass_mark(scores, people, current=0.8, folds=2, fewest=2)

    if isinstance(found, PassMark):
        for mark in scores:
            hit = sum(score >= mark for score, passed in zip(scores, people, strict=True) if passed)
            spared = sum(score < mark for score, passed in zip(scores, people, strict=True) if not passed)
            assert hit / passes + spared / fails - 1 <= found.apparent + 1e-12
    else:
        assert min(passes, fails) < 2
