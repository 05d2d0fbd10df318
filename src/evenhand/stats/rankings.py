"""Rankings of some out of many, as arrays: a few, or millions of them."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Singles = NDArray[np.float32]
    Numbers = NDArray[np.integer[Any]]

# So many rankings are worked on at a time.
_BLOCK: Final = 1024


class Ranking(NamedTuple):
    """Some of all, by their numbers, the best first.

    ``slots`` says where each was shown, from 0.5 (first) to -0.5 (last); 0 where none was before another. What
    belongs to the same ``unit`` comes from one judgment: both orders of a pair, the halves of a tie. It comes together.
    """

    members: Sequence[int]
    slots: Sequence[float]
    weight: float = 1.0
    unit: int = 0


class Block(NamedTuple):
    """Some rankings as arrays: a column each, filled up with a member that is never chosen.

    Sums run down the columns, which is many times as fast as along short rows.
    """

    members: Numbers
    slots: Singles
    weights: Floats
    units: Numbers

    @classmethod
    def of(cls, rankings: Iterable[Ranking], filler: int) -> Block:
        """Put rankings into arrays, as they come."""
        who, where, sizes, weights, units = array("i"), array("d"), array("i"), array("d"), array("q")
        for ranking in rankings:
            who.extend(ranking.members)
            where.extend(ranking.slots)
            sizes.append(len(ranking.members))
            weights.append(ranking.weight)
            units.append(ranking.unit)
        lengths = np.array(sizes)
        shape = (int(lengths.max(initial=0)), len(lengths))
        members, slots = np.full(shape, filler, dtype=np.int32), np.zeros(shape, dtype=np.float32)
        begins = np.cumsum(lengths) - lengths
        for row in range(shape[0]):
            there = lengths > row
            members[row, there] = np.asarray(who)[begins[there] + row]
            slots[row, there] = np.asarray(where)[begins[there] + row]
        return cls(members, slots, np.array(weights), np.array(units))

    @classmethod
    def joined(cls, blocks: Sequence[Block], *, filler: int) -> Block:
        """Return the rankings of some blocks in one."""
        if len(blocks) == 1:
            return blocks[0]
        shape = max(len(block.members) for block in blocks), sum(len(block.weights) for block in blocks)
        members, slots = np.full(shape, filler, dtype=np.int32), np.zeros(shape, dtype=np.float32)
        end = 0
        for block in blocks:
            begin, end = end, end + len(block.weights)
            members[: len(block.members), begin:end] = block.members
            slots[: len(block.slots), begin:end] = block.slots
        weights = np.concatenate([block.weights for block in blocks])
        return cls(members, slots, weights, np.concatenate([block.units for block in blocks]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rankings:
    """Rankings of some out of ``count``, from so many ``judgments``.

    They come in blocks: there may be millions, and what is worked out on the way to a fit takes ten times their room.
    """

    count: int
    judgments: int = 0
    blocks: tuple[Block, ...] = ()

    @classmethod
    def of(cls, rankings: Iterable[Ranking], count: int) -> Rankings:
        """Put rankings into arrays, as they come."""
        units = itertools.groupby(rankings, key=attrgetter("unit"))
        numbered = (ranking._replace(unit=number) for number, (_, alike) in enumerate(units) for ranking in alike)
        blocks = []
        while len((block := Block.of(itertools.islice(numbered, _BLOCK), count)).weights):
            blocks.append(block)
        judgments = int(blocks[-1].units[-1]) + 1 if blocks else 0
        return cls(count=count, judgments=judgments, blocks=tuple(blocks))

    def and_those(self, later: Rankings) -> Rankings:
        """Return these rankings and later ones, which come from other judgments."""
        blocks = (block._replace(units=block.units + self.judgments) for block in later.blocks)
        return replace(self, judgments=self.judgments + later.judgments, blocks=(*self.blocks, *blocks))

    def in_few_blocks(self) -> Rankings:
        """Return the rankings with small blocks put together, for each takes time of its own."""
        small: list[list[Block]] = []
        room = 0
        for block in self.blocks:
            if (room := room - len(block.weights)) >= 0:
                small[-1].append(block)
            else:
                small.append([block])
                room = _BLOCK - len(block.weights)
        return replace(self, blocks=tuple(Block.joined(blocks, filler=self.count) for blocks in small))

    def among(self, numbers: Numbers) -> Rankings:
        """Return the rankings of some with the members numbered by their place among ``numbers``, which are in order.

        Of a ranking, either all members are among them or none.
        """
        padded = np.append(numbers, self.count)
        blocks = []
        for block in self.blocks:
            places = np.searchsorted(padded, block.members).astype(np.int32)
            kept = padded[places[0]] == block.members[0]
            if (places == block.members).all():
                blocks.append(block)  # which takes no room
            elif kept.all():
                blocks.append(block._replace(members=places))
            elif kept.any():
                blocks.append(Block(places[:, kept], block.slots[:, kept], block.weights[kept], block.units[kept]))
        return replace(self, count=len(numbers), blocks=tuple(blocks))

    def judgments_of(self, count: int) -> Numbers:
        """Return the judgment in which each of the first ``count`` was ranked, the last if in several; -1 for none."""
        found = np.full(count, -1, dtype=np.int32)
        for block in self.blocks:
            there = block.members < count
            found[block.members[there]] = np.broadcast_to(block.units, block.members.shape)[there]
        return found

    def sets(self) -> Numbers:
        """Return a number for each member, the same for all that were compared, if only by way of others."""
        labels = np.arange(self.count + 1)
        while True:
            before = labels.copy()
            for block in self.blocks:
                least = np.broadcast_to(labels[block.members].min(axis=0), block.members.shape)
                np.minimum.at(labels, block.members, least)
                labels[-1] = self.count  # the filler is compared with nobody
            labels = labels[labels]
            if (labels == before).all():
                return labels[:-1]

    def weighted(self, weight: float) -> Rankings:
        """Return the rankings, each counting for so much of what it did."""
        blocks = (block._replace(weights=block.weights * weight) for block in self.blocks)
        return replace(self, blocks=tuple(blocks))

    def without_slots(self) -> Rankings:
        """Return the rankings as if nobody had been shown before another."""
        nowhere = np.zeros(1, dtype=np.float32)
        blocks = (block._replace(slots=np.broadcast_to(nowhere, block.slots.shape)) for block in self.blocks)
        return replace(self, blocks=tuple(blocks))

    @property
    def has_slots(self) -> bool:
        """Whether some members were shown before others."""
        return any(block.slots.any() for block in self.blocks)
