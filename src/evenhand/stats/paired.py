"""The same cases scored twice: the difference, with the test and the interval that suit the scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from evenhand.domain.paired_difference import Effect, PairedDifference
from evenhand.domain.summary import Interval
from evenhand.domain.verdict import FLOAT_NOISE
from evenhand.stats.distributions import sign_p_value, t_p_value, t_quantile, z_quantile
from evenhand.stats.power import mcnemar_minimum_detectable, mcnemar_needed, minimum_detectable, needed_pairs
from evenhand.stats.sample import ExactSum, Sample
from evenhand.stats.wilson import LEVEL

# Five wins in five come by chance once in sixteen times: with fewer than six, nothing can be shown at 5 %.
FEWEST: Final = 6
# Where the spread is smaller than this part of the difference, all cases moved alike.
EVEN: Final = 0.5
# The difference for which a comparison says how many cases it would take.
SMALL: Final = 0.05

MCNEMAR: Final = "exact McNemar"
PAIRED_T: Final = "paired t"
CLUSTERED_T: Final = "cluster-robust t"
SIGN: Final = "exact sign"

ODDS: Final = "odds ratio"
STANDARDISED: Final = "standardised difference"


class PairedScores:
    """Pairs of scores from 0 to 1, taken in one by one and not kept; memory grows with clusters only.

    >>> pairs = PairedScores()
    >>> for a, b in [(0.2, 0.4), (0.5, 0.5), (0.1, 0.6), (0.7, 0.9), (0.3, 0.2), (0.4, 0.8)]:
    ...     pairs.add(a, b)
    >>> result = pairs.compared()
    >>> round(result.difference, 3), result.test, result.wins, result.ties, result.losses
    (0.2, 'paired t', 4, 1, 1)
    """

    __slots__ = ("_a", "_all_binary", "_b", "_differences", "_losses", "_wins")

    def __init__(self) -> None:
        self._a = ExactSum()
        self._b = ExactSum()
        self._differences = Sample()
        self._wins = 0
        self._losses = 0
        self._all_binary = True

    def add(self, a: float, b: float, cluster: str | None = None, times: int = 1) -> None:
        """Add the scores of a case in both runs, or of several that have the same."""
        self._a.add(a, times)
        self._b.add(b, times)
        difference = b - a
        self._differences.add(difference, cluster, times)
        self._wins += times * (difference > FLOAT_NOISE)
        self._losses += times * (difference < -FLOAT_NOISE)
        self._all_binary = self._all_binary and a in (0, 1) and b in (0, 1)

    def compared(self) -> PairedDifference:
        """Return the difference, B minus A, and how sure it is.

        Cases that share clusters are compared by a t test whose error is computed over clusters. Otherwise, where all
        scores are 0 or 1, by McNemar's exact test; else by the paired t test. The interval of both t tests allows for
        an error that rests on a few large differences.
        """
        differences = self._differences
        n, units = differences.n, differences.units
        result = PairedDifference(
            n=n,
            clusters=differences.clusters,
            mean_a=self._a.value / n if n else None,
            mean_b=self._b.value / n if n else None,
            difference=differences.mean,
            wins=self._wins,
            ties=n - self._wins - self._losses,
            losses=self._losses,
            lacking=self._lacking(),
        )
        if result.difference is None or units < FEWEST:
            return result
        if self._all_binary and not differences.is_clustered:
            found = self._by_mcnemar()
        elif self._is_even(result.difference):
            found = self._without_spread(result.difference)
        else:
            found = self._by_t(result.difference, differences.error or 0.0)
        return replace(result, effect=self._effect(result.difference), lacking=None, **found)

    def _by_mcnemar(self) -> dict[str, Any]:
        n, changed = self._differences.n, self._wins + self._losses
        return {
            "test": MCNEMAR,
            "p": sign_p_value(self._wins, self._losses),
            "interval": self._share_interval(),
            "minimum_detectable": mcnemar_minimum_detectable(n, changed / n),
            "needed": mcnemar_needed(changed / n, SMALL),
        }

    def _by_t(self, difference: float, error: float) -> dict[str, Any]:
        differences = self._differences
        half = t_quantile(LEVEL, differences.df) * error
        method = "clustered" if differences.is_clustered else "t"
        return {
            "test": CLUSTERED_T if differences.is_clustered else PAIRED_T,
            "p": t_p_value(difference / error, differences.units - 1),
            "interval": _within(difference - half, difference + half, method),
            "minimum_detectable": minimum_detectable(error, differences.df),
            "needed": needed_pairs(differences.n * error**2, SMALL),
        }

    def _is_even(self, difference: float) -> bool:
        """Return whether all cases, or clusters, moved by nearly the same, or not at all."""
        spread = (self._differences.error or 0.0) * math.sqrt(self._differences.units)
        return spread <= max(FLOAT_NOISE, EVEN * abs(difference))

    def _lacking(self) -> str:
        n, units, clusters = self._differences.n, self._differences.units, self._differences.clusters
        chance = f"at least {FEWEST} are needed: with fewer, even a win in each of them may be chance"
        if n < FEWEST:
            are = {0: "no case is", 1: "1 case is"}.get(n, f"{n} cases are")
            return f"{are} scored in both runs; {chance}"
        groups = "1 cluster" if clusters == 1 else f"{clusters} clusters"
        worth = "" if units == clusters else f", so unequal that they say as much as {units}"
        return f"the {n:,} cases come from {groups}{worth}; {chance}"

    def _share_interval(self) -> Interval:
        """Return the interval of Bonett and Price for the difference of two shares among the same cases.

        It takes one more win and one more loss into account than were found: right for few cases, and where no case
        changed at all.
        """
        n = self._differences.n + 2
        centre = (self._wins - self._losses) / n
        half = z_quantile(LEVEL) * math.sqrt(((self._wins + self._losses + 2) / n - centre**2) / n)
        return _within(centre - half, centre + half, "bonett_price")

    def _without_spread(self, difference: float) -> dict[str, Any]:
        """Compare where every case, or cluster, differs by nearly the same: that was seen, and proves no certainty.

        A t test would take the small spread for a fact, and find a difference where a few large losses that were not
        seen yet make up for many small wins. The interval allows for as many cases as may have been missed, each as
        far away as scores can be.
        """
        units = self._differences.units
        half = z_quantile(LEVEL) * math.sqrt(2) / (units + 2) * (1 + abs(difference))
        return {
            "test": SIGN,
            "p": 1.0 if abs(difference) <= FLOAT_NOISE else sign_p_value(units, 0),
            "interval": _within(difference - half, difference + half, "widest"),
        }

    def _effect(self, difference: float) -> Effect:
        if self._all_binary:
            return Effect(name=ODDS, value=self._wins / self._losses if self._losses else None)
        spread = self._differences.spread or 0.0
        return Effect(name=STANDARDISED, value=difference / spread if spread > FLOAT_NOISE else None)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Correct p values for their number: below 0.05 then means that all such findings hold, 19 times in 20.

    >>> holm({"safe": 0.01, "kind": 0.04, "short": 0.03})
    {'safe': 0.03, 'kind': 0.06, 'short': 0.06}
    """
    corrected: dict[str, float] = {}
    least = 0.0
    for place, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        least = max(least, min(1.0, p * (len(p_values) - place)))
        corrected[name] = least
    return {name: corrected[name] for name in p_values}


def _within(low: float, high: float, method: str) -> Interval:
    """Return an interval that ends where differences of scores do."""
    return Interval(low=max(-1.0, low), high=min(1.0, high), method=method)
