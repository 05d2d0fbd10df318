"""The same profile with another group's level in it: how often that alone changes the score."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from evenhand.domain.summary import Interval
from evenhand.domain.verdict import reaches
from evenhand.profiles.audit.design import Design
from evenhand.profiles.audit.fraction import Cell
from evenhand.profiles.audit.observed import Observed
from evenhand.stats.regression import NOISE, Fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Pairs of scored profiles that differ in one group's level only.

    ``difference`` is the mean of ``level`` minus ``against``; ``changed`` counts the pairs whose scores differ at all,
    ``flipped`` those of which one is selected and the other is not (None where the design does not say who is).
    ``largest`` is the largest difference, between the two ``profiles`` named.
    """

    factor: str
    level: str
    against: str
    pairs: int
    difference: float
    interval: Interval | None
    changed: int
    flipped: int | None
    largest: float
    profiles: tuple[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Give the swap as plain JSON values."""
        return asdict(self) | {"profiles": list(self.profiles)}


def swaps(design: Design, profiles: Iterable[Observed]) -> tuple[Swap, ...]:
    """Give the swaps of each group: each level for the first one; a fraction may have none."""
    scored = [one for one in profiles if one.score is not None]
    found = []
    for place, factor in enumerate(design.factors):
        if factor.name not in design.groups:
            continue
        same: dict[tuple[str | None, Cell], dict[int, Observed]] = {}
        for one in scored:
            rest = (*one.cell[:place], *one.cell[place + 1 :])
            base = None if design.profiles is None else one.cluster
            same.setdefault((base, rest), {})[one.cell[place]] = one
        for level in range(1, len(factor.levels)):
            pairs = [(mine[level], mine[0]) for mine in same.values() if level in mine and 0 in mine]
            if pairs:
                found.append(_swap(design, factor.name, (factor.names[level], factor.names[0]), pairs))
    return tuple(found)


def _swap(design: Design, factor: str, names: tuple[str, str], pairs: list[tuple[Observed, Observed]]) -> Swap:
    differences = [(one.score or 0.0) - (other.score or 0.0) for one, other in pairs]
    # Without base profiles every pair stands for itself, and is called by its first profile.
    clusters = [one.id if design.profiles is None else one.cluster for one, _ in pairs]
    mean = Fit([[1.0]] * len(pairs), differences, clusters).estimate([1.0])
    at = max(range(len(pairs)), key=lambda place: abs(differences[place]))
    mark = design.select_at
    return Swap(
        factor=factor,
        level=names[0],
        against=names[1],
        pairs=len(pairs),
        difference=sum(differences) / len(pairs),
        interval=None if mean is None else mean.interval,
        changed=sum(abs(one) > NOISE for one in differences),
        flipped=None
        if mark is None
        else sum(reaches(one.score or 0.0, mark) != reaches(other.score or 0.0, mark) for one, other in pairs),
        largest=differences[at],
        profiles=(pairs[at][0].id, pairs[at][1].id),
    )
