"""The profiles of a design: every combination of levels, or a fraction of them, in an order that the seed decides."""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.domain.errors import ConfigError
from evenhand.domain.profile import Profile
from evenhand.profiles.audit.design import BASE, Design
from evenhand.profiles.audit.fraction import Cell, fraction
from evenhand.profiles.reading import profiles_from


@dataclass(frozen=True, slots=True, kw_only=True)
class Factorial:
    """The cells that an audit takes, and the base profiles that each of them is shown in."""

    design: Design
    cells: tuple[Cell, ...]
    bases: tuple[Profile, ...] = ()

    @classmethod
    def of(cls, design: Design, folder: str | os.PathLike[str] = ".") -> Factorial:
        """Choose the cells; paths in the design are seen from a folder."""
        sizes = [len(one.levels) for one in design.factors]
        bases = tuple(itertools.islice(_bases(design, folder), design.max_profiles + 1))
        most = design.max_profiles // max(len(bases), 1)
        if not most:
            raise ConfigError(
                f"profiles: {design.profiles} has more than max_profiles, {design.max_profiles:,}; each of them is "
                "shown with every combination of levels that is taken"
            )
        if math.prod(sizes) <= most:
            cells = list(itertools.product(*map(range, sizes)))
        else:
            cells = fraction(sizes, most, design.seed)
        return cls(design=design, cells=tuple(cells), bases=bases)

    def __len__(self) -> int:
        return len(self.cells) * max(len(self.bases), 1)

    @property
    def is_whole(self) -> bool:
        """Whether every combination of levels is there."""
        return len(self.cells) == self.design.cells

    def profiles(self) -> Iterator[Profile]:
        """Give the profiles: ``profile-001`` and so on, with their levels as attributes."""
        pairs: list[tuple[Profile | None, Cell]] = list(itertools.product(self.bases or (None,), self.cells))
        random.Random(self.design.seed).shuffle(pairs)  # noqa: S311 - an order, no secret
        template = self.design.filled
        digits = max(3, len(str(len(pairs))))
        for number, (base, cell) in enumerate(pairs, 1):
            levels = list(_levels(self.design, cell))
            texts = {name: text for name, _, text in levels}
            yield Profile(
                id=f"profile-{number:0{digits}}",
                text=template.render(texts if base is None else {**texts, BASE: base.text}),
                attributes={name: level for name, level, _ in levels},
                cluster=None if base is None else base.id,
            )


def _levels(design: Design, cell: Sequence[int]) -> Iterator[tuple[str, str, str]]:
    for factor, place in zip(design.factors, cell, strict=True):
        level = factor.names[place]
        yield factor.name, level, factor.levels[level]


def _bases(design: Design, folder: str | os.PathLike[str]) -> Iterator[Profile]:
    if design.profiles is not None:
        yield from profiles_from(Path(folder) / design.profiles)
