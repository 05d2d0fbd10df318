"""The same cases scored twice: the difference, with the test and the interval that suit the scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from evenhand.domain.comparison import Effect, PairedDifference
from evenhand.domain.summary import Interval
from evenhand.domain.verdict import FLOAT_NOISE
from evenhand.stats.distributions import sign_p_value, t_p_value, t_quantile, z_quantile
from evenhand.stats.intervals import LEVEL, ExactSum, Scores

# Five wins in five come by chance once in sixteen times: with fewer than six, nothing can be shown at 5 %.
FEWEST: Final = 6
POWER: Final = 0.8
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

    __slots__ = ("_a", "_all_binary", "_alone", "_b", "_clusters", "_differences", "_losses", "_wins")

    def __init__(self) -> None:
        self._a = ExactSum()
        self._b = ExactSum()
        self._differences = Scores()
        self._alone = Scores()
        self._clusters: dict[str, Scores] = {}
        self._wins = 0
        self._losses = 0
        self._all_binary = True

    def add(self, a: float, b: float, cluster: str | None = None) -> None:
        """Add the scores of a case in both runs."""
        self._a.add(a)
        self._b.add(b)
        difference = b - a
        self._differences.add(difference)
        if cluster is None:
            self._alone.add(difference)
        else:
            self._clusters.setdefault(cluster, Scores()).add(difference)
        self._wins += difference > FLOAT_NOISE
        self._losses += difference < -FLOAT_NOISE
        self._all_binary = self._all_binary and a in (0, 1) and b in (0, 1)

    def compared(self) -> PairedDifference:
        """Return the difference, B minus A, and how sure it is.

        Cases that share clusters are compared by a t test whose error is computed over clusters. Otherwise, where all
        scores are 0 or 1, by McNemar's exact test; else by the paired t test, whose interval is for the same mean.
        """
        n = self._differences.n
        result = PairedDifference(
            n=n,
            clusters=self._groups if self._clusters else None,
            mean_a=self._a.value / n if n else None,
            mean_b=self._b.value / n if n else None,
            difference=self._differences.mean,
            wins=self._wins,
            ties=n - self._wins - self._losses,
            losses=self._losses,
            lacking=self._lacking(),
        )
        if result.difference is None or self._units < FEWEST:
            return result
        error = self._error()
        if self._all_binary and not self._clustered:
            test, p, interval = MCNEMAR, sign_p_value(self._wins, self._losses), self._share_interval()
        elif error is None:
            test, p, interval = self._without_spread(result.difference)
        else:
            test = CLUSTERED_T if self._clustered else PAIRED_T
            p = t_p_value(result.difference / error, self._units - 1)
            half = t_quantile(LEVEL, self._units - 1) * error
            interval = _within(
                result.difference - half, result.difference + half, "clustered" if self._clustered else "t"
            )
        return replace(
            result,
            interval=interval,
            test=test,
            p=p,
            effect=self._effect(result.difference),
            minimum_detectable=None if error is None else minimum_detectable(error, self._units),
            needed=None if error is None else needed_pairs(n * error**2, SMALL),
            lacking=None,
        )

    @property
    def _groups(self) -> int:
        """How many clusters there are, a case without one being its own."""
        return len(self._clusters) + self._alone.n

    @property
    def _units(self) -> int:
        """How many equally large clusters would say as much: as many as there are, unless their sizes differ (Kish)."""
        squares = sum(cluster.n**2 for cluster in self._clusters.values()) + self._alone.n
        return self._differences.n**2 // squares if squares else 0

    @property
    def _clustered(self) -> bool:
        return self._groups < self._differences.n

    def _lacking(self) -> str:
        n, units = self._differences.n, self._units
        chance = f"at least {FEWEST} are needed: with fewer, even a win in each of them may be chance"
        if n < FEWEST:
            are = {0: "no case is", 1: "1 case is"}.get(n, f"{n} cases are")
            return f"{are} scored in both runs; {chance}"
        groups = "1 cluster" if self._groups == 1 else f"{self._groups} clusters"
        worth = "" if units == self._groups else f", so unequal that they say as much as {units}"
        return f"the {n:,} cases come from {groups}{worth}; {chance}"

    def _error(self) -> float | None:
        """Return the standard error of the difference; None where all differences are the same, past float noise."""
        error = (self._jackknife_error() if self._clustered else self._differences.standard_error) or 0.0
        return error if error * math.sqrt(self._units) > FLOAT_NOISE else None

    def _jackknife_error(self) -> float:
        """Return the standard error from what the mean would be without each cluster in turn.

        Where clusters are equally large this is that of the t test of their means. Where they are not, the sandwich
        estimator would find differences twice too often among ten clusters of one to twelve cases; this one, with
        degrees of freedom by ``_units``, does not.
        """
        n, mean = self._differences.n, self._differences.mean or 0.0
        moved = [cluster.n * ((cluster.mean or 0.0) - mean) / (n - cluster.n) for cluster in self._clusters.values()]
        squares = math.fsum(move * move for move in moved)
        if (alone := self._alone.n) > 0:
            around = (self._alone.standard_error or 0.0) ** 2 * alone * (alone - 1)
            squares += (around + alone * ((self._alone.mean or 0.0) - mean) ** 2) / (n - 1) ** 2
        return math.sqrt(squares * (self._groups - 1) / self._groups)

    def _share_interval(self) -> Interval:
        """Return the interval of Bonett and Price for the difference of two shares among the same cases.

        It takes one more win and one more loss into account than were found: right for few cases, and where no case
        changed at all.
        """
        n = self._differences.n + 2
        centre = (self._wins - self._losses) / n
        half = z_quantile(LEVEL) * math.sqrt(((self._wins + self._losses + 2) / n - centre**2) / n)
        return _within(centre - half, centre + half, "bonett_price")

    def _without_spread(self, difference: float) -> tuple[str, float, Interval]:
        """Compare where every case, or cluster, differs by the same: that was seen, and proves no certainty.

        The interval allows for as many others as may have been missed, each as far away as scores can be.
        """
        missed = z_quantile(LEVEL) * math.sqrt(2) / (self._units + 2)
        half = missed * (1 + abs(difference))
        p = 1.0 if abs(difference) <= FLOAT_NOISE else sign_p_value(self._units, 0)
        return SIGN, p, _within(difference - half, difference + half, "widest")

    def _effect(self, difference: float) -> Effect:
        if self._all_binary:
            return Effect(name=ODDS, value=self._wins / self._losses if self._losses else None)
        spread = (self._differences.standard_error or 0.0) * math.sqrt(self._differences.n)
        return Effect(name=STANDARDISED, value=difference / spread if spread > FLOAT_NOISE else None)


def minimum_detectable(error: float, units: int, *, tests: int = 1) -> float:
    """Return the smallest true difference that a test with such a standard error would show four times in five.

    Of several ``tests`` at once, it is the one that would be shown even if it were held to the strictest of them.

    >>> round(minimum_detectable(0.01, 100), 4)
    0.0283
    """
    return error * (t_quantile(1 - (1 - LEVEL) / tests, units - 1) + t_quantile(2 * POWER - 1, units - 1))


def needed_pairs(variance: float, difference: float) -> int:
    """Return the number of cases that show a difference four times in five, by the variance of differences.

    >>> needed_pairs(1 / 9, 0.03), needed_pairs(1 / 9, 0.05)
    (969, 349)
    """
    strength = z_quantile(LEVEL) + z_quantile(2 * POWER - 1)
    return max(FEWEST, math.ceil(strength**2 * variance / difference**2))


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
