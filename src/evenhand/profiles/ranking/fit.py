"""From the groups of a ranking to its result: one fit over all of them."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import CaseResult
from evenhand.evaluators.group_ranking import MEMBERS
from evenhand.profiles.ranking.design import SoFar
from evenhand.profiles.ranking.entrants import Names, NamesInOrder
from evenhand.profiles.ranking.groups import Group, groups_of, numbers_in, texts_of
from evenhand.profiles.ranking.result import LEVEL, MOST_IN_CYCLES, REFITS, LengthEffect, Places, PositionBias, Ranks
from evenhand.stats.bias import Slots, SlotTest, flip_test
from evenhand.stats.cycles import components, cycles
from evenhand.stats.distributions import t_quantile
from evenhand.stats.intervals import Scores
from evenhand.stats.plackett_luce import Ranking, Rankings, Strengths, learned_fit, rank_spans, ranks_of

if TYPE_CHECKING:
    from evenhand.stats.plackett_luce import Floats, Numbers


MOST_ERRORS: Final = 50
_SHARES: Final = {"win": 1.0, "tie": 0.5, "loss": 0.0}
# The number of whoever fills up a short ranking, beyond all that there can be.
_NOBODY: Final = 2**31 - 1


class Tally:
    """Counts of a ranking's groups, of its profiles by number, and of its pairs.

    ``shown`` is the slot in which each profile was shown last, ``in_groups`` counts the groups it was put into,
    ``ranked`` those in which it was ranked, and ``failed`` those in which the judge failed; ``errors`` has the first
    of these. ``pairs`` are the first and the second of each pair that was judged, and ``shares`` what the first won:
    1, 0.5 or 0.
    """

    def __init__(self, *, in_pairs: bool = False) -> None:
        self.rounds = self.groups = self.failures = self.pending = self.retries = 0
        self.shown, self.in_groups = array("d"), array("i")
        self.ranked, self.failed = array("i"), array("i")
        self.pairs, self.shares = (array("i"), array("i")), array("d")
        self.errors: list[tuple[str, str]] = []
        self._in_pairs = in_pairs
        self._met: dict[int, dict[int, int]] = {}
        self._slots = Slots()
        self._for_first = self._for_second = 0
        self._rankings = Rankings(count=_NOBODY)

    def take_in(self, groups: Iterable[Group]) -> None:
        """Count groups, and keep what the judge said of them."""
        self._rankings = self._rankings.and_those(Rankings.of(self._counted(groups), _NOBODY))

    def rankings(self, numbers: Numbers) -> Rankings:
        """Return what the judge said, profiles being numbered by their place among ``numbers``, which are in order."""
        return self._rankings.among(numbers)

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
        self.failures += group.error is not None
        if group.error is not None and len(self.errors) < MOST_ERRORS:
            self.errors.append((group.id, group.error))
        self.pending += not group.rankings and group.error is None
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
        if len(set(group.winners)) == 1:  # the same place in both orders
            self._for_first += group.winners[0] == 0
            self._for_second += group.winners[0] == 1

    def so_far(self, count: int) -> SoFar:
        """Return what is known of so many profiles before the next round."""
        self._make_room(count)
        strengths = learned_fit(self.rankings(np.arange(count))).values
        return SoFar(strengths=array("d", strengths), shown=self.shown, ranked=self.in_groups, met=self._met)

    def slot_test(self) -> SlotTest:
        """Test whether the judge favours a slot."""
        if self.shares:
            return flip_test(for_first=self._for_first, for_second=self._for_second, pairs=len(self.shares))
        return self._slots.test()


_CYCLES_SHOWN: Final = 5
# With one ranking, drawing it again says nothing about how sure it is.
_LEAST_GROUPS: Final = 2
# A line needs three points to have an error.
_LEAST_LENGTHS: Final = 3


def ranks_from(results: Iterable[CaseResult], *, seed: int = 1, refits: int = REFITS) -> Ranks:
    """Work out the ranking from the results of a run, as far as it has come; results are read once and not kept."""
    participants = _Participants()
    try:
        tally = Tally()
        tally.take_in(groups_of(participants.record(results)))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:  # a run may come from elsewhere
        raise ConfigError(f"these are not the groups of a ranking: {error!r}") from None
    return _Fit(participants, tally, seed=seed, refits=refits).ranks()


class _Participants:
    """The profiles that take part, by number: ids, attributes and lengths, recorded while the results are read."""

    def __init__(self) -> None:
        self.names = Names()
        self.attributes: dict[int, Mapping[str, Any]] = {}
        self.lengths = array("i")

    def record(self, results: Iterable[CaseResult]) -> Iterator[CaseResult]:
        for result in results:
            case = result.case
            for number, member, text in zip(numbers_in(case), case.metadata[MEMBERS], texts_of(case), strict=True):
                if not self.names.has(number):
                    self.names.put(number, member["id"])
                    self.lengths.extend([0] * (len(self.names) - len(self.lengths)))
                    self.lengths[number] = len(text)
                    if "attributes" in member:
                        self.attributes[number] = member["attributes"]
            yield result


class _Fit:
    """The fit over the profiles that were ranked at all. A place is an index among these."""

    def __init__(self, participants: _Participants, tally: Tally, *, seed: int, refits: int) -> None:
        self._participants, self._tally = participants, tally
        self._numbers = np.flatnonzero(np.array(tally.ranked))
        self._rankings = tally.rankings(self._numbers)
        self._fitted = learned_fit(self._rankings)
        judged = self._rankings.judgments >= _LEAST_GROUPS
        self._spans = (
            rank_spans(self._rankings, self._fitted, refits=refits, level=LEVEL, seed=seed) if judged else None
        )
        lengths = np.array(participants.lengths, dtype=np.float64)[self._numbers]
        self._doublings = np.log2(np.maximum(lengths, 1.0))
        self._length = _slope(self._doublings, self._fitted.values)

    def ranks(self) -> Ranks:
        """Return everything that is said of the ranking."""
        tally = self._tally
        shown_cycles, inside = self._cycles()
        return Ranks(
            profiles=self._places(),
            groups=tally.groups,
            failed=tally.failures,
            pending=tally.pending,
            total_retries=tally.retries,
            errors=tuple(tally.errors),
            agreement=_agreement(self._rankings, self._fitted),
            position=self._position_bias(),
            length=self._length,
            cycles=shown_cycles,
            in_cycles=inside,
        )

    def _places(self) -> Places:
        """Return all in order: those who were ranked, the best first; then those who were not; ties by id."""
        participants, tally = self._participants, self._tally
        ranks, _ = ranks_of(self._fitted.values)
        order = _ordered(ranks, NamesInOrder(participants.names, self._numbers))
        unranked = sorted(np.flatnonzero(np.array(tally.ranked) == 0).tolist(), key=participants.names.__getitem__)
        numbers = np.concatenate([self._numbers[order], np.array(unranked, dtype=np.int64)])
        best, worst = self._ends(order)
        place_of = np.empty_like(numbers)
        place_of[numbers] = np.arange(len(numbers))
        return Places(
            ids=NamesInOrder(participants.names, numbers),
            ranks=ranks[order],
            best=best,
            worst=worst,
            tiers=_tiers(best, worst),
            strengths=self._fitted.values[order],
            groups=np.array(tally.ranked)[numbers],
            failures=np.array(tally.failed)[numbers],
            rates={int(place_of[self._numbers[place]]): rate for place, rate in self._win_rates().items()},
            attributes={int(place_of[number]): attributes for number, attributes in participants.attributes.items()},
        )

    def _ends(self, order: Numbers) -> tuple[Numbers, Numbers]:
        """Return the ends of the intervals around ranks, 0 where there is none."""
        if self._spans is None:
            return np.zeros_like(order), np.zeros_like(order)
        enough = (np.array(self._tally.ranked)[self._numbers] >= _LEAST_GROUPS)[order]
        return np.where(enough, self._spans.best[order], 0), np.where(enough, self._spans.worst[order], 0)

    def _position_bias(self) -> PositionBias:
        test = self._tally.slot_test()
        if not self._rankings.has_slots:
            return PositionBias(test=test)
        interval = None if self._spans is None else self._spans.position
        return PositionBias(test=test, advantage=self._fitted.position, interval=interval)

    def _win_rates(self) -> dict[int, dict[str, Any]]:
        """Return the win rates of pairs: as they were, and with what length explains taken out of the strengths."""
        scores: dict[int, Scores] = {}
        rivals: dict[int, list[int]] = {}
        firsts, seconds = (np.searchsorted(self._numbers, side).tolist() for side in self._tally.pairs)
        for first, second, share in zip(firsts, seconds, self._tally.shares, strict=True):
            for place, rival, won in ((first, second, share), (second, first, 1 - share)):
                scores.setdefault(place, Scores()).add(won)
                rivals.setdefault(place, []).append(rival)
        effect = 0.0 if self._length is None else self._length.doubling
        apart = self._fitted.values - effect * self._doublings
        rates: dict[int, dict[str, Any]] = {}
        for place, place_scores in scores.items():
            rates[place] = {"win_rate": place_scores.mean, "win_rate_interval": place_scores.interval(LEVEL)}
            if self._length is not None:
                chances = 1 / (1 + np.exp(apart[rivals[place]] - apart[place]))
                rates[place]["win_rate_without_length"] = float(chances.mean())
        return rates

    def _cycles(self) -> tuple[tuple[tuple[str, ...], ...], int]:
        """Find some cycles among the best, and how many of them are in any."""
        best = np.argsort(-self._fitted.values, kind="stable")[:MOST_IN_CYCLES]
        preferred = _preferences(self._rankings, best)
        inside = sum(len(component) for component in components(preferred) if len(component) > 1)
        shown = cycles(preferred)[:_CYCLES_SHOWN]
        return tuple(
            tuple(self._participants.names[self._numbers[place]] for place in cycle) for cycle in shown
        ), inside


def _ordered(ranks: Numbers, names: Sequence[str]) -> Numbers:
    """Return the places in the order of their ranks; equal ones by name."""
    order = np.argsort(ranks, kind="stable")
    begins = np.flatnonzero(np.diff(ranks[order], prepend=0))
    sizes = np.diff(begins, append=len(order))
    for tie in np.flatnonzero(sizes > 1):
        alike = slice(begins[tie], begins[tie] + sizes[tie])
        order[alike] = sorted(order[alike].tolist(), key=names.__getitem__)
    return order


def _tiers(best: Numbers, worst: Numbers) -> Numbers:
    """Split the order into tiers: a profile that cannot be told apart from the first of a tier belongs to it."""
    tiers = np.zeros(len(best), dtype=np.int32)
    tier, worst_of_first = 0, -1
    for place in np.flatnonzero(best):
        if best[place] > worst_of_first:
            tier, worst_of_first = tier + 1, int(worst[place])
        tiers[place] = tier
    return tiers


def _preferences(rankings: Rankings, among: Numbers) -> dict[int, list[int]]:
    """Return, for each of some places, those it was preferred to more often than the other way round."""
    net: dict[tuple[int, int], float] = {}
    included = np.zeros(rankings.count + 1, dtype=bool)
    included[among] = True
    for block in rankings.blocks:
        there = included[block.members]
        for column in np.flatnonzero(there.sum(axis=0) > 1):
            members = block.members[there[:, column], column].tolist()
            weight = float(block.weights[column])
            for first, second in itertools.combinations(members, 2):
                pair, sign = ((first, second), 1.0) if first < second else ((second, first), -1.0)
                net[pair] = net.get(pair, 0.0) + sign * weight
    preferred: dict[int, list[int]] = {place: [] for place in sorted(among.tolist())}
    for (first, second), balance in net.items():
        if balance:
            winner, loser = (first, second) if balance > 0 else (second, first)
            preferred[winner].append(loser)
    return preferred


def _slope(lengths: Floats, strengths: Floats) -> LengthEffect | None:
    """Fit a line through strengths over lengths; None where there is too little, or all are equally long."""
    n = len(lengths)
    if n < _LEAST_LENGTHS or float(np.ptp(lengths)) == 0:
        return None
    away = lengths - lengths.mean()
    squares = float((away * away).sum())
    slope = float((away * strengths).sum()) / squares
    rest = strengths - slope * away
    half = t_quantile(LEVEL, n - 2) * math.sqrt(float((rest * rest).sum()) / (n - 2) / squares)
    return LengthEffect(doubling=slope, interval=(slope - half, slope + half))


def _agreement(rankings: Rankings, fitted: Strengths) -> float | None:
    """Return the share of judged pairs that the strengths agree with; equal strengths count half."""
    padded = np.append(fitted.values, np.nan)
    agreed = total = 0.0
    for block in rankings.blocks:
        values = padded[block.members]
        for ahead in range(len(values) - 1):
            gaps = values[ahead] - values[ahead + 1 :]
            compared = ~np.isnan(gaps)
            total += float((block.weights * compared).sum())
            agreed += float((block.weights * np.where(compared, np.heaviside(gaps, 0.5), 0.0)).sum())
    return agreed / total if total else None
