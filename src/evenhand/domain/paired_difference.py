"""The scores of the same cases in two runs: how far apart they are, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from evenhand.domain.summary import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How large a difference is, in terms that do not depend on the number of cases.

    ``standardised difference`` is the mean difference in units of its spread from case to case; ``odds ratio`` is wins
    over losses. ``value`` is None where there is no spread, or no loss.
    """

    name: str
    value: float | None


# What happens by chance more rarely than this is called a difference.
LEVEL: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """What the scores of the same cases in two runs say, B against A.

    ``n`` cases are scored in both, in so many ``clusters`` (None: no case has one). ``wins`` are cases where B scored
    more. Where there is too little data, ``lacking`` says so, and what would be enough; then there is no interval, test
    or effect. ``minimum_detectable`` is the smallest true difference that as many cases would show four times in five,
    and ``needed`` how many cases a difference of 0.05 would take for that.
    """

    n: int
    clusters: int | None = None
    mean_a: float | None = None
    mean_b: float | None = None
    difference: float | None = None
    interval: Interval | None = None
    test: str | None = None
    p: float | None = None
    effect: Effect | None = None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    minimum_detectable: float | None = None
    needed: int | None = None
    lacking: str | None = None

    def __post_init__(self) -> None:
        if self.wins + self.ties + self.losses != self.n:
            raise ValueError(f"{self.wins} wins, {self.ties} ties and {self.losses} losses are not {self.n} cases")
        if (self.lacking is None) != (self.interval is not None):
            raise ValueError("a comparison has an interval, or says what it lacks")

    def times(self, factor: float) -> PairedDifference:
        """Return the same with all scores multiplied by a factor."""
        around = self.interval
        mean_a, mean_b, difference, smallest = (
            None if value is None else value * factor
            for value in (self.mean_a, self.mean_b, self.difference, self.minimum_detectable)
        )
        return replace(
            self,
            mean_a=mean_a,
            mean_b=mean_b,
            difference=difference,
            minimum_detectable=smallest,
            interval=None if around is None else replace(around, low=around.low * factor, high=around.high * factor),
        )

    @property
    def better(self) -> bool:
        """Whether B is better beyond chance: the whole interval lies above 0, and the test agrees."""
        return self.interval is not None and self.interval.low > 0 and self._is_unlikely

    @property
    def worse(self) -> bool:
        """Whether B is worse beyond chance: the whole interval lies below 0, and the test agrees."""
        return self.interval is not None and self.interval.high < 0 and self._is_unlikely

    @property
    def is_hint(self) -> bool:
        """Whether the interval leaves out 0 and an exact test does not call that unlikely."""
        return self.interval is not None and not self.interval.low <= 0 <= self.interval.high and not self._is_unlikely

    @property
    def is_uncertain(self) -> bool:
        """Whether the test calls the difference unlikely to be chance, and the interval holds 0 all the same."""
        return self.interval is not None and self.interval.low <= 0 <= self.interval.high and self._is_unlikely

    @property
    def _is_unlikely(self) -> bool:
        return self.p is None or self.p <= LEVEL
