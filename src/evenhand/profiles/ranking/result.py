"""The result of a ranking: the order, and how sure each rank is (SPEC-K2, K3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, overload

from evenhand.domain.summary import Interval
from evenhand.stats.bias import SlotTest

if TYPE_CHECKING:
    from evenhand.stats.rankings import Floats, Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedProfile:
    """The place of one profile.

    ``rank`` counts from 1, and equal ones share it. ``interval`` has the best and the worst rank that the evidence
    leaves, None where it was in fewer than two groups. Those of a ``tier`` cannot be told apart from its first.
    ``strength`` is on the scale of log-odds around 0: one that is 1 stronger is ranked before the other 73 times out
    of 100. ``groups`` counts the groups in which it was ranked, ``failures`` those in which the judge failed; where it
    was ranked in none, rank and strength are None. In pairs it has a ``win_rate``, ties counting half, and
    ``win_rate_without_length``, what that would be if all texts were equally long.
    """

    id: str
    rank: int | None = None
    interval: tuple[int, int] | None = None
    tier: int | None = None
    strength: float | None = None
    groups: int = 0
    failures: int = 0
    win_rate: float | None = None
    win_rate_interval: Interval | None = None
    win_rate_without_length: float | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the place as plain JSON values."""
        interval = None if self.interval is None else list(self.interval)
        return {**asdict(self), "interval": interval, "attributes": dict(self.attributes)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places(Sequence[RankedProfile]):
    """The profiles in their order, the best first and those without a rank last; each is made when it is looked at.

    Columns have an entry for each profile that has a rank; ``groups`` and ``failures`` have one for all. ``best`` and
    ``worst`` are 0 where there is no interval, and so is the tier where there is none. ``rates`` and ``attributes`` are
    by place.
    """

    ids: Sequence[str]
    ranks: Numbers
    best: Numbers
    worst: Numbers
    tiers: Numbers
    strengths: Floats
    groups: Numbers
    failures: Numbers
    rates: Mapping[int, Mapping[str, Any]]
    attributes: Mapping[int, Mapping[str, Any]]

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> RankedProfile: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[RankedProfile, ...]: ...
    def __getitem__(self, index: int | slice) -> RankedProfile | tuple[RankedProfile, ...]:
        places = range(len(self.ids))[index]
        return self._at(places) if isinstance(places, int) else tuple(self._at(place) for place in places)

    def _at(self, place: int) -> RankedProfile:
        fields: dict[str, Any] = {}
        if place < len(self.ranks):
            best = int(self.best[place])
            fields = {
                "rank": int(self.ranks[place]),
                "interval": (best, int(self.worst[place])) if best else None,
                "tier": int(self.tiers[place]) or None,
                "strength": float(self.strengths[place]),
                **self.rates.get(place, {}),
            }
        return RankedProfile(
            id=self.ids[place],
            groups=int(self.groups[place]),
            failures=int(self.failures[place]),
            attributes=self.attributes.get(place, {}),
            **fields,
        )

    @property
    def order(self) -> tuple[str, ...]:
        """The ids of those that have a rank, the best first."""
        return tuple(self.ids[: len(self.ranks)])

    @property
    def without_rank(self) -> tuple[str, ...]:
        """The ids of those that have none."""
        return tuple(self.ids[len(self.ranks) :])

    @property
    def last_rank(self) -> int:
        """The last rank that anybody has, or might have as far as the evidence goes."""
        return max(int(self.ranks.max(initial=1)), int(self.worst.max(initial=1)))

    @property
    def are_equal(self) -> bool:
        """Whether all that have a rank share the first."""
        return int(self.ranks.max(initial=1)) == 1

    @property
    def last_tier(self) -> int:
        """How many tiers there are."""
        return int(self.tiers.max(initial=0))

    @property
    def without_interval(self) -> int:
        """How many have a rank and no interval."""
        return int((self.best == 0).sum())

    def in_tier(self, tier: int | None) -> int:
        """Count those of a tier; with None, those that have a rank and no tier."""
        return int((self.tiers == (tier or 0)).sum())


class InNoOrder(Sequence[RankedProfile]):
    """The same profiles by their ids, and without ranks and tiers: there is no order, and none is shown."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._by_id = sorted(range(len(places)), key=places.ids.__getitem__)

    def __len__(self) -> int:
        return len(self._by_id)

    @overload
    def __getitem__(self, index: int) -> RankedProfile: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[RankedProfile, ...]: ...
    def __getitem__(self, index: int | slice) -> RankedProfile | tuple[RankedProfile, ...]:
        places = self._by_id[index]
        if isinstance(places, int):
            return replace(self._places[places], rank=None, tier=None)
        return tuple(replace(self._places[place], rank=None, tier=None) for place in places)


LEVEL: Final = 0.95
# Strengths are drawn so often from what the evidence leaves possible.
DRAWS: Final = 200
# What a judge without any preference would agree with.
CHANCE: Final = 0.5
# Preferences are looked through for cycles among so many of the best.
MOST_IN_CYCLES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How often what the judge said in earlier rounds predicts what it says later of any two; chance would be one half.

    ``share`` and its interval are over the ``groups`` that were formed by lot. ``p`` is how often a judge without any
    preference would be predicted as well, over the ``tested`` groups: where few were formed by lot, these are all that
    could be predicted. All are None or 0 where there was only one round.
    """

    share: float | None = None
    interval: Interval | None = None
    groups: int = 0
    p: float | None = None
    tested: int = 0

    @property
    def significance_level(self) -> float:
        """The one-sided p value below which a judge can be told from chance."""
        return round((1 - LEVEL) / 2, 9)

    @property
    def beats_chance(self) -> bool | None:
        """Whether the judge can be told from one that shuffles; None where nothing can be said."""
        return None if self.p is None else self.p < self.significance_level

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON values."""
        return {**asdict(self), "chance": CHANCE, "beats_chance": self.beats_chance}


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionBias:
    """Whether the judge favours a position: what being shown first adds to a strength beside being last, and a test.

    Pairs whose probabilities were averaged over both orders have no such term; there the test alone decides.
    """

    test: SlotTest
    advantage: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def found(self) -> bool:
        """Whether the judge favours a position: the interval around the advantage leaves out 0."""
        if self.interval is not None:
            return not self.interval[0] <= 0 <= self.interval[1]
        return self.test.p is not None and self.test.p < 1 - LEVEL

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON values."""
        interval = None if self.interval is None else list(self.interval)
        return {**self.test.as_dict(), "found": self.found, "advantage": self.advantage, "interval": interval}


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthEffect:
    """What a text of twice the length is stronger by; the interval is Student's t."""

    doubling: float
    interval: tuple[float, float]

    @property
    def found(self) -> bool:
        """Whether the interval leaves out 0."""
        return not self.interval[0] <= 0 <= self.interval[1]

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON values."""
        return {"doubling": self.doubling, "interval": list(self.interval), "found": self.found}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """A ranking: the profiles in their order, the best first, and how far the judge can be believed.

    ``agreement`` says whether the judge can be told from one that shuffles. ``cycles`` are some in which each was
    preferred to the next and the last to the first, out of ``in_cycles`` profiles among the best 500; both are empty
    where the judge's noise explains them. ``groups`` counts those that were formed so far, in so many ``rounds``,
    ``failed`` where the judge failed, and ``pending`` those not judged yet. The judge ``refused`` some profiles
    even beside one that it had ranked before, and they have no rank; those that are ``partly_refused`` have one from
    other groups. Or it called every pair a tie (``only_ties``). Those that are ``apart`` were compared within their set
    only, and have no joint ranks. ``invalid_replies`` could not be used; after ``total_retries`` of them the judge was
    asked again. ``errors`` has the id of a group and what went wrong, of the first fifty that failed.
    """

    profiles: Places
    groups: int
    rounds: int
    failed: int
    pending: int
    only_ties: bool
    refused: tuple[str, ...]
    partly_refused: tuple[str, ...]
    apart: tuple[tuple[str, ...], ...]
    total_retries: int
    invalid_replies: int
    errors: tuple[tuple[str, str], ...]
    agreement: Agreement
    position: PositionBias
    length: LengthEffect | None
    cycles: tuple[tuple[str, ...], ...]
    in_cycles: int

    @property
    def order(self) -> tuple[str, ...]:
        """The ids of the profiles that were ranked, the best first."""
        return self.profiles.order

    @property
    def has_order(self) -> bool:
        """Whether there is an order: not where a judge might as well have shuffled, or called every pair a tie."""
        return bool(self.order) and self.agreement.beats_chance is not False and not self.only_ties

    @property
    def listed(self) -> Sequence[RankedProfile]:
        """The profiles as people see them: the best first; without an order by their ids, without ranks and tiers."""
        return self.profiles if self.has_order else InNoOrder(self.profiles)

    @property
    def tiers(self) -> int:
        """How many tiers can be told apart."""
        return self.profiles.last_tier

    def numbers(self) -> dict[str, Any]:
        """Return what is said of the whole as plain JSON values."""
        return {
            "order": list(self.order),
            "has_order": self.has_order,
            "groups": self.groups,
            "failed_groups": self.failed,
            "pending_groups": self.pending,
            "refused": list(self.refused),
            "partly_refused": list(self.partly_refused),
            "apart": [list(one) for one in self.apart],
            "total_retries": self.total_retries,
            "invalid_replies": self.invalid_replies,
            "errors": [{"group": group, "error": error} for group, error in self.errors],
            "tiers": self.tiers,
            "agreement": self.agreement.as_dict(),
            "position_bias": self.position.as_dict(),
            "length": None if self.length is None else self.length.as_dict(),
            "cycles": [list(cycle) for cycle in self.cycles],
            "in_cycles": self.in_cycles,
            "level": LEVEL,
            "draws": DRAWS,
        }
