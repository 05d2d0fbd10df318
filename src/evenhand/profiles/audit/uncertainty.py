"""How sure an effect is: the two errors that it has, and which of them decides.

The replicate error is how far an effect would move if the same profiles were scored again: it says whether the judge
treats these profiles differently, beyond its own noise. The clustered error is how far it would move with other
profiles: it also holds what the judge makes of each text for reasons of its own, and is known from few profiles only.
Where nothing of that kind shows, both estimate the same, and the replicate error knows it better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from evenhand.domain.summary import Interval
from evenhand.stats.distributions import f_p_value
from evenhand.stats.regression import METHOD, Estimate
from evenhand.stats.replicates import StandardError

Basis: TypeAlias = Literal["replicates", "clusters"]
REPLICATES: Final[Basis] = "replicates"
CLUSTERS: Final[Basis] = "clusters"
# How rarely noise alone may hand the decision to the clustered error.
DIFFERENT: Final = 0.05
# What judges round their scores to, from the coarsest; of finer steps nothing is left that would matter.
_STEPS: Final = (1.0, 0.5, 0.25, 0.2, 0.1, 0.05, 0.01)
_NOISE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """How sure an estimate is by one of its errors; ``p_holm`` is corrected for the number of effects in the audit."""

    error: float
    df: int
    interval: Interval
    p: float
    p_holm: float | None = None

    @classmethod
    def of(cls, estimate: float, error: StandardError, method: str) -> Uncertainty:
        """Work out interval and p value."""
        around = error.interval(estimate, method)
        return cls(error=error.value, df=error.df, interval=around, p=error.p(estimate))

    def corrected(self, p_holm: float | None) -> Uncertainty:
        """Return the same with a corrected p value."""
        return replace(self, p_holm=p_holm)

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain JSON values."""
        return asdict(self)


def by_replicates(estimate: float, error: StandardError | None) -> Uncertainty | None:
    """Return how sure an estimate is by its replicate error; None for a judge that repeats itself."""
    return None if error is None else Uncertainty.of(estimate, error, REPLICATES)


def by_clusters(estimate: Estimate, least: float) -> Uncertainty | None:
    """Return how sure an estimate is by its clustered error, which is at least so large; None where it has none."""
    if estimate.error is None:
        return None
    return Uncertainty.of(estimate.value, StandardError(value=max(estimate.error, least), df=estimate.df), METHOD)


def basis_of(replicate: Uncertainty | None, clustered: Uncertainty | None) -> Basis | None:
    """Return which error decides: that of the replicates, unless the profiles differ by more than these explain.

    >>> noise = Uncertainty.of(0.7, StandardError(value=0.2, df=16), REPLICATES)
    >>> similar, larger = (Uncertainty.of(0.7, StandardError(value=value, df=4), METHOD) for value in (0.3, 0.4))
    >>> basis_of(noise, similar), basis_of(noise, larger), basis_of(None, larger)
    ('replicates', 'clusters', 'clusters')
    """
    if replicate is None or clustered is None:
        return CLUSTERS if clustered is not None else REPLICATES if replicate is not None else None
    ratio = (clustered.error / replicate.error) ** 2
    return CLUSTERS if f_p_value(ratio, clustered.df, replicate.df) < DIFFERENT else REPLICATES


def rounding_error(loads: Iterable[float], step: float) -> float:
    """Return the error that an estimate has, at least, since scores are rounded to a step."""
    return math.sqrt(math.fsum(load * load for load in loads) * step * step / 12)


def step_of(scores: Sequence[float]) -> float:
    """Return what all scores are rounded to; 0 where they are not.

    >>> step_of([7, 5, 8]), step_of([7.5, 8]), step_of([7.3, 8.25]), step_of([7.123])
    (1.0, 0.5, 0.05, 0.0)
    """
    return next(
        (step for step in _STEPS if all(abs(score / step - round(score / step)) < _NOISE for score in scores)), 0.0
    )
