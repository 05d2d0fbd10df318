"""Counts of a ranking's groups, and what the judge said in them, round by round."""

from __future__ import annotations

import functools
import itertools
from array import array
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand.profiles.ranking.design import SoFar
from evenhand.profiles.ranking.failed_groups import FailedGroups
from evenhand.profiles.ranking.groups import Group
from evenhand.profiles.ranking.open_pairs import MOST_PROFILES, open_pairs
from evenhand.stats.bias import Slots, SlotTest, flip_test
from evenhand.stats.rankings import Ranking, Rankings
from evenhand.stats.strength_posterior import learned_fit

if TYPE_CHECKING:
    from evenhand.stats.rankings import Numbers

MOST_ERRORS: Final = 50
_SHARES: Final = {"win": 1.0, "tie": 0.5, "loss": 0.0}
# The number of whoever fills up a short ranking, beyond all that there can be.
_NOBODY: Final = 2**31 - 1


class Tally:
    """Counts of a ranking's groups, of its profiles by number, and of its pairs.

    ``shown`` is the slot in which each profile was shown last, ``in_groups`` counts the groups it was put into,
    ``ranked`` those in which it was ranked, and ``failed`` those in which the judge failed; ``errors`` has the first
    of these, and ``failed_groups`` says who is to blame. ``pairs`` are the first and the second of each pair that was
    judged, and ``shares`` what the first won: 1, 0.5 or 0.
    """

    def __init__(self, *, in_pairs: bool = False) -> None:
        self.rounds = self.groups = self.failures = self.pending = self.retries = self.invalid_replies = 0
        self.shown, self.in_groups = array("f"), array("i")
        self.ranked, self.failed = array("i"), array("i")
        self.pairs, self.shares = (array("i"), array("i")), array("d")
        self.errors: list[tuple[str, str]] = []
        self.failed_groups = FailedGroups()
        self._in_pairs = in_pairs
        self._met: dict[int, dict[int, int]] = {}
        self._slots = Slots()
        self._for_first = self._for_second = self._ties = 0
        self._said: dict[int, Rankings] = {}

    def take_in(self, groups: Iterable[Group]) -> None:
        """Count groups, and keep what the judge said of them."""
        for number, of_round in itertools.groupby(groups, key=attrgetter("round")):
            said = self._said.get(number - 1, Rankings(count=_NOBODY))
            self._said[number - 1] = said.and_those(Rankings.of(self._counted(of_round), _NOBODY))

    def rankings(self, numbers: Numbers) -> Rankings:
        """Return what the judge said, profiles being numbered by their place among ``numbers``, which are in order."""
        said = functools.reduce(Rankings.and_those, self._said.values(), Rankings(count=_NOBODY))
        return said.among(numbers).in_few_blocks()

    def rounds_among(self, numbers: Numbers) -> Iterator[tuple[int, Rankings]]:
        """Yield what the judge said in each round, the first being number 0, profiles being numbered likewise."""
        for number in sorted(self._said):
            yield number, self._said[number].among(numbers)

    def _counted(self, groups: Iterable[Group]) -> Iterator[Ranking]:
        for group in groups:
            self._count(group)
            if group.outcome is not None:
                self._count_pair(group)
            elif group.rankings:
                self._slots.add(group.places)
            yield from group.rankings

    def _count(self, group: Group) -> None:
        self.rounds = max(self.rounds, group.round)
        self.groups += 1
        self.retries += group.retries
        self.invalid_replies += group.invalid_replies
        self.failures += group.error is not None
        if group.error is not None and len(self.errors) < MOST_ERRORS:
            self.errors.append((group.id, group.error))
        self.pending += not group.rankings and group.error is None
        self.failed_groups.count(group)
        self._make_room(max(group.members) + 1)
        if self._in_pairs:
            self._count_meeting(*group.members)
        last = len(group.members) - 1
        for slot, member in enumerate(group.members):
            self.shown[member] = 0.5 - slot / last
            self.in_groups[member] += 1
            self.ranked[member] += bool(group.rankings)
            self.failed[member] += group.error is not None

    def _count_meeting(self, first: int, second: int) -> None:
        for a, b in ((first, second), (second, first)):
            meetings = self._met.setdefault(a, {})
            meetings[b] = meetings.get(b, 0) + 1

    def _make_room(self, count: int) -> None:
        for numbers in (self.shown, self.in_groups, self.ranked, self.failed):
            if len(numbers) < count:
                numbers.extend([0] * (count - len(numbers)))

    def _count_pair(self, group: Group) -> None:
        for places, member in zip(self.pairs, group.members, strict=True):
            places.append(member)
        self.shares.append(_SHARES[group.outcome or "tie"])
        self._ties += not any(winner is not None for winner in group.winners)
        if len(set(group.winners)) == 1:  # the same place in both orders
            self._for_first += group.winners[0] == 0
            self._for_second += group.winners[0] == 1

    def so_far(self, count: int, *, with_strengths: bool) -> SoFar:
        """Return what is known of so many profiles before the next round; without strengths, all are equal."""
        self._make_room(count)
        is_few = count <= MOST_PROFILES
        said = self.rankings(np.arange(count)) if with_strengths or is_few else Rankings(count=count)
        strengths = learned_fit(said).values if with_strengths else np.zeros(count)
        return SoFar(
            strengths=array("d", strengths),
            shown=self.shown,
            ranked=self.in_groups,
            met=self._met,
            together=_GroupsByRound([self._said[number] for number in sorted(self._said)], count),
            open=open_pairs(said) if is_few else None,
            out=self.failed_groups.to_blame,
        )

    @property
    def only_ties(self) -> bool:
        """Whether the judge called every pair a tie, in both orders."""
        return bool(self.shares) and self._ties == len(self.shares)

    def slot_test(self) -> SlotTest:
        """Test whether the judge favours a slot."""
        if self.shares:
            return flip_test(for_first=self._for_first, for_second=self._for_second, pairs=len(self.shares))
        return self._slots.test()


class _GroupsByRound(Sequence["Numbers"]):
    """The group in which each of so many profiles was ranked in each round, looked up when it is asked for."""

    def __init__(self, rounds: Sequence[Rankings], count: int) -> None:
        self._rounds, self._count = rounds, count

    def __len__(self) -> int:
        return len(self._rounds)

    def __getitem__(self, index: Any) -> Any:
        return self._rounds[index].judgments_of(self._count)
