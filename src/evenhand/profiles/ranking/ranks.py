"""What came of a ranking: the order, and how sure each place in it is (SPEC-K2, K3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np

from evenhand.domain.run import CaseResult
from evenhand.domain.summary import Interval
from evenhand.evaluators.ranking import MEMBERS
from evenhand.profiles.ranking.groups import Group, groups_of
from evenhand.stats.cycles import components, cycles
from evenhand.stats.intervals import Scores
from evenhand.stats.plackett_luce import Rankings, Spans, Strengths, learned_fit, rank_spans, ranks_of
from evenhand.stats.slots import SlotTest, flip_test, slot_test
from evenhand.stats.student import t_quantile

REFITS: Final = 200
LEVEL: Final = 0.95
# Preferences are looked through for cycles among so many of the best.
_MOST_IN_CYCLES: Final = 500
_CYCLES_SHOWN: Final = 5
# With one ranking, drawing it again tells nothing of how sure it is.
_LEAST_GROUPS: Final = 2


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
        """Give the place as plain JSON values."""
        interval = None if self.interval is None else list(self.interval)
        return {**asdict(self), "interval": interval, "attributes": dict(self.attributes)}


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
    best 500. ``groups`` counts what was planned, ``failed`` where the judge failed, ``pending`` what is not done yet.
    """

    profiles: tuple[RankedProfile, ...]
    groups: int
    failed: int
    pending: int
    total_retries: int
    agreement: float | None
    position: PositionBias
    length: LengthEffect | None
    cycles: tuple[tuple[str, ...], ...]
    in_cycles: int

    @property
    def order(self) -> tuple[str, ...]:
        """The ids of the profiles that were ranked, the best first."""
        return tuple(one.id for one in self.profiles if one.rank is not None)

    @property
    def tiers(self) -> int:
        """How many tiers can be told apart."""
        return max((one.tier or 0 for one in self.profiles), default=0)

    def numbers(self) -> dict[str, Any]:
        """Give what is said of the whole as plain JSON values."""
        return {
            "order": list(self.order),
            "groups": self.groups,
            "failed_groups": self.failed,
            "pending_groups": self.pending,
            "total_retries": self.total_retries,
            "tiers": self.tiers,
            "agreement": self.agreement,
            "position_bias": self.position.as_dict(),
            "length": None if self.length is None else self.length.as_dict(),
            "cycles": [list(one) for one in self.cycles],
            "in_cycles": self.in_cycles,
            "level": LEVEL,
            "refits": REFITS,
        }


def ranks_from(results: Iterable[CaseResult], *, seed: int = 1, refits: int = REFITS) -> Ranks:
    """Work out the ranking from the results of a run, as far as it has come."""
    field_of_all = _Field()
    groups = list(groups_of(field_of_all.seen(results)))
    return _Standing(field_of_all, groups, seed=seed, refits=refits).ranks()


class _Field:
    """Who takes part, by number: ids, attributes and lengths, noted down while the results go by."""

    def __init__(self) -> None:
        self.ids: dict[int, str] = {}
        self.attributes: dict[int, Mapping[str, Any]] = {}
        self.lengths: dict[int, int] = {}

    def seen(self, results: Iterable[CaseResult]) -> Iterable[CaseResult]:
        for result in results:
            texts = (result.case.candidate_answer, result.case.reference_answer)
            for place, one in enumerate(result.case.metadata[MEMBERS]):
                number = one["number"]
                if number not in self.ids:
                    self.ids[number] = one["id"]
                    self.lengths[number] = len(one["text"] if "text" in one else texts[place] or "")
                    if "attributes" in one:
                        self.attributes[number] = one["attributes"]
            yield result


class _Standing:
    """How those stand who were ranked at all; numbers are places among these."""

    def __init__(self, field_of_all: _Field, groups: Sequence[Group], *, seed: int, refits: int) -> None:
        self._all = field_of_all
        self._groups = groups
        self._ranked: dict[int, int] = {}
        self._failures: dict[int, int] = {}
        for group in groups:
            counts = self._ranked if group.rankings else self._failures if group.error is not None else {}
            for member in group.members:
                counts[member] = counts.get(member, 0) + 1
        self._numbers = sorted(self._ranked)
        self._place = {number: place for place, number in enumerate(self._numbers)}
        self._rankings = Rankings.of(
            (
                one._replace(members=[self._place[member] for member in one.members])
                for group in groups
                for one in group.rankings
            ),
            len(self._numbers),
        )
        self._fitted = learned_fit(self._rankings)
        judged = self._rankings.judgments >= _LEAST_GROUPS
        self._spans = (
            rank_spans(self._rankings, self._fitted, refits=refits, level=LEVEL, seed=seed) if judged else None
        )

    def ranks(self) -> Ranks:
        """Give everything that is said of the ranking."""
        profiles = self._profiles()
        found, inside = self._cycles()
        return Ranks(
            profiles=profiles,
            groups=len(self._groups),
            failed=sum(group.error is not None for group in self._groups),
            pending=sum(not group.rankings and group.error is None for group in self._groups),
            total_retries=sum(group.retries for group in self._groups),
            agreement=_agreement(self._rankings, self._fitted),
            position=_position_bias(self._groups, self._fitted, self._spans, has_slots=self._rankings.has_slots),
            length=self._length_effect(),
            cycles=found,
            in_cycles=inside,
        )

    def _profiles(self) -> tuple[RankedProfile, ...]:
        first, _ = ranks_of(self._fitted.values)
        by_strength = sorted(
            range(len(self._numbers)), key=lambda place: (int(first[place]), self._all.ids[self._numbers[place]])
        )
        rates = self._win_rates()
        ranked: list[RankedProfile] = []
        tier, worst_of_first = 0, -1
        for place in by_strength:
            number = self._numbers[place]
            span = self._span(place)
            if span is not None and span[0] > worst_of_first:
                tier, worst_of_first = tier + 1, span[1]
            ranked.append(
                RankedProfile(
                    id=self._all.ids[number],
                    rank=int(first[place]),
                    interval=span,
                    tier=tier if span is not None else None,
                    strength=float(self._fitted.values[place]),
                    groups=self._ranked[number],
                    failures=self._failures.get(number, 0),
                    attributes=self._all.attributes.get(number, {}),
                    **rates.get(place, {}),
                )
            )
        return (*ranked, *self._unranked())

    def _unranked(self) -> Iterable[RankedProfile]:
        for number, identity in sorted(self._all.ids.items(), key=lambda one: one[1]):
            if number not in self._place:
                yield RankedProfile(
                    id=identity,
                    failures=self._failures.get(number, 0),
                    attributes=self._all.attributes.get(number, {}),
                )

    def _span(self, place: int) -> tuple[int, int] | None:
        if self._spans is None or self._ranked[self._numbers[place]] < _LEAST_GROUPS:
            return None
        return int(self._spans.best[place]), int(self._spans.worst[place])

    def _win_rates(self) -> dict[int, dict[str, Any]]:
        """Give the win rates of pairs: as they were, and with what length explains taken out of the strengths."""
        scores: dict[int, Scores] = {}
        opponents: dict[int, list[int]] = {}
        for group in self._groups:
            if group.outcome is None:
                continue
            one, other = (self._place[member] for member in group.members)
            share = {"win": 1.0, "tie": 0.5, "loss": 0.0}[group.outcome]
            for place, rival, won in ((one, other, share), (other, one, 1 - share)):
                scores.setdefault(place, Scores()).add(won)
                opponents.setdefault(place, []).append(rival)
        effect = self._length_effect()
        values = self._fitted.values - (0.0 if effect is None else effect.doubling) * self._doublings()
        return {
            place: {
                "win_rate": one.mean,
                "win_rate_interval": one.interval(LEVEL),
                "win_rate_without_length": None
                if effect is None
                else float(np.mean(1 / (1 + np.exp(values[opponents[place]] - values[place])))),
            }
            for place, one in scores.items()
        }

    def _doublings(self) -> Any:
        return np.array([math.log2(max(self._all.lengths[number], 1)) for number in self._numbers])

    def _length_effect(self) -> LengthEffect | None:
        """Fit a line through strengths over lengths; None where there is too little, or all are equally long."""
        lengths = self._doublings()
        n = len(lengths)
        if n < 3 or float(np.ptp(lengths)) < 1e-9:
            return None
        away = lengths - lengths.mean()
        squares = float(away @ away)
        slope = float(away @ self._fitted.values) / squares
        rest = self._fitted.values - slope * away
        half = t_quantile(LEVEL, n - 2) * math.sqrt(float(rest @ rest) / (n - 2) / squares)
        return LengthEffect(doubling=slope, interval=(slope - half, slope + half))

    def _cycles(self) -> tuple[tuple[tuple[str, ...], ...], int]:
        """Find some cycles among the best, and how many of them are in any."""
        best = np.argsort(-self._fitted.values, kind="stable")[:_MOST_IN_CYCLES]
        among = {int(place) for place in best}
        net: dict[tuple[int, int], float] = {}
        for members, weight in zip(self._rankings.members.T.tolist(), self._rankings.weights.tolist(), strict=True):
            there = [one for one in members if one in among]
            for high, one in enumerate(there):
                for other in there[high + 1 :]:
                    pair, sign = ((one, other), 1.0) if one < other else ((other, one), -1.0)
                    net[pair] = net.get(pair, 0.0) + sign * weight
        preferred: dict[int, list[int]] = {place: [] for place in sorted(among)}
        for (one, other), balance in net.items():
            if balance:
                winner, loser = (one, other) if balance > 0 else (other, one)
                preferred[winner].append(loser)
        inside = sum(len(one) for one in components(preferred) if len(one) > 1)
        found = cycles(preferred)[:_CYCLES_SHOWN]
        return tuple(tuple(self._all.ids[self._numbers[place]] for place in one) for one in found), inside


def _agreement(rankings: Rankings, fitted: Strengths) -> float | None:
    """Tell with which share of what was said of two the strengths agree; equal ones count half."""
    values = np.append(fitted.values, np.nan)[rankings.members]
    weight = total = 0.0
    for ahead in range(len(values) - 1):
        gaps = values[ahead] - values[ahead + 1 :]
        said = ~np.isnan(gaps)
        weights = np.broadcast_to(rankings.weights, gaps.shape)
        total += float(weights[said].sum())
        weight += float((weights * np.where(said, np.heaviside(np.nan_to_num(gaps), 0.5), 0.0)).sum())
    return weight / total if total else None


def _position_bias(groups: Sequence[Group], fitted: Strengths, spans: Spans | None, *, has_slots: bool) -> PositionBias:
    pairs = [group for group in groups if group.outcome is not None]
    if pairs:
        twice = [group.winners[0] for group in pairs if len(set(group.winners)) == 1]
        test = flip_test(for_first=twice.count(0), for_second=twice.count(1), pairs=len(pairs))
    else:
        test = slot_test(group.places for group in groups if group.rankings)
    if not has_slots:
        return PositionBias(test=test)
    return PositionBias(test=test, advantage=fitted.position, interval=None if spans is None else spans.position)
