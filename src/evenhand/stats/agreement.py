"""How far the jurors of a jury agree over a run: Krippendorff's alpha, from sums that are kept instead of the ratings.

Why the interval is found this way is in docs/design/agreement.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from evenhand.domain.summary import Interval, JuryAgreement
from evenhand.stats.distributions import t_quantile
from evenhand.stats.wilson import LEVEL

# Below so many cases or clusters, the interval would be too narrow too often.
FEWEST: Final = 20
# A choice has a few labels. Texts that are all different are none.
_MOST_LABELS: Final = 50
# Scores are counted in whole numbers of 2**-40: such sums are exact, and the same in any order.
_ONE: Final = 1 << 40

# Sums over ratings, by what is summed: these, and how often each label was given.
Sums: TypeAlias = dict[str, int]
_RATINGS, _TOTAL, _SQUARES = "ratings", "total", "squares"
# What the jurors of a case differ by, in scores and in labels: over all pairs, for each rating.
_APART, _OTHERWISE = "apart", "otherwise"
_LABEL: Final = "label "


class Rating(NamedTuple):
    """What a juror gave: a score from 0 to 1, and the label, if it was to give one."""

    juror: str
    score: float
    label: str | None = None


class Ratings:
    """The ratings of a jury, taken in case by case and not kept; memory grows with clusters, not with cases.

    >>> ratings = Ratings()
    >>> for first, second in ((0.0, 0.25), (1.0, 0.75), (0.5, 0.5)):
    ...     ratings.add([([Rating("a", first), Rating("b", second)], 0)])
    >>> round(ratings.agreement().alpha, 3)
    0.833
    """

    __slots__ = (
        "_alone", "_cases", "_clusters", "_difference", "_has_labels", "_jurors", "_labels", "_left_out", "_missing",
        "_pairs", "_products", "_sums",
    )  # fmt: skip

    def __init__(self) -> None:
        self._sums: Sums = {}
        # The sums over all cases, or clusters, of what two of their sums multiply to.
        self._products: dict[tuple[str, str], int] = {}
        self._clusters: dict[str, Sums] = {}
        self._alone = 0
        self._cases = 0
        self._left_out = 0
        self._missing = 0
        self._jurors: set[str] = set()
        self._labels: set[str] = set()
        self._has_labels = True
        self._pairs = 0
        self._difference = 0

    def add(self, samples: Iterable[tuple[Sequence[Rating], int]], cluster: str | None = None) -> None:
        """Take in a case: of each sample the ratings, and how many jurors gave none.

        Jurors can be compared where two of them or more rated the same.
        """
        of_case: Sums = {}
        for ratings, missing in samples:
            self._missing += missing
            self._jurors.update([rating.juror for rating in ratings])
            if len(ratings) > 1:
                sums = self._sums_of(ratings)
                of_case = _merged(of_case, sums) if of_case else sums
        if not of_case:
            self._left_out += 1
            return
        self._cases += 1
        self._sums = _merged(self._sums, of_case)
        if cluster is None:
            self._alone += 1
            _add_products(self._products, of_case)
        else:
            self._clusters[cluster] = _merged(self._clusters.get(cluster, {}), of_case)

    def _sums_of(self, ratings: Sequence[Rating]) -> Sums:
        scores = [round(rating.score * _ONE) for rating in ratings]
        for first, second in combinations(scores, 2):
            self._pairs += 1
            self._difference += abs(first - second)
        n, total, squares = len(scores), sum(scores), sum([score * score for score in scores])
        sums = {_APART: (n * squares - total * total) // (n - 1), _RATINGS: n, _SQUARES: squares, _TOTAL: total}
        if self._has_labels:
            self._add_labels(sums, [rating.label for rating in ratings])
        return sums

    def _add_labels(self, sums: Sums, labels: Sequence[str | None]) -> None:
        """Add the sums over labels, as long as all ratings have one."""
        counts = Counter(label for label in labels if label is not None)
        n = counts.total()
        self._labels.update(counts)
        self._has_labels = n == len(labels) and len(self._labels) <= _MOST_LABELS
        if self._has_labels:
            sums[_OTHERWISE] = sum(count * (n - count) for count in counts.values()) * _ONE // (n - 1)
            sums.update((f"{_LABEL}{label}", counts[label]) for label in counts)

    def agreement(self) -> JuryAgreement:
        """Return how far the jurors agree on what was taken in so far."""
        is_nominal = self._has_labels and bool(self._labels)
        ratio = _nominal(self._sums) if is_nominal else _interval(self._sums)
        units = self._alone + len(self._clusters)
        return JuryAgreement(
            scale="nominal" if is_nominal else "interval",
            alpha=None if ratio is None else float(1 - ratio.value),
            interval=None if ratio is None or units < FEWEST else self._interval_of(ratio, units),
            cases=self._cases,
            jurors=len(self._jurors),
            ratings=self._sums.get(_RATINGS, 0),
            missing=self._missing,
            left_out=self._left_out,
            clusters=units if self._clusters else None,
            difference=self._difference / (self._pairs * _ONE) if self._pairs else None,
        )

    def _interval_of(self, ratio: _Ratio, units: int) -> Interval | None:
        """Return the interval of alpha: that of the logarithm of 1 - alpha, by its slopes in all sums."""
        if not ratio.value:  # no disagreement has no spread
            return None
        products = dict(self._products)
        for sums in self._clusters.values():
            _add_products(products, sums)
        slopes = ratio.slopes
        terms = (
            (1 if first == second else 2) * slopes[first] * slopes[second] * product
            for (first, second), product in products.items()
            if first in slopes and second in slopes
        )
        squares = sum(terms, Fraction(0))
        total = sum((slope * self._sums[name] for name, slope in slopes.items()), Fraction(0))
        variance = (squares - total * total / units) * units / (units - 1)
        half = t_quantile(LEVEL, units - 1) * math.sqrt(max(float(variance), 0.0))
        # Where the disagreement rests on a case or two, the lower end is anywhere below.
        low = 1 - float(ratio.value) * math.exp(min(half, 50.0))
        high = 1 - float(ratio.value) * math.exp(-half)
        return Interval(low=max(low, -1.0), high=high, method="delta", level=LEVEL)


class _Ratio(NamedTuple):
    """What the jurors of a case differ by, over what any two ratings do; with the slopes of its logarithm."""

    value: Fraction
    slopes: Mapping[str, Fraction]


def _interval(sums: Sums) -> _Ratio | None:
    """Return the ratio for scores, by the squares of their differences; None where all are equal."""
    n, total, squares, apart = (sums.get(name, 0) for name in (_RATINGS, _TOTAL, _SQUARES, _APART))
    expected = n * squares - total * total
    if not expected:
        return None
    slopes = {
        _RATINGS: Fraction(1, n - 1) - Fraction(squares, expected),
        _TOTAL: Fraction(2 * total, expected),
        _SQUARES: Fraction(-n, expected),
        _APART: Fraction(1, apart) if apart else Fraction(0),
    }
    return _Ratio(Fraction((n - 1) * apart, expected), slopes)


def _nominal(sums: Sums) -> _Ratio | None:
    """Return the ratio for labels, which are equal or not; None where all are equal."""
    n, otherwise = sums[_RATINGS], sums[_OTHERWISE]
    labels = {name: count for name, count in sums.items() if name.startswith(_LABEL)}
    expected = n * n - sum(count * count for count in labels.values())
    if not expected:
        return None
    slopes = {
        _RATINGS: Fraction(1, n - 1) - Fraction(2 * n, expected),
        _OTHERWISE: Fraction(1, otherwise) if otherwise else Fraction(0),
        **{name: Fraction(2 * count, expected) for name, count in labels.items()},
    }
    return _Ratio(Fraction((n - 1) * otherwise, expected * _ONE), slopes)


def _merged(sums: Sums, others: Sums) -> Sums:
    merged = dict(sums)
    for name, value in others.items():
        merged[name] = merged.get(name, 0) + value
    return merged


def _add_products(products: dict[tuple[str, str], int], sums: Sums) -> None:
    items = sorted(sums.items())
    for place, (first, value) in enumerate(items):
        for second, other in items[place:]:
            products[first, second] = products.get((first, second), 0) + value * other
