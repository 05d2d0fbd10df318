"""The error of an estimate by repetition alone: how far it would move if the same texts were scored again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import variance
from typing import Any, Final

from evenhand.domain.summary import Interval
from evenhand.stats.distributions import t_p_value, t_quantile
from evenhand.stats.wilson import LEVEL

# Below it a variance of scores is what rounding leaves of none.
_NOISE: Final = 1e-18
_MORE: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardError:
    """How sure an estimate is: ``value`` is its standard error, with ``df`` degrees of freedom.

    ``moves`` are the parts by which it may move: their squares add up to that of the error.
    """

    value: float
    df: int
    moves: tuple[float, ...] = field(default=(), repr=False)

    def interval(self, estimate: float, method: str) -> Interval:
        """Return the interval by Student's t."""
        half = t_quantile(LEVEL, self.df) * self.value
        return Interval(low=estimate - half, high=estimate + half, method=method)

    def p(self, estimate: float) -> float:
        """Return how often chance alone would show so much, were there nothing."""
        if self.value == 0:
            return 1.0 if estimate == 0 else 0.0
        return t_p_value(estimate / self.value, self.df)


class Replicates:
    """Scores that were repeated, each set with a mean of its own, and the errors that follow for sums of the means.

    >>> error = Replicates([(5, 6, 7), (5, 6, 7), (6, 7, 8), (5, 6, 7)]).error([0.5, 0.5, -0.5, -0.5])
    >>> round(error.value, 4), error.df
    (0.5774, 8)

    Each mean has the variance of its own scores; one with a single score has that of all others together. The degrees
    of freedom are Welch's, without the bias that they have for means of two or three scores.
    """

    def __init__(self, samples: Sequence[Sequence[float]]) -> None:
        import numpy as np  # noqa: PLC0415 - slow to load, and few commands need it

        self._counts: Any = np.array([len(scores) for scores in samples])
        self._df: Any = self._counts - 1
        self._variances: Any = np.array([variance(scores) if scores[1:] else 0.0 for scores in samples])
        # A judge that repeats itself word for word says nothing about its noise.
        self.vary = bool((self._variances * self._df).sum() > _NOISE)

    def error(self, weights: Sequence[float]) -> StandardError | None:
        """Return the error of a weighted sum of the means; None where the scores behind it never differ."""
        import numpy as np  # noqa: PLC0415 - slow to load, and few commands need it

        if not self.vary:
            return None
        loads = np.asarray(weights, dtype=float)
        squares = np.square(loads)
        borrowed = squares[self._df == 0].sum() * self._df / self._df.sum()
        parts = np.where(self._df > 0, (squares / self._counts + borrowed) * self._variances, 0.0)
        total = float(parts.sum())
        if total <= _NOISE:
            return None
        most = int(self._df[parts > 0].sum())
        matched = total * total / float((parts * parts / (self._df + 2)).sum()) - 2
        pooled = (self._variances * self._df).sum() / self._df.sum()
        moves = loads * np.sqrt(np.where(self._df > 0, self._variances, pooled) / self._counts)
        df = max(1, min(most, int(matched + _MORE)))
        return StandardError(value=math.sqrt(total), df=df, moves=tuple(moves.tolist()))
