"""Who is ranked with whom: the rounds of a ranking, and the groups of each (SPEC-K2).

``random`` forms new groups by chance in every round. ``swiss`` puts those together that are about equally strong so
far, where a comparison says most. ``staged`` begins by chance with everybody and then goes on with ever fewer of the
best, which is the bargain when only the top matters.
"""

from __future__ import annotations

import itertools
import math
import random
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeGuard, get_args

from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.evaluators.group_ranking import MOST_MEMBERS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evenhand.stats.rankings import Floats, Numbers

DesignName: TypeAlias = Literal["swiss", "random", "staged"]
DESIGNS: Final = get_args(DesignName)
DEFAULT_DESIGN: Final = "swiss"
DEFAULT_GROUP_SIZE: Final = 10
DEFAULT_ROUNDS: Final[Mapping[str, int]] = {"swiss": 5, "random": 5, "staged": 3}
# By then, intervals are as narrow as the judge's own inconsistency allows, and everybody has met everybody often.
MOST_ROUNDS: Final = 1_000

# A stage of so many groups is the last, and each before it is twice as large, up to this share of all.
_LAST_STAGE_GROUPS: Final = 4
_FIRST_STAGE_SHARE: Final = 0.4
_ROUNDS_A_STAGE: Final = 2
_PAIR: Final = 2
_DIGITS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SoFar:
    """What is known of each profile before a round, by its number.

    ``strengths`` are those found so far. ``shown`` is the slot in which it was shown last, from 0.5 (first) to -0.5
    (last). ``ranked`` counts its groups, and ``met`` those it shared in pairs with another; ``together`` has the group
    in which it was ranked in each round, -1 for none. ``open`` tells of each pair whether its order is open; None where
    the judge contradicts itself. Those that are ``out`` take no further part.
    """

    strengths: Sequence[float]
    shown: Sequence[float]
    ranked: Sequence[int]
    met: Mapping[int, Mapping[int, int]]
    together: Sequence[Numbers] = ()
    open: NDArray[np.bool_] | None = None
    out: Collection[int] = ()

    @classmethod
    def nothing(cls, count: int) -> SoFar:
        """Return what is known before the first round."""
        none = array("d", bytes(8 * count))
        return cls(strengths=none, shown=none, ranked=array("i", bytes(4 * count)), met={})


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingDesign:
    """How profiles are ranked: in groups of what size, for how many rounds, who with whom.

    ``rounds`` are those in which everybody takes part. ``top`` is how many of the best matter, if not all: the last
    stage of a ``staged`` design is never smaller than twice that.
    """

    name: str = DEFAULT_DESIGN
    group_size: int = DEFAULT_GROUP_SIZE
    rounds: int | None = None
    top: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        if self.name not in DESIGNS:
            raise ConfigError(f"design is {self.name!r:.80}{did_you_mean(str(self.name), DESIGNS)}")
        if not _is_whole(self.group_size) or not _PAIR <= self.group_size <= MOST_MEMBERS:
            raise ConfigError(
                f"group_size is {self.group_size!r:.80}; it must be a whole number from {_PAIR} to {MOST_MEMBERS}"
            )
        if self.rounds is None:
            object.__setattr__(self, "rounds", DEFAULT_ROUNDS[self.name])
        if _is_whole(self.rounds) and self.rounds > MOST_ROUNDS:
            most = f"it must be {MOST_ROUNDS:,} or less: after so many, further ones change nothing"
            raise ConfigError(f"rounds is {self.rounds:,}; {most}")
        for name, value in (("rounds", self.rounds), ("top", self.top)):
            if value is not None and not (_is_whole(value) and value >= 1):
                raise ConfigError(f"{name} is {value!r:.80}; it must be a whole number, 1 or more")
        if not _is_whole(self.seed) or self.seed < 0:
            raise ConfigError(f"seed is {self.seed!r:.80}; it must be a whole number, 0 or more")

    @property
    def in_pairs(self) -> bool:
        """Whether two at a time are compared, in both orders."""
        return self.group_size == _PAIR

    @property
    def may_add_group(self) -> bool:
        """Whether one more group may follow the last round."""
        return self.name == "swiss" and not self.in_pairs

    def is_by_lot(self, number: int) -> bool:
        """Return whether the groups of a round, the first being number 0, are formed by lot.

        Before the first, nothing says who is strong. In one more, what the judge said before can be tested: in the
        second, since later ones settle the exact order; of pairs, which are too few for that, in the last.
        """
        other = (self.rounds or 0) - 1 if self.in_pairs else 1
        return self.name != "swiss" or number in (0, other)

    def goes_by_strength(self, number: int, count: int) -> bool:
        """Return whether a round depends on how strong each profile is so far."""
        taking_part = self.taking_part(count)
        return number < len(taking_part) and (not self.is_by_lot(number) or taking_part[number] < count)

    def taking_part(self, count: int) -> list[int]:
        """Return how many of ``count`` profiles take part in each round.

        >>> RankingDesign(name="staged", group_size=20).taking_part(1000)
        [1000, 1000, 1000, 320, 320, 160, 160, 80, 80]
        """
        rounds = [count] * (self.rounds or 0)
        if self.name != "staged":
            return rounds
        stages = []
        size = max(_LAST_STAGE_GROUPS * self.group_size, 2 * (self.top or 0))
        while size < _FIRST_STAGE_SHARE * count:
            stages.append(size)
            size *= 2
        return rounds + [size for size in reversed(stages) for _ in range(_ROUNDS_A_STAGE)]

    def group_counts(self, count: int) -> list[int]:
        """Return how many groups each round has."""
        return [self._group_count(number, size) for number, size in enumerate(self.taking_part(count))]

    def groups(self, number: int, so_far: SoFar) -> list[array[int]]:
        """Form the groups of a round, the first being number 0: profiles by their numbers, as they are to be shown.

        After the last round there may be one group more, if that makes the order of a consistent judge exact.
        """
        import numpy as np  # noqa: PLC0415 - in lists of objects, a hundred thousand would take much room

        count = len(so_far.strengths)
        chance = random.Random(f"{self.seed}:{number}")  # noqa: S311 - it has to come out alike each time
        lots = array("d", (chance.random() for _ in range(count)))
        if number == len(self.taking_part(count)):
            return [array("i", _shown_order(group, so_far, lots)) for group in self._last_group(so_far)]
        everybody = np.argsort(lots, kind="stable")
        if so_far.out:
            everybody = everybody[~np.isin(everybody, list(so_far.out))]
        # Rounded, so that those who are equal but for the last digits stay as the lots fell, on every machine.
        strengths: Floats = np.asarray(so_far.strengths, dtype=np.float64).round(_DIGITS)
        best = everybody[np.argsort(-strengths[everybody], kind="stable")]
        chosen = best[: self.taking_part(count)[number]]
        if self.is_by_lot(number):
            chosen = chosen[np.argsort(np.asarray(lots)[chosen], kind="stable")]
        if self.in_pairs:
            groups: Iterable[list[int]] = _pairs(chosen.tolist(), so_far, nobody_rests=number == 0)
        else:
            if self.is_by_lot(number) and so_far.together:
                chosen = chosen[_dealt(so_far.together[-1][chosen])]
            groups = self._divided(number, chosen, strengths, so_far)
        return [array("i", _shown_order(group, so_far, lots)) for group in groups]

    def _last_group(self, so_far: SoFar) -> list[list[int]]:
        """Return, after the last Swiss round, a group of all whose place is still open, if one is all it takes."""
        if so_far.open is None or not self.may_add_group:
            return []
        members = [member for member, pairs in enumerate(so_far.open) if pairs.any() and member not in so_far.out]
        return [members] if _PAIR <= len(members) <= self.group_size else []

    def _divided(self, number: int, chosen: Numbers, strengths: Floats, so_far: SoFar) -> Iterable[list[int]]:
        """Divide those who take part in a round into groups: of even sizes, or as a Swiss round separates least."""
        taking_part = len(chosen)
        count = self._group_count(number, taking_part)
        if self.is_by_lot(number):
            sizes = (len(range(start, taking_part, count)) for start in range(count))
            ends = list(itertools.accumulate(sizes, initial=0))
        elif so_far.open is not None:
            from evenhand.profiles.ranking.open_pairs import kept_together  # noqa: PLC0415 - it imports numpy

            pairs = so_far.open[chosen][:, chosen]
            return [chosen[group].tolist() for group in kept_together(pairs, groups=count, most=self.group_size)]
        else:
            from evenhand.profiles.ranking.borders import borders  # noqa: PLC0415 - it imports numpy

            together = [of_round[chosen] for of_round in so_far.together]
            ends = borders(strengths[chosen], together, groups=count, most=self.group_size)
        return (chosen[begin:end].tolist() for begin, end in itertools.pairwise(ends))

    def _group_count(self, number: int, count: int) -> int:
        """Return how many groups a round has: as few as can be, but the last Swiss round and every other have one more.

        Only then borders can be chosen; without, neighbours in strength might be parted for ever.
        """
        if self.in_pairs:
            return math.ceil(count / _PAIR) if number == 0 else count // _PAIR
        groups = math.ceil(count / self.group_size) if count >= _PAIR else 0
        if self.is_by_lot(number) or groups < _PAIR or ((self.rounds or 0) - number) % 2 == 0:
            return groups
        return 1 + math.ceil((count - math.ceil(self.group_size / 2)) / self.group_size)

    def as_dict(self) -> dict[str, Any]:
        """Return the design as plain JSON values."""
        return {
            "design": self.name,
            "group_size": self.group_size,
            "rounds": self.rounds,
            "top": self.top,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> RankingDesign:
        """Make a design from what ``as_dict`` returned."""
        rest = {key: stored[key] for key in ("group_size", "rounds", "top", "seed")}
        return cls(name=stored["design"], **rest)


def _dealt(last: Numbers) -> Numbers:
    """Return the order in which the members of each group of the ``last`` round are apart, so that few meet again."""
    import numpy as np  # noqa: PLC0415 - as above

    order = np.argsort(last, kind="stable")
    begins = np.flatnonzero(np.diff(last[order], prepend=-2))
    within = np.empty_like(order)
    within[order] = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    return np.argsort(within, kind="stable")


def _shown_order(group: Sequence[int], so_far: SoFar, lots: Sequence[float]) -> list[int]:
    """Order a group: by lot, but whoever was shown in one half by lot the last time is in the other half now.

    So early and late are balanced over each two rounds, and still have nothing to do with how good anybody is. Within
    the half it is by lot: if the order was reversed, those at the ends would be there twice, and a judge that favours
    both ends would seem to agree with itself.
    """

    def early(member: int) -> float:
        lot = lots[member] - 0.5
        if so_far.ranked[member] % 2 and so_far.shown[member]:
            return math.copysign(lot / 2 + 0.25, so_far.shown[member])
        return lot

    return sorted(group, key=lambda member: (early(member), lots[member]))


def _pairs(lined_up: Sequence[int], so_far: SoFar, *, nobody_rests: bool) -> list[list[int]]:
    """Pair each with the next it met least often; of an odd number, one of those who were ranked most often rests.

    Or ``nobody_rests``, as in the first round, which has to contain every profile: then the first is in two pairs.
    """
    waiting = list(lined_up)
    if len(waiting) % 2 and nobody_rests:
        waiting.append(waiting[0])
    elif len(waiting) % 2:
        waiting.remove(max(waiting, key=so_far.ranked.__getitem__))
    pairs = []
    while waiting:
        first = waiting.pop(0)
        met = so_far.met.get(first, {})
        new = (place for place, other in enumerate(waiting) if other not in met)
        place = next(new, None)
        if place is None:  # it has met everybody
            place = min(range(len(waiting)), key=lambda place: met[waiting[place]])
        pairs.append([first, waiting.pop(place)])
    return pairs


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
