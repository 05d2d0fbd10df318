"""What came of a ranking: the order, and how sure each place in it is (SPEC-K2, K3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from evenhand.profiles.ranking.places import Places
from evenhand.stats.slots import SlotTest

REFITS: Final = 200
LEVEL: Final = 0.95
# Preferences are looked through for cycles among so many of the best.
MOST_IN_CYCLES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBias:
    """Whether the judge favours a slot: a test, and what being shown first adds to a strength beside being last."""

    test: SlotTest
    advantage: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def found(self) -> bool:
        """Whether the test speaks for a bias."""
        return self.test.p is not None and self.test.p < 1 - LEVEL

    def as_dict(self) -> dict[str, Any]:
        """Give the finding as plain JSON values."""
        interval = None if self.interval is None else list(self.interval)
        return {**self.test.as_dict(), "found": self.found, "advantage": self.advantage, "interval": interval}


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthEffect:
    """What a text of twice the length is stronger by; the interval is Student's t."""

    doubling: float
    interval: tuple[float, float]

    def as_dict(self) -> dict[str, Any]:
        """Give the finding as plain JSON values."""
        return {"doubling": self.doubling, "interval": list(self.interval)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """A ranking: the profiles in their order, the best first, and how far the judge can be believed.

    ``agreement`` is the share of what the judge said of two in a group that the order agrees with. ``cycles`` are
    some in which each was preferred to the next and the last to the first, out of ``in_cycles`` profiles among the
    best 500. ``groups`` counts those that were formed so far, ``failed`` where the judge failed, ``pending`` those that
    are not judged yet; ``errors`` has the id of a group and what went wrong, of the first fifty that failed.
    """

    profiles: Places
    groups: int
    failed: int
    pending: int
    total_retries: int
    errors: tuple[tuple[str, str], ...]
    agreement: float | None
    position: PositionBias
    length: LengthEffect | None
    cycles: tuple[tuple[str, ...], ...]
    in_cycles: int

    @property
    def order(self) -> tuple[str, ...]:
        """The ids of the profiles that were ranked, the best first."""
        return self.profiles.order

    @property
    def tiers(self) -> int:
        """How many tiers can be told apart."""
        return self.profiles.last_tier

    def numbers(self) -> dict[str, Any]:
        """Give what is said of the whole as plain JSON values."""
        return {
            "order": list(self.order),
            "groups": self.groups,
            "failed_groups": self.failed,
            "pending_groups": self.pending,
            "total_retries": self.total_retries,
            "errors": [{"group": group, "error": error} for group, error in self.errors],
            "tiers": self.tiers,
            "agreement": self.agreement,
            "position_bias": self.position.as_dict(),
            "length": None if self.length is None else self.length.as_dict(),
            "cycles": [list(one) for one in self.cycles],
            "in_cycles": self.in_cycles,
            "level": LEVEL,
            "refits": REFITS,
        }
