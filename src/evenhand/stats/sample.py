"""Numbers taken in one by one and not kept: their mean, its error, and how much is known about that error."""

from __future__ import annotations

import math
from typing import Final

from evenhand.domain.verdict import FLOAT_NOISE

# Every finite float is a whole number of these: 2**-1074 is the smallest one there is.
BITS: Final = 1074
# For the fourth powers fewer digits will do: they only say how heavy the tails are.
_COARSE: Final = BITS - 30

# What no case has shown so far may still come: this part of a case is taken to be as far off as the scale allows.
UNSEEN: Final = 0.25


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

    def add(self, number: float, times: int = 1) -> None:
        """Add a number, or several that are equal."""
        self._whole += times * whole(number)

    @property
    def value(self) -> float:
        """The sum so far."""
        return self._whole / (1 << BITS)


class Sample:
    """Numbers taken in one by one; memory grows with clusters only, and their order does not change a digit.

    Cases that share a source, such as one document or one conversation, are given the same ``cluster``: they say less
    than as many independent ones would, and the error is larger for it.

    >>> sample = Sample()
    >>> for number in (0.5, 0.75, 1.0):
    ...     sample.add(number)
    >>> sample.mean, sample.error, sample.units
    (0.75, 0.14433756729740643, 3)
    """

    __slots__ = ("_alone", "_clusters", "_grouped")

    def __init__(self) -> None:
        self._alone = _Moments()
        self._grouped = _Moments()
        self._clusters: dict[str, _Total] = {}

    def add(self, number: float, cluster: str | None = None, times: int = 1) -> None:
        """Add a number, or several that are equal."""
        value = whole(number)
        if cluster is None:
            self._alone.add(value, times)
            return
        self._grouped.add(value, times)
        if (members := self._clusters.get(cluster)) is None:
            members = self._clusters[cluster] = _Total()
        members.n += times
        members.total += times * value

    @property
    def n(self) -> int:
        """How many numbers there are."""
        return self._alone.n + self._grouped.n

    @property
    def clusters(self) -> int | None:
        """How many clusters there are, a number without one being its own; None where no cluster was given."""
        return self._groups if self._clusters else None

    @property
    def is_clustered(self) -> bool:
        """Whether any two numbers share a cluster."""
        return self._groups < self.n

    @property
    def units(self) -> int:
        """How many equally large clusters would say as much: as many as there are, unless their sizes differ (Kish)."""
        squares = sum(cluster.n**2 for cluster in self._clusters.values()) + self._alone.n
        return self.n**2 // squares if squares else 0

    @property
    def mean(self) -> float | None:
        """The mean, None without numbers."""
        return self.mean_with(0)

    def mean_with(self, more: int, number: int = 0) -> float | None:
        """Return the mean if a number, 0 or 1, was there so many times more; None where there is neither."""
        n = self.n + more
        return (self._total + (more * number << BITS)) / (n << BITS) if n else None

    @property
    def spread(self) -> float | None:
        """The standard deviation of the numbers; None below two."""
        n = self.n
        if n < 2:
            return None
        squares = self._alone.squares + self._grouped.squares
        return math.sqrt((n * squares - self._total**2) / ((n * (n - 1)) << (2 * BITS)))

    @property
    def error(self) -> float | None:
        """The standard error of the mean, 0 where all differ by float noise only; None below two clusters or numbers.

        It comes from what the mean would be without each cluster in turn (the jackknife). Where none is larger than
        one number, this is the usual one. Where they are unequal, the sandwich estimator would be too small.
        """
        if self.units < 2:
            return None
        groups = self._groups
        error = math.sqrt(self._moved(2) * (groups - 1) / groups)
        return error if error * math.sqrt(self.units) > FLOAT_NOISE else 0.0

    @property
    def df(self) -> float:
        """The degrees of freedom of the error: one less than there are units, and fewer where the tails are heavy.

        An error that rests on a few numbers far from all others would easily have come out smaller or larger. The
        variance of a variance grows with the fourth moment, and the degrees of freedom are those of a normal sample
        whose variance is as uncertain.
        """
        units, squares = self.units, self._moved(2)
        excess = max(0.0, self._groups * self._moved(4) / squares**2 - 3) if squares else 0.0
        return max(1.0, 2 / (excess / units + 2 / (units - 1)))

    def cautious_error(self, widest: float) -> float | None:
        """Return the error with a part of a case added that is as far off as it can be.

        ``widest`` is the largest variance that numbers with such a mean can have on their scale. Few numbers that lie
        close together do not show that none lies far away.
        """
        error, units = self.error, self.units
        if error is None:
            return None
        return math.sqrt(error**2 + UNSEEN / units * max(0.0, widest / units - error**2))

    @property
    def is_binary(self) -> bool:
        """Whether all numbers are 0 or 1, if none lies outside."""
        # Between 0 and 1 a square is smaller than its root, so the sums are equal only if no number lies between.
        return self._total << BITS == self._alone.squares + self._grouped.squares

    @property
    def _groups(self) -> int:
        return len(self._clusters) + self._alone.n

    @property
    def _total(self) -> int:
        return self._alone.total + self._grouped.total

    @property
    def _coarse_total(self) -> int:
        return self._alone.powers[0] + self._grouped.powers[0]

    def _moved(self, power: int) -> float:
        """Sum the powers of how far the mean would move without each cluster, a number without one being its own."""
        n, total = self.n, self._total
        moves = (
            (cluster.total * n - cluster.n * total) / ((n * (n - cluster.n)) << BITS)
            for cluster in self._clusters.values()
        )
        alone = self._alone
        apart = alone.squares_around(total, n) if power == 2 else alone.fourths_around(self._coarse_total, n)
        # Each part is rounded once and their sum is exact, so that their order does not matter.
        return math.fsum(move**power for move in moves) + (apart / (n - 1) ** power if alone.n else 0.0)


class _Total:
    """How many numbers, and their sum."""

    __slots__ = ("n", "total")

    def __init__(self) -> None:
        self.n = 0
        self.total = 0


class _Moments(_Total):
    """Sums of the first four powers, without rounding; of those that tell of tails, of fewer digits."""

    __slots__ = ("powers", "squares")

    def __init__(self) -> None:
        super().__init__()
        self.squares = 0
        self.powers = [0, 0, 0, 0]

    def add(self, value: int, times: int) -> None:
        self.n += times
        self.total += times * value
        self.squares += times * value * value
        coarse = value >> _COARSE if value >= 0 else -(-value >> _COARSE)
        square = coarse * coarse
        powers = self.powers
        powers[0] += times * coarse
        powers[1] += times * square
        powers[2] += times * square * coarse
        powers[3] += times * square * square

    def squares_around(self, total: int, n: int) -> float:
        """Return the sum of the squares of the distances from the mean of ``n`` numbers with such a total."""
        return (n * n * self.squares - 2 * n * total * self.total + self.n * total**2) / ((n * n) << (2 * BITS))

    def fourths_around(self, total: int, n: int) -> float:
        """Return the sum of the fourth powers of the same distances; the total is that of coarse steps."""
        first, second, third, fourth = self.powers
        sum_of_fourths = n**4 * fourth - 4 * n**3 * total * third + 6 * n**2 * total**2 * second
        sum_of_fourths += self.n * total**4 - 4 * n * total**3 * first
        return sum_of_fourths / (n**4 << (4 * (BITS - _COARSE)))
