"""What becomes of groups that the judge failed to rank: they are split until the profile to blame stands alone.

One text that a judge refuses takes all who are shown with it out of a round, and in the next round others. So a group
that failed is asked again in halves; of two, each is shown with one that was ranked before. Whoever fails with such a
one is to blame, and takes no further part. Where most of many groups failed, it is the judge, and nothing is split.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

from evenhand.profiles.ranking.groups import Group, Part

# Of so many groups, even all may have somebody to blame in them.
_FEW: Final = 4
_PAIR: Final = 2


class FailedGroups:
    """The failed groups of a ranking, as they are counted: which of them are to be split, and who is to blame."""

    def __init__(self) -> None:
        self.to_blame: set[int] = set()
        self.parts = 0
        self._open: dict[str, Group] = {}
        self._formed: dict[int, int] = {}
        self._failed: dict[int, int] = {}

    def count(self, group: Group) -> None:
        """Count a group, whether it failed or not."""
        if group.part_of is None:
            self._formed[group.round] = self._formed.get(group.round, 0) + 1
        else:
            self.parts += 1
            self._open.pop(group.part_of, None)
        if group.error is None or not group.is_of_content:
            return
        if group.suspect is not None:
            self.to_blame.add(group.suspect)
            return
        self._open[group.id] = group
        if group.part_of is None:
            self._failed[group.round] = self._failed.get(group.round, 0) + 1

    def split(self, ranked: Sequence[int], seed: int) -> list[Part]:
        """Return the parts of all that are to be split; ``ranked`` counts in how many groups each was ranked."""
        innocent = [number for number, groups in enumerate(ranked) if groups and number not in self.to_blame]
        parts: list[Part] = []
        for group in self._open.values():
            if self._is_worth_it(group, any_innocent=bool(innocent)):
                parts += _parts(group, innocent, random.Random(f"{seed}:{group.id}"))  # noqa: S311 - alike each time
        return parts

    def _is_worth_it(self, group: Group, *, any_innocent: bool) -> bool:
        formed, failed = self._formed[group.round], self._failed.get(group.round, 0)
        if group.part_of is None:
            return (formed <= _FEW or 2 * failed < formed) and (any_innocent or len(group.members) > _PAIR)
        return any_innocent


def _parts(group: Group, innocent: Sequence[int], chance: random.Random) -> Iterator[Part]:
    """Split a group into halves, and put whoever would be alone beside one that was ranked before."""
    size = len(group.members)
    half = (size + 1) // 2 if size > _PAIR else 1
    for members in (group.members[:half], group.members[half:]):
        if len(members) > 1:
            yield Part(of=group.id, round=group.round, members=members)
        elif others := [number for number in innocent if number not in group.members]:
            beside = (members[0], chance.choice(others))
            yield Part(of=group.id, round=group.round, members=beside, suspect=members[0])
