"""Whether two numbers of the same cases go together: by value, by rank, and for passes and fails."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from evenhand.domain.verdict import FLOAT_NOISE
from evenhand.stats.refusal import Refused


def pearson(first: Sequence[float], second: Sequence[float]) -> float | Refused:
    """Return the correlation of two numbers of each case.

    >>> round(pearson([1, 2, 3, 4], [1, 3, 2, 4]), 6)
    0.8
    """
    n = _cases(first, second)
    if n < 2:
        return Refused(f"a correlation takes at least 2 cases; there {'is 1' if n == 1 else 'are none'}")
    mean, other = math.fsum(first) / n, math.fsum(second) / n
    squares = math.fsum((x - mean) ** 2 for x in first)
    others = math.fsum((y - other) ** 2 for y in second)
    if min(squares, others) <= n * FLOAT_NOISE**2:
        return Refused("all numbers of one side are equal: nothing can go with them")
    return math.fsum((x - mean) * (y - other) for x, y in zip(first, second, strict=True)) / math.sqrt(squares * others)


def spearman(first: Sequence[float], second: Sequence[float]) -> float | Refused:
    """Return the correlation of ranks, where equal numbers share the mean of theirs.

    >>> round(spearman([1, 2, 3, 40], [1, 3, 2, 9]), 6)
    0.8
    """
    _cases(first, second)
    return pearson(_ranks(first), _ranks(second))


def kendall_tau_b(first: Sequence[float], second: Sequence[float]) -> float | Refused:
    """Return by how much more pairs of cases are in the same order than in the opposite one, ties allowed for.

    >>> round(kendall_tau_b([1, 2, 3, 4], [1, 3, 2, 4]), 6)
    0.666667
    """
    n = _cases(first, second)
    pairs = n * (n - 1) // 2
    tied = _pairs_within(Counter(first).values())
    tied_other = _pairs_within(Counter(second).values())
    if pairs in (tied, tied_other):
        return Refused("all numbers of one side are equal, or there is one case: no pair has an order")
    both = _pairs_within(Counter(zip(first, second, strict=True)).values())
    ordered = [other for _, other in sorted(zip(first, second, strict=True))]
    opposite = _swaps(ordered)
    same = pairs - tied - tied_other + both - opposite
    return (same - opposite) / math.sqrt((pairs - tied) * (pairs - tied_other))


def auc(scores: Sequence[float], passes: Sequence[bool]) -> float | Refused:
    """Return the chance that a case that people passed has a higher score than one that they failed; ties are half.

    >>> auc([0.9, 0.8, 0.8, 0.3], [True, True, False, False])
    0.875
    """
    n = _cases(scores, passes)
    passed = sum(map(bool, passes))
    if passed in (0, n):
        return Refused("people passed all cases, or none: no pair of cases tells scores apart")
    ranks = math.fsum(rank for rank, is_pass in zip(_ranks(scores), passes, strict=True) if is_pass)
    return (ranks - passed * (passed + 1) / 2) / (passed * (n - passed))


def _cases(first: Sequence[object], second: Sequence[object]) -> int:
    if len(first) != len(second):
        raise ValueError(f"each case has two numbers; got {len(first)} and {len(second)}")
    return len(first)


def _ranks(numbers: Sequence[float]) -> list[float]:
    ranks = [0.0] * len(numbers)
    before = 0
    for _, group in groupby(sorted(range(len(numbers)), key=numbers.__getitem__), key=numbers.__getitem__):
        places = list(group)
        for place in places:
            ranks[place] = before + (len(places) + 1) / 2
        before += len(places)
    return ranks


def _pairs_within(counts: Iterable[int]) -> int:
    return sum(count * (count - 1) // 2 for count in counts)


def _swaps(numbers: list[float]) -> int:
    """Return how many pairs are in falling order, by merging halves."""
    if len(numbers) < 2:
        return 0
    middle = len(numbers) // 2
    left, right = numbers[:middle], numbers[middle:]
    swaps = _swaps(left) + _swaps(right)
    left.sort()
    right.sort()
    smaller = 0
    for number in left:
        while smaller < len(right) and right[smaller] < number:
            smaller += 1
        swaps += smaller
    return swaps
