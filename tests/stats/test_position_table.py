"""Judges that favour a place: the published table, recomputed from the recorded verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import pytest

from evenhand.domain.summary import Rate
from evenhand.stats.position_table import Place, PositionTable, position_table
from evenhand.stats.refusal import Refused

Golden: TypeAlias = Callable[[str, str], list[Any]]
TAGS: dict[str, Place | None] = {"A": "first", "B": "second", "C": "tie", "-": None}


def test_the_published_table_of_mt_bench_comes_out(
    golden: Golden, mtbench: dict[tuple[str, str], list[tuple[str, str]]]
) -> None:
    cases = golden("families_and_position.json", "position_inconsistency")
    assert len(cases) == 12

    for case in cases:
        said = mtbench[case["language"], case["judge"]]
        table = position_table((TAGS[one], TAGS[other]) for one, other in said)

        names = ("valid", "unreadable", "inconsistent", "to_first", "to_second", "with_a_tie")
        assert {name: getattr(table, name) for name in names} == {name: case[name] for name in names}
        rate = table.inconsistency()
        assert isinstance(rate, Rate)
        assert rate.interval is not None
        assert [rate.value, rate.interval.low, rate.interval.high] == pytest.approx(
            [case["rate"], *case["interval"]], abs=1e-6
        )
        assert table.p == pytest.approx(case["sign_test_p"], rel=1e-6)
        assert table.win_rate() == pytest.approx(case["win_rate_of_first_model"], abs=1e-6)


def test_a_judge_with_a_known_bias_is_measured_right(golden: Golden) -> None:
    for case in golden("families_and_position.json", "scripted_position_judge"):
        first = 1 / (1 + math.exp(-case["strength"] - case["for_first"]))
        second = 1 / (1 + math.exp(-case["strength"] + case["for_first"]))
        pairs = 10**12

        table = PositionTable(
            wins=round(pairs * first * second),
            losses=round(pairs * (1 - first) * (1 - second)),
            to_first=round(pairs * first * (1 - second)),
            to_second=round(pairs * (1 - first) * second),
        )

        rate = table.inconsistency()
        assert isinstance(rate, Rate)
        assert (first, second) == pytest.approx((case["first_when_first"], case["first_when_second"]), abs=1e-6)
        assert table.win_rate() == pytest.approx(case["mean"], abs=1e-6)
        assert 1 - rate.value == pytest.approx(case["consistent"], abs=1e-6)


def test_without_pairs_nothing_is_said() -> None:
    table = position_table([(None, "first"), ("tie", None)])

    assert (table.valid, table.unreadable, table.p) == (0, 2, 1.0)
    assert isinstance(table.inconsistency(), Refused)
    assert isinstance(table.win_rate(), Refused)


def test_what_is_no_verdict_is_an_error() -> None:
    with pytest.raises(ValueError, match="got 'A'"):
        position_table([(cast("Place", "A"), "first")])
