"""Groups for a judge that has not contradicted itself: they keep pairs together whose order is still open.

What such a judge said of some says something of others: if a is better than b, and b better than c, a is better than c.
Once no pair is open, the order is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from evenhand.profiles.ranking.borders import LEAST_MEMBERS, divide

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.stats.rankings import Floats, Numbers, Rankings, Singles

    Pairs = NDArray[np.bool_]

# With more profiles, the usual number of rounds leaves much of the order open anyway.
MOST_PROFILES: Final = 400


def open_pairs(rankings: Rankings) -> Pairs | None:
    """Return for each pair whether its order is open; None where a judge contradicts itself."""
    better: Singles = np.zeros((rankings.count + 1, rankings.count + 1), dtype=np.float32)
    for block in rankings.blocks:
        better[block.members[:-1], block.members[1:]] = 1
    better = better[:-1, :-1]  # without the member that fills up short rankings
    while True:  # each time by way of twice as many others
        more = ((better + better @ better) > 0).astype(np.float32)
        if np.array_equal(more, better):
            break
        better = more
    if better.diagonal().any():
        return None
    pairs: Pairs = (better + better.T) == 0
    np.fill_diagonal(pairs, val=False)
    return pairs


def kept_together(pairs: Pairs, *, groups: int, most: int) -> list[Numbers]:
    """Divide profiles that are in order, the best first, into so many groups that separate few open ``pairs``.

    The borders that separate least come first; then profiles move or swap between groups for as long as that helps.
    """
    if groups < 2:
        return [np.arange(len(pairs))] * groups
    apart = pairs.astype(np.float64)
    ends = divide(_separated(apart), groups=groups, most=most)
    group = np.repeat(np.arange(groups), np.diff(ends))
    while _improved(apart, group, groups, most):
        pass
    return [np.flatnonzero(group == number) for number in range(groups)]


def _separated(pairs: Floats) -> Floats:
    """Return how many pairs a border before each place separates."""
    firsts = np.triu(pairs)
    changes = np.zeros(len(pairs) + 1)
    changes[1:] = firsts.sum(axis=1) - firsts.sum(axis=0)
    return np.cumsum(changes)


def _improved(pairs: Floats, group: Numbers, groups: int, most: int) -> bool:
    """Make the move to another group, or the swap, that brings most pairs together; False if there is none."""
    everybody = np.arange(len(group))
    inside = np.zeros((len(group), groups))
    inside[everybody, group] = 1
    sizes = inside.sum(axis=0)
    met = pairs @ inside
    gains = met - met[everybody, group][:, None]
    swaps = gains[:, group]
    swaps = swaps + swaps.T - 2 * pairs
    moves = np.where((sizes < most) & (sizes[group] > LEAST_MEMBERS)[:, None], gains, 0.0)
    one, other = np.unravel_index(swaps.argmax(), swaps.shape)
    mover, to = np.unravel_index(moves.argmax(), moves.shape)
    if max(swaps[one, other], moves[mover, to]) <= 0:
        return False
    if moves[mover, to] >= swaps[one, other]:
        group[mover] = to
    else:
        group[one], group[other] = group[other], group[one]
    return True
