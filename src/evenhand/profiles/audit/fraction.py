"""A part of all combinations of levels, chosen so that every factor can still be told from every other."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeAlias

from evenhand.domain.errors import ConfigError
from evenhand.profiles.audit.coding import Coding

# The level of each factor, by its place.
Cell: TypeAlias = tuple[int, ...]

# How long is looked for a better fraction, how much worse it may get on the way, and what a cell costs that is there
# twice: found by trying out; nine cells of four factors of three levels come out as the textbook has them.
_STARTS: Final = 5
_TRIES: Final = 20_000
_HEAT: Final = 4.0
_TWICE: Final = 12


def fraction(sizes: Sequence[int], most: int, seed: int) -> list[Cell]:
    """Choose at most so many cells, no two the same; which ones depends on the seed alone."""
    least = 1 + sum(size - 1 for size in sizes)
    if most < least:
        raise ConfigError(
            f"max_profiles leaves room for {most:,} of {math.prod(sizes):,} combinations of levels; to tell the "
            f"factors apart takes {least:,} or more"
        )
    return _regular(len(sizes), most) if set(sizes) == {2} else _exchanged(sizes, most, seed)


def _regular(factors: int, most: int) -> list[Cell]:
    """Choose 2^(k-p) cells: some factors vary freely, and each other one follows from a few of these."""
    free = most.bit_length() - 1
    columns = _columns(factors, free)
    return [tuple((cell & column).bit_count() % 2 for column in columns) for cell in range(1 << free)]


def _columns(factors: int, free: int) -> list[int]:
    """Say for each factor, by bits, from which free ones it follows, mixing it with as few effects as possible.

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
            left = (one for one in range(1, 1 << free) if one not in taken)
            best = min(left, key=lambda one: (pairs[one], triples[one], -one.bit_count(), one))
        for one, two in itertools.combinations(chosen, 2):
            triples[one ^ two ^ best] += 1
        for one in chosen:
            pairs[one ^ best] += 1
        chosen.append(best)
    return chosen


def _exchanged(sizes: Sequence[int], most: int, seed: int) -> list[Cell]:
    """Choose cells in which each level comes equally often, and so does each pair of levels, as nearly as can be."""
    even = math.lcm(*sizes)
    least = 1 + sum(size - 1 for size in sizes)
    count = most - most % even if most - most % even >= least else most
    main = Coding(sizes, [(place,) for place in range(len(sizes))])
    for start in range(_STARTS):
        cells = _Exchange(sizes, count, random.Random(f"{seed}/{start}")).done()  # noqa: S311 - a design, no secret
        if _rank(main, cells) == main.width:
            return cells
    raise ConfigError(
        f"no {count:,} of {math.prod(sizes):,} combinations of levels were found that tell the factors apart; raise "
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

    def done(self) -> list[Cell]:
        """Exchange for a while, and give the cells; what is still there twice is left out."""
        count = len(self._cells)
        for left in range(_TRIES, 0, -1):
            factor = self._chance.randrange(len(self._factors))
            one, two = (self._cells[self._chance.randrange(count)] for _ in range(2))
            if one[factor] != two[factor]:
                worst = -_HEAT * left / _TRIES * math.log(1 - self._chance.random())
                if self._worse(one, two, factor) <= worst:
                    self._swap(one, two, factor)
        return list(dict.fromkeys(map(tuple, self._cells)))

    def _worse(self, one: list[int], two: list[int], factor: int) -> float:
        """Give how much more unevenly levels would meet after a swap, and how many more cells were there twice."""
        worse = 0
        a, b = one[factor], two[factor]
        for other in self._factors:
            x, y = one[other], two[other]
            if other != factor and x != y:
                met = self._met[factor][other]
                worse += 2 * (met[a][y] + met[b][x] - met[a][x] - met[b][y]) + 4
        old = (self._seen[tuple(one)] > 1) + (self._seen[tuple(two)] > 1)
        new = sum(self._seen[tuple(cell)] > 0 for cell in _swapped(one, two, factor))
        return worse + _TWICE * (new - old)

    def _swap(self, one: list[int], two: list[int], factor: int) -> None:
        new = _swapped(one, two, factor)
        for cell, after in zip((one, two), new, strict=True):
            self._seen[tuple(cell)] -= 1
            self._seen[tuple(after)] += 1
            for other in self._factors:
                if other != factor:
                    level = cell[other]
                    for now, by in ((cell[factor], -1), (after[factor], 1)):
                        self._met[factor][other][now][level] += by
                        self._met[other][factor][level][now] += by
        one[factor], two[factor] = two[factor], one[factor]


def _swapped(one: list[int], two: list[int], factor: int) -> tuple[list[int], list[int]]:
    first, second = one.copy(), two.copy()
    first[factor], second[factor] = two[factor], one[factor]
    return first, second
