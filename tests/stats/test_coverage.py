"""The intervals that are printed hold the true value as often as the documentation says."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest
from bench.coverage import SCENARIOS, SIZES, Scenario, coverage
from tests.by_chance import at_least, at_most

NUMBERS = Path(__file__).resolve().parents[2] / "docs/numbers.md"
# Three standard errors of a share of 2,000.
NOISE = 0.015
# Of a sample of each figure in the table, one lies beyond what this allows once in forty times.
ALARM = 1 / (80 * len(SCENARIOS) * len(SIZES))


def documented() -> dict[str, list[float]]:
    table = re.search(
        r"<!-- coverage -->\n(.*?)<!-- end of coverage -->", NUMBERS.read_text(encoding="utf-8"), re.DOTALL
    )
    assert table is not None
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].strip().splitlines()]
    return {row[0]: [float(cell) for cell in row[1:]] for row in rows[2:]}


def test_the_table_in_the_documentation_has_every_scenario_and_meets_its_goals() -> None:
    found = documented()

    assert list(found) == [scenario.name for scenario in SCENARIOS]
    assert all(len(row) == len(SIZES) for row in found.values())
    assert min(min(row) for row in found.values()) >= 0.92
    assert statistics.median(figure for row in found.values() for figure in row) >= 0.94


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "draws", [pytest.param(200, id="sample"), pytest.param(2000, id="all", marks=pytest.mark.sweep)]
)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: re.sub(r"\W+", "-", scenario.name))
def test_an_interval_holds_the_true_value_as_often_as_documented(scenario: Scenario, draws: int) -> None:
    row = documented()[scenario.name]
    for n, figure in zip(SIZES, row, strict=True):
        found = coverage(scenario, n, draws)
        if draws == 2000:
            assert found >= 0.92
            assert found == pytest.approx(figure, abs=NOISE)
        else:
            assert at_least(draws, figure, ALARM) <= round(found * draws) <= at_most(draws, figure, ALARM)
