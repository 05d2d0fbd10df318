"""Pairs that a judge compared in both orders: how much its second reply only repeats the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.stats.pair_posterior import points_around

if TYPE_CHECKING:
    from evenhand.stats.rankings import Floats, Numbers, Rankings


class BothOrders(NamedTuple):
    """The ``units`` that were compared in both orders: the member with the lower number, the other, what the lower won.

    ``won`` is a share for each order: where the lower was shown second, and where it was shown first.
    """

    units: Numbers
    lower: Numbers
    higher: Numbers
    won: Floats

    @classmethod
    def of(cls, rankings: Rankings) -> BothOrders:
        """Find them among comparisons of pairs."""
        members = np.zeros((2, rankings.judgments), dtype=np.int64)
        won, weights = np.zeros((2, rankings.judgments, 2))
        for block in rankings.blocks:
            is_lower = block.members[0] < block.members[1]
            is_first = np.where(is_lower, block.slots[0], block.slots[1]) > 0
            order = (block.units, np.where(is_first, 1, 0))
            members[:, block.units] = np.sort(block.members, axis=0)
            np.add.at(won, order, block.weights * is_lower)
            np.add.at(weights, order, block.weights)
        units = np.flatnonzero((weights > 0).all(axis=1))
        return cls(units, members[0, units], members[1, units], won[units] / weights[units])

    def correlation(self, means: Floats, deviations: Floats, position: float) -> float:
        """Return the correlation of what is unexplained in both orders, from 0 to 1.

        ``means`` and ``deviations`` describe by how much the lower is better. Two replies agree in part because they
        share a gap that is uncertain; that part is subtracted.
        """
        if not len(self.units):
            return 0.0
        gaps, shares = points_around(means, deviations)
        second, first = (1 / (1 + np.exp(-np.clip(gaps + slot * position, -500, 500))) for slot in (-1, 1))
        chances = [(shares * chance).sum(axis=0) for chance in (second, first)]
        explained = (shares * (second - chances[0]) * (first - chances[1])).sum(axis=0)
        rests = (self.won[:, 0] - chances[0]) * (self.won[:, 1] - chances[1]) - explained
        scale = float((shares * np.sqrt(second * (1 - second) * first * (1 - first))).sum())
        return min(max(float(rests.sum()) / scale, 0.0), 1.0) if scale else 0.0
