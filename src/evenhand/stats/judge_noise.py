"""How far a judge's own noise moves a run: repeated scores of the same cases, and gates that flip on a rerun."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from evenhand.domain.verdict import FLOAT_NOISE
from evenhand.stats.refusal import Refused

# Chances below this add nothing to a sum that is shown.
_NOTHING: Final = 1e-18


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeNoise:
    """What repeated scores say: ``within`` is the standard deviation of scores of the same case.

    ``icc`` is the share of the variance of scores that lies between cases, ICC(1): 1 for a judge that repeats itself.
    It is refused where all scores are equal.
    """

    cases: int
    within: float
    icc: float | Refused

    def of_mean(self, cases: int, samples: int = 1) -> float:
        """Return the standard deviation of the mean over reruns of so many cases, by the judge alone.

        >>> round(JudgeNoise(cases=6, within=0.1, icc=0.9).of_mean(100), 4)
        0.01
        """
        if cases < 1 or samples < 1:
            raise ValueError(f"there is 1 case or more, and 1 sample or more of each; got {cases!r} and {samples!r}")
        return self.within / math.sqrt(cases * samples)


def judge_noise(scores: Iterable[Sequence[float]]) -> JudgeNoise | Refused:
    """Return how far scores of the same case differ; each case has its scores, and those with one only are left out.

    >>> found = judge_noise([[0.9, 0.8], [0.4, 0.5], [0.1, 0.1]])
    >>> round(found.within, 4), round(found.icc, 3)
    (0.0577, 0.977)
    """
    cases = [list(samples) for samples in scores if len(samples) > 1]
    if not cases:
        return Refused("no case has two scores or more")
    sizes, means = [len(case) for case in cases], [math.fsum(case) / len(case) for case in cases]
    n, groups = sum(sizes), len(cases)
    squares = math.fsum((score - mean) ** 2 for case, mean in zip(cases, means, strict=True) for score in case)
    within = squares / (n - groups)
    if groups < 2:
        return JudgeNoise(cases=1, within=math.sqrt(within), icc=Refused("1 case; how cases differ takes at least 2"))
    middle = math.fsum(score for case in cases for score in case) / n
    between = math.fsum(size * (mean - middle) ** 2 for size, mean in zip(sizes, means, strict=True)) / (groups - 1)
    # As many scores of each case as matter: their mean number, less what its spread takes away.
    usual = (n - sum(size * size for size in sizes) / n) / (groups - 1)
    whole = between + (usual - 1) * within
    icc = Refused("all scores are equal") if whole <= FLOAT_NOISE**2 else (between - within) / whole
    return JudgeNoise(cases=groups, within=math.sqrt(within), icc=icc)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFlip:
    """How often a gate passes over reruns, by the judge's noise alone, and how often two runs disagree."""

    passes: float

    @property
    def disagree(self) -> float:
        """The chance that two runs disagree about the gate."""
        return 2 * self.passes * (1 - self.passes)


def gate_flip(chances: Iterable[float], needed: int) -> GateFlip:
    """Return how often at least so many cases pass, where each does with its own chance.

    >>> found = gate_flip([1.0] * 80 + [0.5] * 20, needed=90)
    >>> round(found.passes, 4), round(found.disagree, 4)
    (0.5881, 0.4845)
    """
    sure = 0
    total = _Distribution(0, [1.0])
    for chance, cases in Counter(chances).items():
        if not 0 <= chance <= 1:
            raise ValueError(f"a chance lies from 0 to 1; got {chance!r}")
        if chance == 1:
            sure += cases
        elif chance > 0:
            total = total.plus(_Distribution.binomial(cases, chance))
    enough = needed - sure - total.lowest
    return GateFlip(passes=min(1.0, math.fsum(total.chances[max(0, enough) :])))


@dataclass(frozen=True, slots=True)
class _Distribution:
    """The chances of how many pass, from the lowest number that has one; what has none is left out."""

    lowest: int
    chances: list[float]

    @classmethod
    def binomial(cls, n: int, chance: float) -> _Distribution:
        ways = math.lgamma(n + 1)
        logarithms = (
            ways - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(chance) + (n - k) * math.log1p(-chance)
            for k in range(n + 1)
        )
        return cls._without_ends(0, [math.exp(logarithm) for logarithm in logarithms])

    def plus(self, other: _Distribution) -> _Distribution:
        summed = [0.0] * (len(self.chances) + len(other.chances) - 1)
        for place, chance in enumerate(self.chances):
            for step, another in enumerate(other.chances):
                summed[place + step] += chance * another
        return self._without_ends(self.lowest + other.lowest, summed)

    @classmethod
    def _without_ends(cls, lowest: int, chances: list[float]) -> _Distribution:
        some = [place for place, chance in enumerate(chances) if chance > _NOTHING]
        return cls(lowest + some[0], chances[some[0] : some[-1] + 1])
