"""The statistics of judges that the library shows: golden figures and published tables through public names alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

import evenhand

Golden: TypeAlias = Callable[[str, str], list[Any]]
TAGS: dict[str, Any] = {"A": "first", "B": "second", "C": "tie", "-": None}


def test_p_values_are_corrected_as_in_the_golden_file(golden: Golden) -> None:
    for case in golden("families_and_position.json", "corrected_p"):
        p_values = {str(number): p for number, p in enumerate(case["p"])}

        assert list(evenhand.holm(p_values).values()) == pytest.approx(case["holm"], abs=1e-6)
        assert list(evenhand.benjamini_hochberg(p_values).values()) == pytest.approx(
            case["benjamini_hochberg"], abs=1e-6
        )


def test_all_twelve_rows_of_the_table_of_mt_bench_come_out(
    golden: Golden, mtbench: dict[tuple[str, str], list[tuple[str, str]]]
) -> None:
    for case in golden("families_and_position.json", "position_inconsistency"):
        said = mtbench[case["language"], case["judge"]]
        table = evenhand.position_table((TAGS[one], TAGS[other]) for one, other in said)

        for name in ("valid", "unreadable", "inconsistent", "to_first", "to_second", "with_a_tie"):
            assert getattr(table, name) == case[name]
        rate: Any = table.inconsistency()
        found = [rate.value, rate.interval.low, rate.interval.high, table.win_rate()]
        assert found == pytest.approx([case["rate"], *case["interval"], case["win_rate_of_first_model"]], abs=1e-6)
        assert table.p == pytest.approx(case["sign_test_p"], rel=1e-6)


def test_a_judge_with_a_known_bias_is_measured_right(golden: Golden) -> None:
    for case in golden("families_and_position.json", "scripted_position_judge"):
        first, second = (1 / (1 + math.exp(-case["strength"] - side * case["for_first"])) for side in (1, -1))
        pairs = 10**12

        table = evenhand.PositionTable(
            wins=round(pairs * first * second),
            losses=round(pairs * (1 - first) * (1 - second)),
            to_first=round(pairs * first * (1 - second)),
            to_second=round(pairs * (1 - first) * second),
        )

        rate: Any = table.inconsistency()
        assert (table.win_rate(), 1 - rate.value) == pytest.approx((case["mean"], case["consistent"]), abs=1e-6)


def test_what_pandalm_published_comes_out(pandalm: dict[str, list[str]]) -> None:
    annotators = [pandalm[f"annotator{number}"] for number in (1, 2, 3)]
    people = [Counter(said).most_common(1)[0][0] for said in zip(*annotators, strict=True)]
    kappas: list[float] = []
    for one, other in ((1, 2), (1, 3), (2, 3)):
        found: Any = evenhand.agreement(pandalm[f"annotator{one}"], pandalm[f"annotator{other}"])
        kappas.append(round(found.kappa.value, 4))
    judge: Any = evenhand.agreement(people, pandalm["pandalm"], labels="012")
    as_ties: Any = evenhand.agreement(people, [_as_tie(said) for said in pandalm["gpt"]], labels="012")
    as_missing: Any = evenhand.agreement(
        people, [None if said == "garbage" else _as_tie(said) for said in pandalm["gpt"]], labels="012"
    )

    assert kappas == [0.8520, 0.8789, 0.8617]
    assert Counter(people) == {"0": 105, "1": 422, "2": 472}
    assert _hundredths(judge) == (66.77, 57.38, 57.50, 57.43)
    assert _hundredths(as_ties) == (71.07, 58.79, 57.36, 57.55)
    # What could not be read is said, and is not a tie.
    assert (as_missing.n, as_missing.missing) == (974, 25)


def _as_tie(said: str) -> str:
    return said if said in ("1", "2") else "0"


def _hundredths(found: Any) -> tuple[float, ...]:
    macro = found.macro
    return tuple(round(100 * each, 2) for each in (found.share.value, macro.precision, macro.recall, macro.f1))


def test_one_label_only_and_no_items_are_said_and_raters_of_other_items_refused() -> None:
    same = evenhand.agreement(["a", "a"], ["a", "a"])
    none = evenhand.agreement([None], ["a"])

    assert (same.n, type(same.kappa).__name__) == (2, "Refused")
    assert (none.n, none.missing, type(none.share).__name__) == (0, 1, "Refused")
    with pytest.raises(ValueError, match="the same items"):
        evenhand.agreement(["a"], [])
