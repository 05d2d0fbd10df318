"""Levels as numbers that a model can weigh, so that the sum over a factor's levels is nothing.

So coded, the weight of one factor is its effect on the average over all others, also beside interactions; in a full
factorial design no two effects then have a part in each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

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
        """Give the model's numbers for each cell, of which the first is 1."""
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
        """Give the weights by which an effect is the difference between levels and others; for two factors, twice."""
        np = self._np
        block = np.ones(1)
        for factor, one, other in zip(term, levels, against, strict=True):
            block = np.kron(block, self._codes[factor][one] - self._codes[factor][other])
        made: Matrix = np.zeros(self.width)
        made[self.places[term]] = block
        return made


def crossings(factors: int, among: Sequence[int] | None = None) -> list[Term]:
    """Give all pairs of factors; with ``among``, those that have at least one of these."""
    wanted = range(factors) if among is None else among
    return [(one, two) for one in range(factors) for two in range(one + 1, factors) if one in wanted or two in wanted]
