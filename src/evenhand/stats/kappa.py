"""Two raters of the same cases: how far they agree beyond what chance alone would give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from evenhand.domain.summary import Interval
from evenhand.stats.distributions import t_quantile
from evenhand.stats.refusal import Refused
from evenhand.stats.wilson import LEVEL

# How many cases have a label by the first rater (row) and a label by the second (column).
Table: TypeAlias = Sequence[Sequence[int]]
Weights: TypeAlias = Literal["none", "linear", "quadratic"]

# With fewer cases for each cell of a table the interval is too narrow too often: 20 for two labels, 125 for five.
_FEWEST_OF_A_CELL: Final = 5
# What is added to a table in all before its error is computed: one to each cell of a table of two labels.
_ADDED: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Kappa:
    """Agreement beyond chance: 1 is full agreement, 0 what chance would give; ``error`` is its standard error."""

    value: float
    error: float
    interval: Interval | Refused


def kappa(table: Table, weights: Weights = "none", level: float = LEVEL) -> Kappa | Refused:
    """Return Cohen's kappa; for labels in an order, with weights by how far apart two labels are.

    >>> found = kappa([[40, 10], [5, 45]])
    >>> round(found.value, 4), round(found.interval.low, 4), round(found.interval.high, 4)
    (0.7, 0.5298, 0.8163)

    The interval takes four cases more into account than there are, spread over the table: without them it is too
    narrow for few cases, and has no width where the raters agree on all.
    """
    n = _checked(table)
    if n == 0:
        return Refused("no case has a label by both raters")
    given = _given(table)
    if len(set(given)) == 1 and len(given) == 2:
        return Refused("both raters gave the same label to all cases: chance alone would explain it")
    value, error = _with_error(table, weights)
    return Kappa(value=value, error=error, interval=_interval(table, weights, value, level))


def scott_pi(table: Table) -> float | Refused:
    """Return Scott's pi, which takes what chance would give from the labels of both raters together.

    >>> round(scott_pi([[40, 10], [5, 45]]), 4)
    0.6992
    """
    n = _checked(table)
    shares = [(row + column) / (2 * n) for row, column in zip(*_margins(table), strict=True)] if n else []
    chance = math.fsum(share * share for share in shares)
    if n == 0 or len(set(_given(table))) == 1:
        return Refused("the raters gave one label only: chance alone would explain it" if n else "no case has labels")
    return (_observed(table) - chance) / (1 - chance)


def gwet_ac1(table: Table) -> float | Refused:
    """Return Gwet's AC1, which stays high where nearly all cases have the same label.

    >>> round(gwet_ac1([[90, 5], [4, 1]]), 4)
    0.8996
    """
    n, labels = _checked(table), len(table)
    if n == 0:
        return Refused("no case has labels")
    shares = [(row + column) / (2 * n) for row, column in zip(*_margins(table), strict=True)]
    chance = math.fsum(share * (1 - share) for share in shares) / (labels - 1)
    return (_observed(table) - chance) / (1 - chance)


def table_of(first: Sequence[object], second: Sequence[object], labels: Sequence[object]) -> list[list[int]]:
    """Count the cases by the labels that two raters gave; ``labels`` has all that there are, in their order.

    >>> table_of("aab", "abb", "ab")
    [[1, 1], [0, 1]]
    """
    place = {label: number for number, label in enumerate(labels)}
    table = [[0] * len(place) for _ in place]
    for one, other in zip(first, second, strict=True):
        for label in (one, other):
            if label not in place:
                raise ValueError(f"{label!r:.80} is none of the labels {list(place)!r:.200}")
        table[place[one]][place[other]] += 1
    return table


def _checked(table: Table) -> int:
    """Return how many cases a table counts."""
    size = len(table)
    if size < 2 or any(len(row) != size for row in table) or any(count < 0 for row in table for count in row):
        raise ValueError(f"a table has as many rows as columns, two or more, of counts; got {table!r:.200}")
    return sum(map(sum, table))


def _margins(table: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    return [math.fsum(row) for row in table], [math.fsum(column) for column in zip(*table, strict=True)]


def _given(table: Table) -> list[int]:
    """Return the labels that were given, those of the first rater before those of the second."""
    return [label for margin in _margins(table) for label, count in enumerate(margin) if count]


def _observed(table: Table) -> float:
    return sum(row[label] for label, row in enumerate(table)) / sum(map(sum, table))


def _with_error(table: Sequence[Sequence[float]], weights: Weights) -> tuple[float, float]:
    """Return kappa with the standard error of Fleiss, Cohen and Everitt (1969)."""
    rows, columns = _margins(table)
    n, labels = math.fsum(rows), range(len(table))
    weight = [[_weight(abs(one - other), len(table) - 1, weights) for other in labels] for one in labels]
    rows, columns = [count / n for count in rows], [count / n for count in columns]
    cells = [(one, other, table[one][other] / n) for one in labels for other in labels]
    observed = math.fsum(weight[one][other] * share for one, other, share in cells)
    of_row = [math.fsum(weight[one][other] * columns[other] for other in labels) for one in labels]
    of_column = [math.fsum(weight[one][other] * rows[one] for one in labels) for other in labels]
    chance = math.fsum(rows[one] * of_row[one] for one in labels)
    value = (observed - chance) / (1 - chance)
    squares = math.fsum(
        share * (weight[one][other] - (of_row[one] + of_column[other]) * (1 - value)) ** 2
        for one, other, share in cells
    )
    variance = (squares - (value - chance * (1 - value)) ** 2) / (n * (1 - chance) ** 2)
    return value, math.sqrt(max(variance, 0.0))


def _weight(apart: int, most: int, weights: Weights) -> float:
    if weights == "none":
        return float(apart == 0)
    return 1 - (apart / most) ** (1 if weights == "linear" else 2)


def _interval(table: Table, weights: Weights, value: float, level: float) -> Interval | Refused:
    n, fewest = sum(map(sum, table)), _FEWEST_OF_A_CELL * len(table) ** 2
    if n < fewest:
        return Refused(f"{n} cases; an interval of kappa with {len(table)} labels takes at least {fewest}")
    for name, margin in zip(("first", "second"), _margins(table), strict=True):
        if sum(count > 0 for count in margin) < 2:
            return Refused(f"the {name} rater gave all cases the same label; an interval of kappa takes two or more")
    more = _ADDED / len(table) ** 2
    centre, error = _with_error([[count + more for count in row] for row in table], weights)
    half = t_quantile(level, n - 1) * error
    low, high = max(-1.0, min(value, centre - half)), min(1.0, max(value, centre + half))
    return Interval(low=low, high=high, method="fleiss_cohen_everitt", level=level)
