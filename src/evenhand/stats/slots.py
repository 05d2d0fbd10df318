"""Whether a judge favours a slot: profiles are shown in an order by chance, so that no slot should do better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from evenhand.stats.distributions import chi_square_p_value, sign_p_value

FRIEDMAN: Final = "Friedman"
SIGN: Final = "exact sign"
_LEAST_GROUPS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotTest:
    """A test of whether all slots do alike; ``p`` is None where there is too little to say.

    ``places`` has the mean place of what was shown in each slot of the largest groups, as a share from 0 (always the
    best) to 1 (always the worst); all would be one half. ``n`` counts the groups.
    """

    test: str
    n: int
    p: float | None
    places: tuple[float, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the test as plain JSON values."""
        return {"test": self.test, "n": self.n, "p": self.p, "places": list(self.places)}


class Slots:
    """The slots of groups, taken in group by group and not kept.

    >>> slots = Slots()
    >>> for places in [[0, 1, 2]] * 9 + [[2, 1, 0]]:
    ...     slots.add(places)
    >>> found = slots.test()
    >>> found.test, round(found.p, 5), [round(place, 2) for place in found.places]
    ('Friedman', 0.00166, [0.1, 0.5, 0.9])
    """

    def __init__(self) -> None:
        self._sums: dict[int, list[int]] = {}
        self._counts: dict[int, int] = {}

    def add(self, places: Sequence[int]) -> None:
        """Take in a group, as the place, from 0, that whatever was shown first, second … was given."""
        size = len(places)
        self._counts[size] = self._counts.get(size, 0) + 1
        known = self._sums.setdefault(size, [0] * size)
        for slot, place in enumerate(places):
            known[slot] += place

    def test(self) -> SlotTest:
        """Test whether all slots do alike: groups of one size together, and what all sizes say added up."""
        counts = self._counts
        statistic, degrees = 0.0, 0
        for size, slots in self._sums.items():
            middle = counts[size] * (size - 1) / 2
            statistic += 12 / (counts[size] * size * (size + 1)) * sum((one - middle) ** 2 for one in slots)
            degrees += size - 1
        n = sum(counts.values())
        largest = max(counts, default=0)
        places = tuple(one / (counts[largest] * (largest - 1)) for one in self._sums.get(largest, ()))
        p = chi_square_p_value(statistic, degrees) if n >= _LEAST_GROUPS else None
        return SlotTest(test=FRIEDMAN, n=n, p=p, places=places)


def flip_test(*, for_first: int, for_second: int, pairs: int) -> SlotTest:
    """Test pairs that were shown in both orders: how often the first won twice, and how often the second."""
    share = 0.5 + (for_second - for_first) / (2 * pairs) if pairs else 0.5
    p = sign_p_value(for_first, for_second) if pairs >= _LEAST_GROUPS else None
    return SlotTest(test=SIGN, n=for_first + for_second, p=p, places=(share, 1 - share) if pairs else ())
