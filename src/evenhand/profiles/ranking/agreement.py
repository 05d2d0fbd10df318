"""Whether a judge agrees with itself: each round is predicted from those before it.

A guess would be right half the time. An order that is fitted to what a judge said agrees with that always, even where
the judge shuffles; what is said later does not know the order. Rounds whose groups are formed by lot tell how often the
prediction is right of any two. Where equals meet, as in the later rounds of a Swiss design, it is harder to predict;
such rounds only help to tell the judge from chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from evenhand.domain.summary import Interval
from evenhand.profiles.ranking.result import LEVEL, Agreement
from evenhand.stats.distributions import z_quantile
from evenhand.stats.intervals import Scores
from evenhand.stats.plackett_luce import PRIOR, fit
from evenhand.stats.rankings import Rankings

if TYPE_CHECKING:
    from evenhand.stats.rankings import Floats, Numbers

# With so many groups by lot, those of other rounds are not needed; with so many, neither are further rounds.
_ENOUGH: Final = 40
# Fewer do not show how much they vary; what they would vary by at most, by chance alone, is known.
_FEW: Final = 10
_PLENTY: Final = 400


class Round(NamedTuple):
    """What a judge said in one round, and whether its groups were formed by lot."""

    rankings: Rankings
    by_lot: bool


def agreement(rounds: Iterable[Round]) -> Agreement:
    """Predict each round from those before it."""
    by_lot, others = _Concordance(), _Concordance()
    for before, now in _with_those_before(rounds):
        values = fit(before, prior=PRIOR).values
        is_by_lot = now.by_lot or now.rankings.judgments == 1  # all are in one group
        (by_lot if is_by_lot else others).add(now.rankings, values)
        if by_lot.groups >= _PLENTY:
            break
    measured = by_lot if by_lot.groups else others
    if not measured.groups:
        return Agreement()
    tested = by_lot if by_lot.groups >= _ENOUGH else by_lot.and_those(others)
    return Agreement(
        share=measured.shares.mean,
        interval=measured.interval(),
        groups=measured.groups,
        p=tested.p_value(),
        tested=tested.groups,
    )


def _with_those_before(rounds: Iterable[Round]) -> Iterator[tuple[Rankings, Round]]:
    before: Rankings | None = None
    for now in rounds:
        if before is not None and before.judgments and now.rankings.judgments:
            yield before, now
        before = now.rankings if before is None else before.and_those(now.rankings)


class _Concordance:
    """How many of two in a group are in the predicted order, less those that are not, and what that varies by.

    The variance is that of a judge without any preference: of a group, Kendall's. A pair that is judged in both orders
    counts once, and its outcome might as well be the opposite.
    """

    def __init__(self) -> None:
        self.groups, self.shares = 0, Scores()
        self._balance = self._variance = self._compared = 0.0

    def add(self, rankings: Rankings, values: Floats) -> None:
        """Count all groups, and the share of predictions that were right in each."""
        balances, compared, variances = np.zeros((3, rankings.judgments))
        padded = np.append(values, np.nan)
        for block in rankings.blocks:
            predicted = padded[block.members]
            for ahead in range(len(predicted) - 1):
                gaps = predicted[ahead] - predicted[ahead + 1 :]
                np.add.at(balances, block.units, block.weights * np.nansum(np.sign(gaps), axis=0))
                np.add.at(compared, block.units, block.weights * (~np.isnan(gaps)).sum(axis=0))
            variances[block.units] = _variance_by_chance(predicted)
        there = compared > 0
        right = balances[there] / compared[there]
        of_two = variances[there] <= 1
        self._compared += float(np.where(of_two, 1, compared[there]).sum())
        self.groups += len(right)
        self._balance += float(np.where(of_two, right, balances[there]).sum())
        self._variance += float(np.where(of_two, right**2, variances[there]).sum())
        for share in ((1 + right) / 2).tolist():
            self.shares.add(share)

    def and_those(self, others: _Concordance) -> _Concordance:
        """Return what both have counted for a test."""
        both = _Concordance()
        both.groups = self.groups + others.groups
        both._balance, both._variance = self._balance + others._balance, self._variance + others._variance
        return both

    def interval(self) -> Interval | None:
        """Return an interval around the share of predictions that were right."""
        if self.groups >= _FEW:
            return self.shares.interval(LEVEL)
        share = self.shares.mean or 0.0
        half = z_quantile(LEVEL) * math.sqrt(self._variance) / self._compared / 2
        return Interval(low=max(share - half, 0.0), high=min(share + half, 1.0), method="kendall", level=LEVEL)

    def p_value(self) -> float:
        """Return how often a judge without any preference would be predicted as well as this one, or better."""
        if not self._variance:
            return 1.0
        return NormalDist().cdf((1 - self._balance) / math.sqrt(self._variance))  # a step is 2, and half of it is 1


def _variance_by_chance(predicted: Floats) -> Floats:
    """Return the variance of Kendall's S in each column, if its order were by lot; equal predictions count for less."""
    sizes = (~np.isnan(predicted)).sum(axis=0)
    ordered = np.sort(predicted, axis=0)  # the empty places come last
    alike = np.ones(ordered.shape[1], dtype=np.int64)
    less = np.zeros(ordered.shape[1], dtype=np.int64)
    for place in range(1, len(ordered)):
        same = ordered[place] == ordered[place - 1]
        less += np.where(same, 0, _steps(alike))
        alike = np.where(same, alike + 1, 1)
    less += _steps(alike)
    variances: Floats = (_steps(sizes) - less) / 18
    return variances


def _steps(size: Numbers) -> Numbers:
    return size * (size - 1) * (2 * size + 5)
