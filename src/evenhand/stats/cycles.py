"""Cycles among preferences: A is preferred to B, B to C, and C to A."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TypeAlias

# To whom each is preferred, more often than the other way round.
Preferred: TypeAlias = Mapping[int, Iterable[int]]


def cycles(preferred: Preferred) -> list[list[int]]:
    """Return a shortest cycle for each set of items that are all preferred to themselves in the end; largest set first.

    >>> cycles({0: [1], 1: [2], 2: [0, 3], 3: []})
    [[0, 1, 2]]
    """
    found = [one for one in components(preferred) if len(one) > 1]
    found.sort(key=lambda one: (-len(one), min(one)))
    return [_shortest(preferred, set(one)) for one in found]


def components(preferred: Preferred) -> list[list[int]]:
    """Return the sets in which everybody is preferred to everybody, by way of others (Tarjan, without recursion)."""
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    stacked: set[int] = set()
    found: list[list[int]] = []
    for root in preferred:
        if root in number:
            continue
        path = [(root, iter(preferred[root]))]
        while path:
            one, rest = path[-1]
            if one not in number:
                number[one] = lowest[one] = len(number)
                stack.append(one)
                stacked.add(one)
            for other in rest:
                if other not in number:
                    path.append((other, iter(preferred.get(other, ()))))
                    break
                if other in stacked:
                    lowest[one] = min(lowest[one], number[other])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[one])
                if lowest[one] == number[one]:
                    found.append(_popped(stack, stacked, until=one))
    return found


def _popped(stack: list[int], stacked: set[int], *, until: int) -> list[int]:
    taken: list[int] = []
    while not taken or taken[-1] != until:
        taken.append(stack.pop())
        stacked.discard(taken[-1])
    return taken


def _shortest(preferred: Preferred, among: set[int]) -> list[int]:
    """Return a shortest way from the first back to itself."""
    start = min(among)
    before: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        one = waiting.popleft()
        for other in preferred.get(one, ()):
            if other == start:
                way = [one]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if other in among and other not in before:
                before[other] = one
                waiting.append(other)
    raise ValueError(f"no path leads from {start} back to it")
