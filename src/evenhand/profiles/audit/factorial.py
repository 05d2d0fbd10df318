"""The profiles of a design: every combination of levels, or a fraction of them, and what a fraction confounds.

So coded, the weight of one factor is its effect on the average over all others, also beside interactions; in a full
factorial design no two effects then have a part in each other.
"""

from __future__ import annotations

import itertools
import math
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from evenhand.domain.case import Profile
from evenhand.domain.errors import ConfigError
from evenhand.profiles.audit.design import BASE, AuditDesign
from evenhand.profiles.sources import profiles_from

if TYPE_CHECKING:
    from evenhand.stats.regression import Matrix


# Which factors an effect is about, by their places: one for a main effect, two for an interaction.
Term: TypeAlias = tuple[int, ...]


class Coding:
    """A model of cells: ``sizes`` says how many levels each factor has, ``terms`` which effects the model knows."""

    def __init__(self, sizes: Sequence[int], terms: Sequence[Term]) -> None:
        import numpy as np  # noqa: PLC0415 - slow to load, and few commands fit a model

        self._np: Any = np
        self._codes = [np.vstack([np.eye(size - 1), -np.ones((1, size - 1))]) for size in sizes]
        self.places: dict[Term, slice] = {}
        self.width = 1
        for term in terms:
            wide = int(np.prod([sizes[factor] - 1 for factor in term]))
            self.places[term] = slice(self.width, self.width + wide)
            self.width += wide

    def rows(self, cells: Sequence[Sequence[int]]) -> Matrix:
        """Return the model's numbers for each cell, of which the first is 1."""
        np = self._np
        levels = np.asarray(cells, dtype=int).reshape(len(cells), -1)
        made: Matrix = np.ones((len(cells), self.width))
        for term, place in self.places.items():
            block = self._codes[term[0]][levels[:, term[0]]]
            for factor in term[1:]:
                other = self._codes[factor][levels[:, factor]]
                block = (block[:, :, None] * other[:, None, :]).reshape(len(cells), -1)
            made[:, place] = block
        return made

    def contrast(self, term: Term, levels: Sequence[int], against: Sequence[int]) -> Matrix:
        """Return the weights by which an effect is the difference between levels and others; for two factors, twice."""
        np = self._np
        block = np.ones(1)
        for factor, level, other in zip(term, levels, against, strict=True):
            block = np.kron(block, self._codes[factor][level] - self._codes[factor][other])
        made: Matrix = np.zeros(self.width)
        made[self.places[term]] = block
        return made


def crossings(factors: int, among: Sequence[int] | None = None) -> list[Term]:
    """Return all pairs of factors; with ``among``, those that have at least one of these."""
    allowed = range(factors) if among is None else among
    return [
        (first, second)
        for first in range(factors)
        for second in range(first + 1, factors)
        if first in allowed or second in allowed
    ]


# The level of each factor, by its place.
Cell: TypeAlias = tuple[int, ...]

# How long is looked for a better fraction, how much worse it may get on the way, and what a duplicate cell
# costs: found by trying out; nine cells of four factors of three levels come out as the textbook has them.
_STARTS: Final = 5
_TRIES: Final = 20_000
_HEAT: Final = 4.0
_TWICE: Final = 12


def fraction(sizes: Sequence[int], most: int, seed: int) -> list[Cell]:
    """Choose at most so many cells, no two the same; which ones depends on the seed alone."""
    least = 1 + sum(size - 1 for size in sizes)
    if most < least:
        raise ConfigError(
            f"max_profiles allows {most:,} of {math.prod(sizes):,} combinations of levels; separating the factors "
            f"takes at least {least:,}"
        )
    return _regular_fraction(len(sizes), most) if set(sizes) == {2} else _balanced_fraction(sizes, most, seed)


def _regular_fraction(factors: int, most: int) -> list[Cell]:
    """Choose 2^(k-p) cells: some factors vary freely, and each other one follows from a few of these."""
    free = most.bit_length() - 1
    columns = _columns(factors, free)
    return [tuple((cell & column).bit_count() % 2 for column in columns) for cell in range(1 << free)]


def _columns(factors: int, free: int) -> list[int]:
    """Return for each factor, as bits, the free ones it follows from, mixing it with as few effects as possible.

    Two factors whose bits add up to those of a third are mixed with it, and pairs that add up to the same with each
    other; the first is worse.
    """
    chosen: list[int] = []
    pairs, triples = [0] * (1 << free), [0] * (1 << free)
    for number in range(factors):
        if number < free:
            best = 1 << number
        else:
            taken = set(chosen)
            left = (column for column in range(1, 1 << free) if column not in taken)
            best = min(left, key=lambda column: (pairs[column], triples[column], -column.bit_count(), column))
        for first, second in itertools.combinations(chosen, 2):
            triples[first ^ second ^ best] += 1
        for earlier in chosen:
            pairs[earlier ^ best] += 1
        chosen.append(best)
    return chosen


def _balanced_fraction(sizes: Sequence[int], most: int, seed: int) -> list[Cell]:
    """Choose cells in which each level comes equally often, and so does each pair of levels, as nearly as can be."""
    even = math.lcm(*sizes)
    least = 1 + sum(size - 1 for size in sizes)
    count = most - most % even if most - most % even >= least else most
    main = Coding(sizes, [(place,) for place in range(len(sizes))])
    for start in range(_STARTS):
        cells = _Exchange(sizes, count, random.Random(f"{seed}/{start}")).anneal()  # noqa: S311 - a design, no secret
        if _rank(main, cells) == main.width:
            return cells
    raise ConfigError(
        f"found no set of {count:,} of {math.prod(sizes):,} combinations of levels that separates the factors; raise "
        "max_profiles, or change the seed"
    )


def _rank(coding: Coding, cells: Sequence[Cell]) -> int:
    import numpy as np  # noqa: PLC0415 - slow to load, and few commands make a design

    return int(np.linalg.matrix_rank(coding.rows(cells)))


class _Exchange:
    """Columns of levels, each balanced from the beginning; two entries of a column change places where that helps.

    At first a change for the worse may be made too, which later changes make good: a search that only ever improves
    soon comes to where nothing does (annealing).
    """

    def __init__(self, sizes: Sequence[int], count: int, chance: random.Random) -> None:
        self._chance = chance
        self._factors = range(len(sizes))
        columns = [[place % size for place in range(count)] for size in sizes]
        for column in columns:
            chance.shuffle(column)
        self._cells = [list(cell) for cell in zip(*columns, strict=True)]
        # How often a level of one factor meets a level of another.
        self._met = [[[[0] * other for _ in range(size)] for other in sizes] for size in sizes]
        for cell in self._cells:
            for a, b in itertools.product(self._factors, repeat=2):
                self._met[a][b][cell[a]][cell[b]] += 1
        self._seen = Counter(map(tuple, self._cells))

    def anneal(self) -> list[Cell]:
        """Exchange for a while, and return the cells without duplicates."""
        count = len(self._cells)
        for left in range(_TRIES, 0, -1):
            factor = self._chance.randrange(len(self._factors))
            first, second = (self._cells[self._chance.randrange(count)] for _ in range(2))
            if first[factor] != second[factor]:
                worst = -_HEAT * left / _TRIES * math.log(1 - self._chance.random())
                if self._worse(first, second, factor) <= worst:
                    self._swap(first, second, factor)
        return list(dict.fromkeys(map(tuple, self._cells)))

    def _worse(self, first: list[int], second: list[int], factor: int) -> float:
        """Return how much more unevenly levels would meet after a swap, and how many more cells would be duplicates."""
        worse = 0
        a, b = first[factor], second[factor]
        for other in self._factors:
            x, y = first[other], second[other]
            if other != factor and x != y:
                met = self._met[factor][other]
                worse += 2 * (met[a][y] + met[b][x] - met[a][x] - met[b][y]) + 4
        old = (self._seen[tuple(first)] > 1) + (self._seen[tuple(second)] > 1)
        new = sum(self._seen[tuple(cell)] > 0 for cell in _swapped(first, second, factor))
        return worse + _TWICE * (new - old)

    def _swap(self, first: list[int], second: list[int], factor: int) -> None:
        new = _swapped(first, second, factor)
        for cell, after in zip((first, second), new, strict=True):
            self._seen[tuple(cell)] -= 1
            self._seen[tuple(after)] += 1
            for other in self._factors:
                if other != factor:
                    level = cell[other]
                    for now, by in ((cell[factor], -1), (after[factor], 1)):
                        self._met[factor][other][now][level] += by
                        self._met[other][factor][level][now] += by
        first[factor], second[factor] = second[factor], first[factor]


def _swapped(first: list[int], second: list[int], factor: int) -> tuple[list[int], list[int]]:
    new_first, new_second = first.copy(), second.copy()
    new_first[factor], new_second[factor] = second[factor], first[factor]
    return new_first, new_second


# Less of one effect in another than this is not worth a line; and what rounding may make of all of it.
LEAST_MIXED: Final = 0.1
_NOISE: Final = 1e-6
# All pairs of more numbers than this would take too long, and nobody reads them: then those with a group, or none.
_MOST_NUMBERS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """Two effects that have a part in each other: ``mixed`` is 1 where nothing tells them apart."""

    one: tuple[str, ...]
    other: tuple[str, ...]
    mixed: float

    @property
    def is_whole(self) -> bool:
        """Whether nothing tells them apart."""
        return self.mixed > 1 - _NOISE

    @property
    def words(self) -> str:
        """Say it in a sentence.

        >>> Alias(one=("experience",), other=("age", "city"), mixed=1.0).words
        'experience cannot be told apart from age × city'
        """
        effect, other = " × ".join(self.one), " × ".join(self.other)
        if self.is_whole:
            return f"{effect} cannot be told apart from {other}"
        return f"{effect} is partly confounded with {other} (correlation {self.mixed:z.2f})"

    def as_dict(self) -> dict[str, Any]:
        """Return the alias as plain JSON values."""
        return asdict(self) | {"one": list(self.one), "other": list(self.other), "words": self.words}


def aliases(
    names: Sequence[str], sizes: Sequence[int], cells: Sequence[Cell], groups: Sequence[int]
) -> tuple[Alias, ...]:
    """Find what is mixed with main effects, and with interactions of groups; the most mixed come first.

    A full factorial design has no such effects.
    """
    import numpy as np  # noqa: PLC0415 - slow to load, and few commands make a design

    main: list[Term] = [(place,) for place in range(len(names))]
    models = ([*main, *crossings(len(names))], [*main, *crossings(len(names), groups)], main)
    terms = next((model for model in models if Coding(sizes, model).width <= _MOST_NUMBERS), main)
    coding = Coding(sizes, terms)
    numbers = coding.rows(cells)
    # Each effect as directions at right angles, so that the largest stretch from one to another is their correlation.
    whole = [np.linalg.qr(numbers[:, place] - numbers[:, place].mean(axis=0))[0] for place in coding.places.values()]
    owner = np.repeat(np.arange(len(terms)), [directions.shape[1] for directions in whole])
    together = np.concatenate(whole, axis=1)
    shared = together.T @ together
    near = np.unique(owner[np.argwhere(np.abs(shared) > _NOISE)], axis=0)
    aliased = []
    for row, column in near[near[:, 0] < near[:, 1]].tolist():
        first, second = terms[row], terms[column]
        if len(first) > 1 and not any(place in groups for place in (*first, *second)):
            continue
        mixed = float(np.linalg.norm(shared[np.ix_(owner == row, owner == column)], 2))
        effect_names = [tuple(names[place] for place in term) for term in (first, second)]
        if mixed >= LEAST_MIXED:
            aliased.append(Alias(one=effect_names[0], other=effect_names[1], mixed=min(mixed, 1.0)))
    return tuple(sorted(aliased, key=lambda alias: (-round(alias.mixed, 6), len(alias.one), len(alias.other))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Factorial:
    """The cells that an audit takes, and the base profiles that each of them is shown in."""

    design: AuditDesign
    cells: tuple[Cell, ...]
    bases: tuple[Profile, ...] = ()

    @classmethod
    def of(cls, design: AuditDesign, folder: str | os.PathLike[str] = ".") -> Factorial:
        """Choose the cells; paths in the design are seen from a folder."""
        sizes = [len(factor.levels) for factor in design.factors]
        bases = tuple(itertools.islice(_bases(design, folder), design.max_profiles + 1))
        most = design.max_profiles // max(len(bases), 1)
        if not most:
            raise ConfigError(
                f"profiles: {design.profiles} has more than {design.max_profiles:,} profiles, the limit set by "
                "max_profiles; each of them is shown with every combination of levels in the design"
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
        """Yield the profiles: ``profile-001`` and so on, with their levels as attributes."""
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


def _levels(design: AuditDesign, cell: Sequence[int]) -> Iterator[tuple[str, str, str]]:
    for factor, place in zip(design.factors, cell, strict=True):
        level = factor.names[place]
        yield factor.name, level, factor.levels[level]


def _bases(design: AuditDesign, folder: str | os.PathLike[str]) -> Iterator[Profile]:
    if design.profiles is not None:
        yield from profiles_from(Path(folder) / design.profiles)
