"""Whether a judge agrees with itself: each round is predicted from those before it.

A guess would be right half the time. An order that is fitted to what a judge said agrees with that always, even where
the judge shuffles; what is said later does not know the order. Rounds whose groups are formed by lot tell how often the
prediction is right of any two. Where equals meet, as in the later rounds of a Swiss design, it is harder to predict;
such rounds only help to tell the judge from chance. In that test, a prediction counts by how sure it is: by the
predicted gap. A judge without any preference knows nothing of gaps, so that favours no outcome.
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
# Of fewer pairs, the sum of the predicted gaps is too uneven for the normal distribution.
_FEW_PAIRS: Final = 100
_FLIPS: Final = 9_999
_ROUNDING: Final = 1e-9


class Round(NamedTuple):
    """What a judge said in one round, and whether its groups were formed by lot."""

    rankings: Rankings
    by_lot: bool


def agreement(rounds: Iterable[Round]) -> Agreement:
    """Predict each round from those before it."""
    by_lot, every = _Concordance(), _Concordance()
    for before, now in _with_those_before(rounds):
        values = fit(before, prior=PRIOR).values
        every.add(now.rankings, values)
        if now.by_lot or now.rankings.judgments == 1:  # all are in one group
            by_lot.add(now.rankings, values)
        if by_lot.groups >= _PLENTY:
            break
    if not every.groups:
        return Agreement()
    measured = by_lot if by_lot.interval() else every
    tested = by_lot if by_lot.groups >= _ENOUGH else every
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
    counts once, and its outcome might as well be the opposite. The test is about the ``lead``: the same sum, with each
    two counted by the gap between them. Of a few pairs, it is compared with the leads of judges that toss a coin.
    """

    def __init__(self) -> None:
        self.groups, self.shares = 0, Scores()
        self._variance = self._compared = 0.0
        self._lead = self._lead_variance = self._gaps = self._pairs = 0.0
        # The lead of each, if all are pairs and few.
        self._of_pairs: Floats | None = np.zeros(0)

    def add(self, rankings: Rankings, values: Floats) -> None:
        """Count all groups, and the share of predictions that were right in each."""
        balances, leads, gaps_by, compared, variances, lead_variances = np.zeros((6, rankings.judgments))
        padded = np.append(values, np.nan)
        for block in rankings.blocks:
            predicted = padded[block.members]
            for ahead in range(len(predicted) - 1):
                gaps = predicted[ahead] - predicted[ahead + 1 :]
                np.add.at(balances, block.units, block.weights * np.nansum(np.sign(gaps), axis=0))
                np.add.at(compared, block.units, block.weights * (~np.isnan(gaps)).sum(axis=0))
                np.add.at(leads, block.units, block.weights * np.nansum(gaps, axis=0))
                np.add.at(gaps_by, block.units, block.weights * np.nansum(np.abs(gaps), axis=0))
            variances[block.units] = _variance_by_chance(predicted)
            lead_variances[block.units] = _lead_variance_by_chance(predicted)
        there = compared > 0
        right, lead = balances[there] / compared[there], leads[there] / compared[there]
        of_two = variances[there] <= 1
        self._compared += float(np.where(of_two, 1, compared[there]).sum())
        self.groups += len(right)
        self._variance += float(np.where(of_two, right**2, variances[there]).sum())
        self._lead += float(np.where(of_two, lead, leads[there]).sum())
        self._lead_variance += float(np.where(of_two, lead**2, lead_variances[there]).sum())
        self._of_pairs = self._with_pairs(lead) if of_two.all() else None
        self._gaps += float(gaps_by.sum())
        self._pairs += float(compared.sum())
        for share in ((1 + right) / 2).tolist():
            self.shares.add(share)

    def interval(self) -> Interval | None:
        """Return an interval around the share of predictions that were right."""
        if self.groups >= _FEW:
            return self.shares.interval(LEVEL)
        if not self._variance:  # all that was predicted are ties, of which nothing says how much they vary
            return None
        share = self.shares.mean or 0.0
        half = z_quantile(LEVEL) * math.sqrt(self._variance) / self._compared / 2
        return Interval(low=max(share - half, 0.0), high=min(share + half, 1.0), method="kendall", level=LEVEL)

    def _with_pairs(self, leads: Floats) -> Floats | None:
        if self._of_pairs is None or len(self._of_pairs) + len(leads) >= _FEW_PAIRS:
            return None
        return np.concatenate([self._of_pairs, leads])

    def p_value(self) -> float:
        """Return how often a judge without any preference would be predicted as well as this one, or better."""
        if not self._lead_variance:
            return 1.0
        if self._of_pairs is not None:
            return _share_of_coin_tosses(self._of_pairs)
        half_step = self._gaps / self._pairs  # two that change places change the lead by twice their gap
        return NormalDist().cdf((half_step - self._lead) / math.sqrt(self._lead_variance))


def _share_of_coin_tosses(leads: Floats) -> float:
    """Return how often the sum of leads is as large if coins decide their signs; what was seen counts as once."""
    coins = np.random.default_rng(0).integers(0, 2, (_FLIPS, len(leads)))
    sums = (2 * coins - 1) @ np.abs(leads)
    return float(np.sum(sums >= leads.sum() - _ROUNDING) + 1) / (_FLIPS + 1)


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


def _lead_variance_by_chance(predicted: Floats) -> Floats:
    """Return the variance of the lead in each column, if its order were by lot: that of a linear rank statistic."""
    there = ~np.isnan(predicted)
    sizes = there.sum(axis=0)
    means = np.nansum(predicted, axis=0) / np.maximum(sizes, 1)
    squares = np.nansum((predicted - means) ** 2, axis=0)
    variances: Floats = sizes * (sizes + 1) / 3 * squares
    return variances


def _steps(size: Numbers) -> Numbers:
    return size * (size - 1) * (2 * size + 5)
