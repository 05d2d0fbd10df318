"""The split of labelled cases: a part that is held out, and folds; what belongs together stays together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple


class Placed(NamedTuple):
    """A case to place: cases of one ``group`` go to the same part, and each part gets its share of passes and fails."""

    group: str
    passes: bool


def split(cases: Sequence[Placed], *, held_out: float, folds: int, seed: int) -> list[int | None]:
    """Return the fold of each case, None where it is held out; the same cases and seed give the same split.

    >>> cases = [Placed(str(number), number % 2 == 0) for number in range(20)]
    >>> parts = split(cases, held_out=0.4, folds=3, seed=1)
    >>> [parts.count(part) for part in (None, 0, 1, 2)]
    [8, 4, 4, 4]
    """
    members: dict[str, list[int]] = {}
    for place, case in enumerate(cases):
        members.setdefault(case.group, []).append(place)
    totals = _counts(cases, range(len(cases)))
    shares = [held_out, *[(1 - held_out) / folds] * folds]
    parts = [(0, 0) for _ in shares]
    found: list[int | None] = [None] * len(cases)
    for group in sorted(members, key=lambda name: (-len(members[name]), _chance(seed, name))):
        own = _counts(cases, members[group])
        # The part that would be filled least, by the labels that the group brings.
        best = min(range(len(shares)), key=lambda part: (_filled(parts[part], own, totals, shares[part]), part))
        parts[best] = (parts[best][0] + own[0], parts[best][1] + own[1])
        for place in members[group]:
            found[place] = None if best == 0 else best - 1
    return found


def _counts(cases: Sequence[Placed], places: Sequence[int]) -> tuple[int, int]:
    passes = sum(cases[place].passes for place in places)
    return passes, len(places) - passes


def _filled(have: tuple[int, int], own: tuple[int, int], totals: tuple[int, int], share: float) -> float:
    return sum(
        count * (had + count) / (share * total)
        for had, count, total in zip(have, own, totals, strict=True)
        if count and share > 0
    )


def _chance(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode("utf-8", "surrogatepass")).digest()
