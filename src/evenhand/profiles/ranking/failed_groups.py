"""What becomes of groups that the judge failed to rank: they are split until the profile to blame stands alone.

One text that a judge refuses takes all who are shown with it out of a round, and in the next round others. So a group
that failed is asked again in halves; of two, each is shown with one that was ranked before. Whoever fails with two
such is to blame, and takes no further part: once may be the judge's bad luck. As long as nobody was ranked, one group
at a time is split, and no more once some pairs failed: then it is the judge. So it is where most of many groups still
fail in the rounds after the first that had failures, since those to blame are no longer in them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Final

from evenhand.profiles.ranking.groups import Group, Part

# Of so many groups, even all may have somebody to blame in them.
_FEW: Final = 4
_PAIR: Final = 2
# Where so many pairs failed and nothing else ever worked, it is the judge.
_MOST_PAIRS: Final = 4
# Whoever is to blame failed so often beside one that was ranked before.
_FAILURES: Final = 2


class FailedGroups:
    """The failed groups of a ranking, as they are counted: which of them are to be split, and who is to blame."""

    def __init__(self) -> None:
        self.to_blame: set[int] = set()
        self._open: dict[str, Group] = {}
        self._formed: dict[int, int] = {}
        self._failed: dict[int, int] = {}
        self._suspected: dict[int, int] = {}
        self._failed_beside: dict[int, set[int]] = {}

    def count(self, group: Group) -> None:
        """Count a group, whether it failed or not."""
        if group.part_of is None:
            self._formed[group.round] = self._formed.get(group.round, 0) + 1
        else:
            self._open.pop(group.part_of, None)
        if group.error is None or not group.is_of_content:
            return
        if len(group.members) == _PAIR:
            for one, other in itertools.permutations(group.members):
                self._failed_beside.setdefault(one, set()).add(other)
        if group.suspect is not None:
            failures = self._suspected[group.suspect] = self._suspected.get(group.suspect, 0) + 1
            if failures >= _FAILURES:
                self.to_blame.add(group.suspect)
                return
        self._open[group.id] = group
        if group.part_of is None:
            self._failed[group.round] = self._failed.get(group.round, 0) + 1

    def split(self, ranked: Sequence[int], seed: int) -> list[Part]:
        """Return the parts of all that are to be split; ``ranked`` counts in how many groups each was ranked."""
        innocent = [number for number, groups in enumerate(ranked) if groups and number not in self.to_blame]
        parts: list[Part] = []
        for group in filter(self._is_worth_it, self._open.values()) if innocent else self._first():
            parts += self._parts(group, innocent, random.Random(f"{seed}:{group.id}"))  # noqa: S311 - alike each time
        return parts

    def _is_worth_it(self, group: Group) -> bool:
        formed, failed = self._formed[group.round], self._failed.get(group.round, 0)
        is_first = group.round == min(self._failed, default=group.round)
        return is_first or group.part_of is not None or formed <= _FEW or 2 * failed <= formed

    def _first(self) -> list[Group]:
        """Return the smallest group that can be split although nobody was ranked yet."""
        groups = [group for group in self._open.values() if len(group.members) > _PAIR]
        if len(self._open) - len(groups) >= _MOST_PAIRS:
            return []
        return sorted(groups, key=lambda group: len(group.members))[:1]

    def _parts(self, group: Group, innocent: Sequence[int], chance: random.Random) -> Iterator[Part]:
        """Split a group into halves, and put whoever would be alone beside one that was ranked before."""
        if group.suspect is not None:
            yield from self._beside_another(group, group.suspect, innocent, chance)
            return
        size = len(group.members)
        if size == _PAIR + 1 and not innocent:  # if there is only one to blame, one of these pairs is without it
            for pair in itertools.combinations(group.members, _PAIR):
                yield Part(of=group.id, round=group.round, members=pair)
            return
        half = (size + 1) // 2 if size > _PAIR else 1
        for members in (group.members[:half], group.members[half:]):
            if len(members) > 1:
                yield Part(of=group.id, round=group.round, members=members)
            else:
                yield from self._beside_another(group, members[0], innocent, chance)

    def _beside_another(
        self, group: Group, suspect: int, innocent: Sequence[int], chance: random.Random
    ) -> Iterator[Part]:
        """Put a suspect beside one that was ranked before and, if there is any, with which it did not fail yet."""
        others = [number for number in innocent if number != suspect]
        before = self._failed_beside.get(suspect, set()).union(group.members)
        if new := [number for number in others if number not in before]:
            others = new
        elif group.suspect is None:
            others = [number for number in others if number not in group.members]
        if others:
            yield Part(of=group.id, round=group.round, members=(suspect, chance.choice(others)), suspect=suspect)
