"""How much of one JSON value another has, and where they differ."""

from __future__ import annotations

import json
import math
from collections import defaultdict, deque
from collections.abc import Collection, Iterable
from typing import Any, Final, Literal, TypeAlias

from evenhand.evaluators.showing import path_text, shown

ListMode: TypeAlias = Literal["ordered", "unordered", "subset", "superset"]
Path: TypeAlias = tuple[str | int, ...]

# Pairs of values that are tried to find out which items of two lists are alike: well under a second.
MOST_PAIRS: Final = 100_000


class Comparison:
    """One comparison of an answer with what was expected; ``misses`` has a line for every difference that counts."""

    def __init__(self, *, list_mode: ListMode, ignore: Collection[str], extra_keys: bool) -> None:
        self._list_mode = list_mode
        self._ignore = ignore
        self._extra_keys = extra_keys
        self._pairs_left = MOST_PAIRS
        # How alike two values are, by their identities, so that nested lists are not tried again at every level.
        self._known: dict[tuple[int, int], float] = {}
        self._trying = 0
        self.misses: list[str] = []

    def score(self, expected: object, answer: object, path: Path = ()) -> float:
        """Give how much of what was expected is there: all of it is 1."""
        if isinstance(expected, dict) and isinstance(answer, dict):
            return _mean(self.keys(expected, answer, path).values())
        if isinstance(expected, list) and isinstance(answer, list):
            if self._list_mode == "ordered":
                return self._in_order(expected, answer, path)
            return self._in_any_order(expected, answer, path)
        if _same(expected, answer):
            return 1.0
        self._miss(path, "expected {}, found {}", expected, answer)
        return 0.0

    def keys(self, expected: dict[str, Any], answer: dict[str, Any], path: Path = ()) -> dict[str, float]:
        """Score each key that counts."""
        scores: dict[str, float] = {}
        for key, wanted in expected.items():
            if key in self._ignore:
                continue
            if key in answer:
                scores[key] = self.score(wanted, answer[key], (*path, key))
            else:
                scores[key] = 0.0
                self._miss((*path, key), "expected {}, found nothing", wanted)
        if not self._extra_keys:
            for key in [key for key in answer if key not in expected and key not in self._ignore]:
                scores[key] = 0.0
                self._miss((*path, key), "expected nothing, found {}", answer[key])
        return scores

    def _in_order(self, expected: list[Any], answer: list[Any], path: Path) -> float:
        both = min(len(expected), len(answer))
        scores = [self.score(expected[place], answer[place], (*path, place)) for place in range(both)]
        self._miss_items(expected, range(both, len(expected)), path, "expected {}, found nothing")
        self._miss_items(answer, range(both, len(answer)), path, "expected nothing, found {}")
        return _mean([*scores, *[0.0] * (max(len(expected), len(answer)) - both)])

    def _in_any_order(self, expected: list[Any], answer: list[Any], path: Path) -> float:
        partners = self._partners(expected, answer)
        scores = [self.score(expected[one], answer[other], (*path, one)) for one, other in sorted(partners.items())]
        lacking = [place for place in range(len(expected)) if place not in partners]
        extra = sorted(set(range(len(answer))) - set(partners.values()))
        if self._list_mode == "subset":
            lacking = []
        if self._list_mode == "superset":
            extra = []
        self._miss_items(expected, lacking, path, "expected {}, found nothing")
        self._miss_items(answer, extra, path, "expected nothing, found {}")
        return _mean([*scores, *[0.0] * max(len(lacking), len(extra))])

    def _partners(self, expected: list[Any], answer: list[Any]) -> dict[int, int]:
        """Settle which items belong together: equal ones, then, pair by pair, those that are most alike."""
        places: defaultdict[str, deque[int]] = defaultdict(deque)
        for place, item in enumerate(answer):
            places[self._canonical(item)].append(place)
        partners: dict[int, int] = {}
        for place, item in enumerate(expected):
            if equal := places[self._canonical(item)]:
                partners[place] = equal.popleft()
        ours = [place for place in range(len(expected)) if place not in partners]
        theirs = sorted(place for rest in places.values() for place in rest)
        if not self._trying:  # what is tried within was paid for with the sizes of both lists
            pairs = _size([expected[place] for place in ours]) * _size([answer[place] for place in theirs])
            if pairs > self._pairs_left:  # in lists as large as these, the others are taken in order
                return partners | dict(zip(ours, theirs, strict=False))
            self._pairs_left -= pairs
        alike = sorted((-self._likeness(expected[one], answer[other]), one, other) for one in ours for other in theirs)
        taken: set[int] = set()
        for unlikeness, one, other in alike:
            if unlikeness < 0 and one not in partners and other not in taken:
                partners[one] = other
                taken.add(other)
        return partners

    def _likeness(self, expected: object, answer: object) -> float:
        both = (id(expected), id(answer))
        if both not in self._known:
            self._trying += 1
            self._known[both] = self.score(expected, answer)
            self._trying -= 1
        return self._known[both]

    def _canonical(self, value: object) -> str:
        return json.dumps(self._plain(value), sort_keys=True)

    def _plain(self, value: object) -> object:
        if isinstance(value, dict):
            return {key: self._plain(one) for key, one in value.items() if key not in self._ignore}
        if isinstance(value, list):
            return [self._plain(one) for one in value]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def _miss_items(self, items: list[Any], places: Iterable[int], path: Path, told: str) -> None:
        for place in places:
            self._miss((*path, place), told, items[place])

    def _miss(self, path: Path, told: str, *values: object) -> None:
        if not self._trying:
            self.misses.append(f"{path_text(path)}: {told.format(*map(shown, values))}")


def _same(one: object, other: object) -> bool:
    # Python takes true for 1; JSON does not.
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _mean(scores: Collection[float]) -> float:
    """Give the mean; where nothing counts, nothing is wrong."""
    return math.fsum(scores) / len(scores) if scores else 1.0


def _size(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1
