"""A judge against people, who say pass or fail: how often it is right, and to which side it errs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from evenhand.domain.summary import Interval, Rate
from evenhand.stats.distributions import sign_p_value
from evenhand.stats.kappa import Kappa, kappa
from evenhand.stats.refusal import Refused
from evenhand.stats.shares import bonett_price, share
from evenhand.stats.wilson import LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Bias:
    """By how much more the judge passes than people do, and how likely chance alone is (McNemar's exact test)."""

    value: float
    interval: Interval
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedLabels:
    """Cases with a label, by what people and the judge said.

    ``tp`` are passes that the judge passed, ``fp`` fails that it passed, ``fn`` passes that it failed, and ``tn``
    fails that it failed.

    >>> labels = JudgedLabels.of([(True, True), (True, False), (False, False), (False, False)])
    >>> labels.agreement().value, labels.sensitivity().value, labels.specificity().value
    (0.75, 0.5, 1.0)
    """

    tp: int
    fp: int
    fn: int
    tn: int

    def __post_init__(self) -> None:
        if min(self.tp, self.fp, self.fn, self.tn) < 0:
            raise ValueError(f"counts of cases are 0 or more; got {self!r}")

    @classmethod
    def of(cls, cases: Iterable[tuple[bool, bool]]) -> JudgedLabels:
        """Count cases, each whether people passed it, and whether the judge did."""
        counts = {(human, judge): 0 for human in (True, False) for judge in (True, False)}
        for human, judge in cases:
            counts[bool(human), bool(judge)] += 1
        return cls(tp=counts[True, True], fp=counts[False, True], fn=counts[True, False], tn=counts[False, False])

    @property
    def n(self) -> int:
        """How many cases there are."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def human_passes(self) -> int:
        """How many cases people passed."""
        return self.tp + self.fn

    @property
    def judge_passes(self) -> int:
        """How many cases the judge passed."""
        return self.tp + self.fp

    @property
    def table(self) -> list[list[int]]:
        """The counts as rows by people and columns by the judge, pass before fail."""
        return [[self.tp, self.fn], [self.fp, self.tn]]

    def agreement(self, level: float = LEVEL) -> Rate | Refused:
        """Return how often the judge said what people did."""
        return share(self.tp + self.tn, self.n, "labels", level)

    def sensitivity(self, level: float = LEVEL) -> Rate | Refused:
        """Return how often the judge passed what people passed."""
        return share(self.tp, self.human_passes, "labels by people that say pass", level)

    def specificity(self, level: float = LEVEL) -> Rate | Refused:
        """Return how often the judge failed what people failed."""
        return share(self.tn, self.n - self.human_passes, "labels by people that say fail", level)

    def kappa(self, level: float = LEVEL) -> Kappa | Refused:
        """Return the agreement beyond chance."""
        return kappa(self.table, level=level)

    def correlation(self) -> float | Refused:
        """Return the correlation of the verdicts (Matthews).

        >>> round(JudgedLabels(tp=40, fp=5, fn=10, tn=45).correlation(), 4)
        0.7035
        """
        sides = (self.judge_passes, self.n - self.judge_passes, self.human_passes, self.n - self.human_passes)
        if not all(sides):
            return Refused("the judge, or people, gave one verdict only: there is nothing to correlate")
        return (self.tp * self.tn - self.fp * self.fn) / math.sqrt(math.prod(sides))

    def bias(self, level: float = LEVEL) -> Bias | Refused:
        """Return by how much more the judge passes than people do: below 0 it is too strict.

        >>> found = JudgedLabels(tp=51, fp=3, fn=15, tn=31).bias()
        >>> found.value, round(found.p, 4)
        (-0.12, 0.0075)
        """
        if self.n == 0:
            return Refused("there are no labels")
        interval = bonett_price(self.fp, self.fn, self.n, level)
        return Bias(value=(self.fp - self.fn) / self.n, interval=interval, p=sign_p_value(self.fp, self.fn))
