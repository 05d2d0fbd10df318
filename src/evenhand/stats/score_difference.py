"""A judge's scores against people's scores of the same cases: by how much they differ, and to which side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.stats.refusal import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDifference:
    """The mean of judge minus people, below 0 where the judge is too strict, and the mean size of the differences."""

    mean: float
    absolute: float


def score_difference(people: Sequence[float], judge: Sequence[float]) -> ScoreDifference | Refused:
    """Return by how much a judge's scores differ from people's.

    >>> score_difference([0.5, 1.0], [0.75, 0.5])
    ScoreDifference(mean=-0.125, absolute=0.375)
    """
    if len(people) != len(judge):
        raise ValueError(f"each case has two scores; got {len(people)} and {len(judge)}")
    if not people:
        return Refused("there are no labels")
    differences = [score - label for label, score in zip(people, judge, strict=True)]
    n = len(differences)
    return ScoreDifference(mean=math.fsum(differences) / n, absolute=math.fsum(map(abs, differences)) / n)
