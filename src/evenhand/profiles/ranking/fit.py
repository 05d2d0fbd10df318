"""From the groups of a ranking to its result: one fit over all of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import CaseResult
from evenhand.evaluators.group_ranking import MEMBERS
from evenhand.profiles.ranking.agreement import Round, agreement
from evenhand.profiles.ranking.design import RankingDesign
from evenhand.profiles.ranking.entrants import Names, NamesInOrder
from evenhand.profiles.ranking.groups import groups_of, numbers_in, texts_of
from evenhand.profiles.ranking.length import length_effect, without_length
from evenhand.profiles.ranking.preference_cycles import cycles_beyond_noise
from evenhand.profiles.ranking.result import DRAWS, LEVEL, Places, PositionBias, Ranks
from evenhand.profiles.ranking.tally import Tally
from evenhand.stats.intervals import Scores
from evenhand.stats.strength_posterior import as_independent, learned_fit, posterior, ranks_of, replies_together

if TYPE_CHECKING:
    from evenhand.stats.rankings import Numbers

# With one ranking, nothing says how sure it is.
_LEAST_GROUPS: Final = 2


def ranks_from(results: Iterable[CaseResult], design: RankingDesign) -> Ranks:
    """Work out the ranking from the results of a run, as far as it has come; results are read once and not kept."""
    participants = _Participants()
    try:
        tally = Tally()
        tally.take_in(groups_of(participants.record(results)))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:  # a run may come from elsewhere
        raise ConfigError(f"these are not the groups of a ranking: {error!r}") from None
    return _Fit(participants, tally, design).ranks()


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

    def __init__(self, participants: _Participants, tally: Tally, design: RankingDesign) -> None:
        self._participants, self._tally, self._seed = participants, tally, design.seed
        self._numbers, self._apart = _compared(tally)
        rankings = tally.rankings(self._numbers)
        self._together = replies_together(rankings)
        self._rankings = as_independent(rankings, self._together)
        judged = bool(self._rankings.blocks) and self._rankings.judgments >= _LEAST_GROUPS
        self._posterior = posterior(self._rankings, draws=DRAWS, level=LEVEL, seed=design.seed) if judged else None
        self._fitted = self._posterior.strengths if self._posterior else learned_fit(self._rankings)
        self._agreement = agreement(
            Round(rankings, design.is_by_lot(number)) for number, rankings in tally.rounds_among(self._numbers)
        )
        lengths = np.array(participants.lengths, dtype=np.float64)[self._numbers]
        self._doublings = np.log2(np.maximum(lengths, 1.0))
        errors = None if self._posterior is None else self._posterior.errors
        self._length = length_effect(self._doublings, self._fitted, errors)

    def ranks(self) -> Ranks:
        """Return everything that is said of the ranking."""
        tally, blamed = self._tally, _blamed(self._tally)
        shown_cycles, inside = self._cycles()
        return Ranks(
            profiles=self._places(),
            groups=tally.groups,
            rounds=tally.rounds,
            failed=tally.failures,
            apart=tuple(self._named(one) for one in self._apart),
            refused=self._named(_others(blamed, self._numbers)),
            partly_refused=self._named(blamed[np.isin(blamed, self._numbers)]),
            pending=tally.pending,
            only_ties=tally.only_ties,
            total_retries=tally.retries,
            invalid_replies=tally.invalid_replies,
            errors=tuple(tally.errors),
            agreement=self._agreement,
            position=self._position_bias(),
            length=self._length,
            cycles=shown_cycles,
            in_cycles=inside,
        )

    def _named(self, numbers: Numbers) -> tuple[str, ...]:
        return tuple(self._participants.names[number] for number in numbers.tolist())

    def _places(self) -> Places:
        """Return all in order: those who were ranked, the best first; then those who were not; ties by id."""
        participants, tally = self._participants, self._tally
        ranks, _ = ranks_of(self._fitted.values)
        order = _ordered(ranks, NamesInOrder(participants.names, self._numbers))
        others = _others(np.arange(len(tally.ranked)), self._numbers)
        unranked = sorted(others.tolist(), key=participants.names.__getitem__)
        numbers = np.concatenate([self._numbers[order], np.array(unranked, dtype=np.int64)])
        best, worst = self._ends(order)
        place_of = np.empty_like(numbers)
        place_of[numbers] = np.arange(len(numbers))
        return Places(
            ids=NamesInOrder(participants.names, numbers),
            ranks=ranks[order],
            best=best,
            worst=worst,
            tiers=self._tiers(order, best),
            strengths=self._fitted.values[order],
            groups=np.array(tally.ranked)[numbers],
            failures=np.array(tally.failed)[numbers],
            rates={int(place_of[self._numbers[place]]): rate for place, rate in self._win_rates().items()},
            attributes={int(place_of[number]): attributes for number, attributes in participants.attributes.items()},
        )

    def _ends(self, order: Numbers) -> tuple[Numbers, Numbers]:
        """Return the ends of the intervals around ranks, 0 where there is none."""
        if self._posterior is None:
            return np.zeros_like(order), np.zeros_like(order)
        enough = (np.array(self._tally.ranked)[self._numbers] >= _LEAST_GROUPS)[order]
        return np.where(enough, self._posterior.best[order], 0), np.where(enough, self._posterior.worst[order], 0)

    def _position_bias(self) -> PositionBias:
        test = self._tally.slot_test()
        if not self._rankings.has_slots:
            return PositionBias(test=test)
        interval = None if self._posterior is None else self._posterior.position
        return PositionBias(test=test, advantage=self._fitted.position, interval=interval)

    def _win_rates(self) -> dict[int, dict[str, Any]]:
        """Return the win rates of pairs: as they were, and what they would be if all texts were equally long."""
        scores: dict[int, Scores] = {}
        rivals: dict[int, list[int]] = {}
        kept = np.isin(np.array(self._tally.pairs[0], dtype=np.int64), self._numbers)
        firsts, seconds = (np.searchsorted(self._numbers, np.array(side)[kept]).tolist() for side in self._tally.pairs)
        for first, second, share in zip(firsts, seconds, np.array(self._tally.shares)[kept].tolist(), strict=True):
            for place, rival, won in ((first, second, share), (second, first, 1 - share)):
                scores.setdefault(place, Scores()).add(won)
                rivals.setdefault(place, []).append(rival)
        rates: dict[int, dict[str, Any]] = {}
        for place, place_scores in scores.items():
            rates[place] = {"win_rate": place_scores.mean, "win_rate_interval": place_scores.interval(LEVEL)}
            if self._length is not None and self._length.found:
                rates[place]["win_rate_without_length"] = without_length(
                    place_scores.mean or 0.0,
                    place,
                    rivals[place],
                    self._fitted.values,
                    self._length.doubling * self._doublings,
                )
        return rates

    def _cycles(self) -> tuple[tuple[tuple[str, ...], ...], int]:
        """Find some cycles among the best that noise does not explain, and how many profiles are in any."""
        found = cycles_beyond_noise(self._rankings, self._fitted, together=self._together, seed=self._seed)
        names = self._participants.names
        shown = tuple(tuple(names[self._numbers[place]] for place in cycle) for cycle in found.cycles)
        return shown, found.inside

    def _tiers(self, order: Numbers, best: Numbers) -> Numbers:
        """Split the order into tiers: whoever cannot be told apart from the first of a tier belongs to it.

        So all of a tier are told apart from those two tiers on. A judge that may as well shuffle has none.
        """
        tiers = np.zeros(len(order), dtype=np.int32)
        if self._posterior is None or self._agreement.beats_chance is False or self._tally.only_ties:
            return tiers
        tier, first = 0, 0
        for place in np.flatnonzero(best).tolist():
            if not tier or self._posterior.is_stronger(order[first], order[place], level=LEVEL):
                tier, first = tier + 1, place
            tiers[place] = tier
        return tiers


def _compared(tally: Tally) -> tuple[Numbers, list[Numbers]]:
    """Return those that were compared with each other, if only by way of others; and the sets that were not.

    Ranks compare all with all, so there are none between sets. The set with more than half of all has ranks. Those who
    are to blame for failures do not count: without a rank they are refused, and no round would connect them.
    """
    ranked = np.flatnonzero(np.array(tally.ranked))
    labels = tally.rankings(ranked).sets()
    sets = [ranked[labels == label] for label in np.flatnonzero(np.bincount(labels))]
    if len(sets) < 2:
        return ranked, []
    blameless = [_others(one, _blamed(tally)) for one in sets]
    sizes = [len(one) for one in blameless]
    largest = int(np.argmax(sizes))
    if 2 * sizes[largest] <= sum(sizes):
        return ranked[:0], [one for one in blameless if len(one)]
    return sets[largest], [one for place, one in enumerate(blameless) if len(one) and place != largest]


def _others(numbers: Numbers, these: Numbers) -> Numbers:
    """Return the numbers that are none of these; numpy's own loads its masked arrays, which take a megabyte."""
    return numbers[~np.isin(numbers, these)]


def _blamed(tally: Tally) -> Numbers:
    return np.array(sorted(tally.failed_groups.to_blame), dtype=np.int64)


def _ordered(ranks: Numbers, names: Sequence[str]) -> Numbers:
    """Return the places in the order of their ranks; equal ones by name."""
    order = np.argsort(ranks, kind="stable")
    begins = np.flatnonzero(np.diff(ranks[order], prepend=0))
    sizes = np.diff(begins, append=len(order))
    for tie in np.flatnonzero(sizes > 1):
        alike = slice(begins[tie], begins[tie] + sizes[tie])
        order[alike] = sorted(order[alike].tolist(), key=names.__getitem__)
    return order
