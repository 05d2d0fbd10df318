"""What several samples of the same case say: how often their verdicts differ, and how often any or all of k pass."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from math import comb
from typing import Final, TypeAlias

from evenhand.domain.summary import PassOfK, Rate, Steadiness
from evenhand.stats.intervals import Scores

# How many samples of a case have a verdict, how many of these passed, and the case's cluster.
Samples: TypeAlias = tuple[int, int, str | None]

# Of many samples, these numbers and the largest are shown.
_SHOWN: Final = (1, 2, 3, 5, 10, 20, 50, 100)


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Return the chance that any of k samples passes, drawn from those there are.

    >>> pass_at_k(3, 2, 1), pass_at_k(3, 1, 3)
    (0.6666666666666666, 1.0)
    """
    ways = comb(samples, k)
    return (ways - comb(samples - passed, k)) / ways


def pass_all_of_k(samples: int, passed: int, k: int) -> float:
    """Return the chance that all of k samples pass, drawn from those there are: pass^k.

    >>> pass_all_of_k(3, 2, 1), pass_all_of_k(3, 2, 2)
    (0.6666666666666666, 0.3333333333333333)
    """
    return comb(passed, k) / comb(samples, k)


def same_verdict(samples: int, passed: int) -> float:
    """Return the chance that two samples of a case are both passed, or both not."""
    return (comb(passed, 2) + comb(samples - passed, 2)) / comb(samples, 2)


def passes_again(samples: int, passed: int) -> float:
    """Return the chance that most of as many new samples of a case pass, if each does as often as those there are.

    >>> passes_again(3, 2), passes_again(3, 3)
    (0.7407407407407407, 1.0)
    """
    share = passed / samples
    return math.fsum(
        comb(samples, count) * share**count * (1 - share) ** (samples - count)
        for count in range(samples // 2 + 1, samples + 1)
    )


def steadiness(counts: Mapping[Samples, int]) -> Steadiness | None:
    """Return how steady the verdicts of repeated cases are; ``counts`` is how many cases have such samples.

    Cases with fewer than two verdicts say nothing about it; those with fewer than k, nothing about k of them.
    """
    repeated = {samples: count for samples, count in counts.items() if samples[0] >= 2}
    if not repeated:
        return None
    most = max(samples for samples, _, _ in repeated)
    alike: Counter[tuple[int, int]] = Counter()
    for (samples, passed, _), count in counts.items():
        alike[samples, passed] += count
    return Steadiness(
        cases=sum(repeated.values()),
        flipped=sum(count for (samples, passed, _), count in repeated.items() if 0 < passed < samples),
        flip_rate=_rate(repeated, lambda samples, passed: float(0 < passed < samples)),
        same_verdict=_rate(repeated, same_verdict),
        passes=tuple(
            PassOfK(
                k=k,
                cases=sum(count for (samples, _, _), count in counts.items() if samples >= k),
                any=_rate(counts, partial(pass_at_k, k=k), least=k),
                all=_rate(counts, partial(pass_all_of_k, k=k), least=k),
            )
            for k in sorted({*(k for k in _SHOWN if k <= most), most})
        ),
        samples=tuple((*samples, count) for samples, count in sorted(alike.items()) if samples[0]),
    )


def _rate(counts: Mapping[Samples, int], value: Callable[[int, int], float], *, least: int = 2) -> Rate:
    scores = Scores()
    for (samples, passed, cluster), count in counts.items():
        if samples >= least:
            scores.add(value(samples, passed), cluster, count)
    return Rate(value=scores.mean or 0.0, interval=scores.interval())
