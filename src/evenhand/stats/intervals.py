"""Means with error bars: which interval belongs to which scores."""

from __future__ import annotations

import math
from typing import Final

from evenhand.domain.summary import Interval
from evenhand.stats.distributions import t_quantile, z_quantile

# Every finite float is a whole number of these: 2**-1074 is the smallest one there is.
BITS: Final = 1074


def whole(number: float) -> int:
    """Return a float as a whole number of ``2**-1074``."""
    numerator, denominator = number.as_integer_ratio()
    return numerator << (BITS + 1 - denominator.bit_length())


class ExactSum:
    """A sum of floats that is rounded once, when it is read.

    >>> total = ExactSum()
    >>> for _ in range(10):
    ...     total.add(0.1)
    >>> total.value
    1.0
    """

    __slots__ = ("_whole",)

    def __init__(self) -> None:
        self._whole = 0

    def add(self, number: float) -> None:
        """Add a number."""
        self._whole += whole(number)

    @property
    def value(self) -> float:
        """The sum so far."""
        return self._whole / (1 << BITS)


LEVEL: Final = 0.95


def wilson(share: float, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's score interval for a share that was found among ``n``.

    >>> [round(end, 4) for end in wilson(27 / 30, 30)]
    [0.7438, 0.9654]
    """
    z = z_quantile(level)
    pull = z * z / n
    centre = (share + pull / 2) / (1 + pull)
    half = math.sqrt(share * (1 - share) * pull + pull * pull / 4) / (1 + pull)
    # Exactly the end of the scale where nothing, or everything, was found: rounding would fall short of it.
    return (0.0 if share == 0 else max(0.0, centre - half)), (1.0 if share == 1 else min(1.0, centre + half))


class Scores:
    """Scores from 0 to 1, taken in one by one and not kept: how many, their mean, and an interval around it.

    >>> scores = Scores()
    >>> for score in (0.5, 0.75, 1.0):
    ...     scores.add(score)
    >>> scores.mean, scores.standard_error
    (0.75, 0.14433756729740643)

    Cases that share a source, such as one document or one conversation, are given the same ``cluster``: they say less
    than as many independent ones would, and the interval is wider for it.
    """

    __slots__ = ("_alone", "_clusters", "_grouped")

    def __init__(self) -> None:
        self._alone = _Moments()
        self._grouped = _Moments()
        self._clusters: dict[str, _Moments] = {}

    def add(self, score: float, cluster: str | None = None, times: int = 1) -> None:
        """Add a score, or several that are equal."""
        if cluster is None:
            self._alone.add(score, times)
            return
        self._grouped.add(score, times)
        if (members := self._clusters.get(cluster)) is None:
            members = self._clusters[cluster] = _Moments()
        members.add(score, times)

    @property
    def n(self) -> int:
        """How many scores there are."""
        return self._alone.n + self._grouped.n

    @property
    def clusters(self) -> int | None:
        """How many clusters there are, a score without one being its own; None where no cluster was given."""
        return len(self._clusters) + self._alone.n if self._clusters else None

    @property
    def mean(self) -> float | None:
        """The mean, None without scores."""
        return self.mean_with_zeros(0) if self.n else None

    def mean_with_zeros(self, zeros: int) -> float | None:
        """Return the mean if so many zeros were among the scores; None where there is neither."""
        n = self.n + zeros
        return self._total / (n << BITS) if n else None

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean of independent scores; None below two of them."""
        n = self.n
        if n < 2:
            return None
        spread = n * self._squares - self._total**2
        return math.sqrt(spread / ((n * n * (n - 1)) << (2 * BITS)))

    @property
    def clustered_error(self) -> float | None:
        """The standard error of the mean when scores of a cluster move together; None below two clusters.

        The sandwich estimator, without a factor for few clusters: Student's t allows for those.
        """
        if (self.clusters or 0) < 2:
            return None
        n, total, alone = self.n, self._total, self._alone
        spread = n * n * alone.squares - 2 * n * total * alone.total + alone.n * total**2
        spread += sum((n * cluster.total - cluster.n * total) ** 2 for cluster in self._clusters.values())
        return math.sqrt(spread / (n**4 << (2 * BITS)))

    def interval(self, level: float = LEVEL) -> Interval | None:
        """Return the interval that suits the scores; None below two scores, or below two clusters.

        ``clustered`` where scores share clusters, ``wilson`` where all are 0 or 1, else ``t``. Scores that are all
        equal show no spread, which is no proof that there is none: ``widest`` then allows for the largest spread
        that scores from 0 to 1 with that mean can have.
        """
        mean, n = self.mean, self.n
        units = n if self.clusters is None else self.clusters
        clustered = units < n
        error = self.clustered_error if clustered else self.standard_error
        if mean is None or error is None:
            return None
        if error == 0 or (self._binary and not clustered):
            low, high = wilson(mean, units, level)
            return Interval(low=low, high=high, method="wilson" if self._binary else "widest", level=level)
        half = t_quantile(level, units - 1) * error
        method = "clustered" if clustered else "t"
        return Interval(low=max(0.0, mean - half), high=min(1.0, mean + half), method=method, level=level)

    @property
    def _total(self) -> int:
        return self._alone.total + self._grouped.total

    @property
    def _squares(self) -> int:
        return self._alone.squares + self._grouped.squares

    @property
    def _binary(self) -> bool:
        # Between 0 and 1 a square is smaller than its root, so the sums are equal only if no score lies between.
        return self._total << BITS == self._squares


class _Moments:
    """How many numbers, their sum, and the sum of their squares, without rounding."""

    __slots__ = ("n", "squares", "total")

    def __init__(self) -> None:
        self.n = 0
        self.total = 0
        self.squares = 0

    def add(self, number: float, times: int) -> None:
        value = whole(number)
        self.n += times
        self.total += times * value
        self.squares += times * value * value
