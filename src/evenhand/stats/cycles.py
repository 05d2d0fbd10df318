"""Cycles among preferences: A is preferred to B, B to C, and C to A."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TypeAlias

# For each item, those that it is preferred to more often than the other way round.
Preferred: TypeAlias = Mapping[int, Iterable[int]]


def cycles(preferred: Preferred) -> list[list[int]]:
    """Return a shortest cycle for each set of items that are all preferred to themselves in the end; largest set first.

    >>> cycles({0: [1], 1: [2], 2: [0, 3], 3: []})
    [[0, 1, 2]]
    """
    cyclic = [component for component in components(preferred) if len(component) > 1]
    cyclic.sort(key=lambda component: (-len(component), min(component)))
    return [_shortest_cycle(preferred, set(component)) for component in cyclic]


def components(preferred: Preferred) -> list[list[int]]:
    """Return the sets in which each is preferred to each, by way of others (Tarjan, without recursion)."""
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    stacked: set[int] = set()
    sets: list[list[int]] = []
    for root in preferred:
        if root in number:
            continue
        path = [(root, iter(preferred[root]))]
        while path:
            node, rest = path[-1]
            if node not in number:
                number[node] = lowest[node] = len(number)
                stack.append(node)
                stacked.add(node)
            for neighbour in rest:
                if neighbour not in number:
                    path.append((neighbour, iter(preferred.get(neighbour, ()))))
                    break
                if neighbour in stacked:
                    lowest[node] = min(lowest[node], number[neighbour])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    sets.append(_pop_component(stack, stacked, until=node))
    return sets


def _pop_component(stack: list[int], stacked: set[int], *, until: int) -> list[int]:
    taken: list[int] = []
    while not taken or taken[-1] != until:
        taken.append(stack.pop())
        stacked.discard(taken[-1])
    return taken


def _shortest_cycle(preferred: Preferred, among: set[int]) -> list[int]:
    """Return a shortest way from the first back to itself."""
    start = min(among)
    before: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for neighbour in preferred.get(node, ()):
            if neighbour == start:
                way = [node]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if neighbour in among and neighbour not in before:
                before[neighbour] = node
                waiting.append(neighbour)
    raise ValueError(f"no path leads from {start} back to it")
