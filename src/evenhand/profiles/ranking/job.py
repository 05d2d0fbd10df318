"""Ranking profiles as a run like any other: its first round is planned, and each further one follows from the last."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import PlannedCase, RunRecord
from evenhand.domain.run_kind import PROFILES, RANKING
from evenhand.engine.job import Job
from evenhand.evaluators.group_ranking import GROUP_RANKING
from evenhand.evaluators.pairwise import PairwiseEvaluator
from evenhand.profiles.job import ProfileJob
from evenhand.profiles.ranking.design import RankingDesign, SoFar
from evenhand.profiles.ranking.entrants import Entrants, entrants_of
from evenhand.profiles.ranking.groups import ROUND, Part, entrants_in, group_case, groups_of, part_case
from evenhand.profiles.ranking.tally import Tally
from evenhand.profiles.sources import profiles_from
from evenhand.store.results import planned_at
from evenhand.store.store import Store


class Rounds:
    """The rounds of a ranking: the first from the profiles alone, the others from what the store has of those before.

    ``entrants`` gives the profiles of a run that begins; those of one that goes on are in its first round.
    """

    def __init__(self, design: RankingDesign, entrants: Callable[[], Entrants] | None = None) -> None:
        self.design = design
        self._make = entrants
        self._begin_again()

    def _begin_again(self) -> None:
        self._entrants: Entrants | None = None
        self._tally = Tally(in_pairs=self.design.in_pairs)

    def first(self) -> Iterator[PlannedCase]:
        """Return the groups of the first round."""
        entrants = self._all()
        groups = self.design.groups(0, SoFar.nothing(entrants.count))
        if self.design.rounds == 1 and len(groups) > 1 and self.design.name != "staged":
            raise ConfigError(
                f"rounds is 1, and {entrants.count:,} profiles are more than one group of {self.design.group_size}: "
                "those of different groups would never be compared, and have no joint ranks; set rounds to 2 or more"
            )
        return self._cases(0, groups, first=0)

    def every(self) -> Iterator[PlannedCase]:
        """Yield groups in the number and sizes of all rounds; the members of later rounds are not known yet."""
        entrants = self._all()
        position = 0
        for number in range(len(self.design.taking_part(entrants.count))):
            groups = self.design.groups(number, SoFar.nothing(entrants.count))
            yield from self._cases(number, groups, first=position)
            position += len(groups)

    def total(self, store: Store, run: RunRecord) -> int:
        """Return how many groups there will be in the end: those planned so far, some of them parts, and the others."""
        last = planned_at(store, run, [run.cases - 1])[run.cases - 1]
        rounds_planned = last.case.metadata[ROUND]
        return run.cases + sum(self.design.group_counts(self._all(store, run).count)[rounds_planned:])

    def cases(self, store: Store, run: RunRecord) -> Iterable[PlannedCase]:
        """Return the parts of groups that failed, or else the groups of the next round, none after the last."""
        entrants = self._all(store, run)
        tally = self._tally
        tally.take_in(groups_of(store.results(run, first=tally.groups)))  # those of rounds since the last time
        if parts := tally.failed_groups.split(tally.ranked, self.design.seed):
            return self._part_cases(parts, first=run.cases)
        number, count = tally.rounds, entrants.count
        if number < len(self.design.taking_part(count)) + self.design.may_add_group:
            so_far = tally.so_far(count, with_strengths=self.design.goes_by_strength(number, count))
            if groups := self.design.groups(number, so_far):
                return self._cases(number, groups, first=run.cases)
        self._begin_again()  # whoever wants the ranking reads it from the store, and may need the room
        return ()

    def _cases(self, number: int, groups: Sequence[Sequence[int]], *, first: int) -> Iterator[PlannedCase]:
        entrants = self._all()
        for place, group in enumerate(groups):
            members = entrants.taken(group)
            yield group_case(first + place, number, place, members, in_pairs=self.design.in_pairs)

    def _part_cases(self, parts: Sequence[Part], *, first: int) -> Iterator[PlannedCase]:
        entrants = self._all()
        for _, alike in itertools.groupby(enumerate(parts), key=lambda numbered: numbered[1].of):
            for place, (number, part) in enumerate(alike):
                members = entrants.taken(part.members)
                yield part_case(first + number, part, place, members, in_pairs=self.design.in_pairs)

    def _all(self, store: Store | None = None, run: RunRecord | None = None) -> Entrants:
        if self._entrants is None:
            if self._make is not None:
                self._entrants = self._make()
            elif store is not None and run is not None:
                self._entrants = Entrants(entrants_in(store.results(run)))
            else:
                raise RuntimeError("the profiles of a stored ranking are in its store")
        return self._entrants


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingJob(ProfileJob):
    """Profiles that are to be ranked, and by which design."""

    design: RankingDesign = field(default_factory=RankingDesign)

    def job(self) -> Job:
        """Make the job that the engine does: the first round, and the others after it."""
        rounds = Rounds(self.design, lambda: Entrants(entrants_of(profiles_from(self.profiles))))
        kind = PairwiseEvaluator.type if self.design.in_pairs else GROUP_RANKING
        return self.job_with(
            mode={"mode": RANKING, **self.design.as_dict()},
            evaluator={"name": "rank", "type": kind},
            cases=rounds.first,
            following=rounds,
            has_verdicts=False,
        )


def all_rounds(job: Job) -> Job:
    """Return a ranking's job with all rounds at once: good for an estimate of what they take, not for a run."""
    rounds = job.following
    assert isinstance(rounds, Rounds)  # noqa: S101 - a ranking's job has no other
    return replace(job, cases=rounds.every, following=None)


def design_of(definition: Mapping[str, Any]) -> RankingDesign:
    """Return the design of a ranking from its run's definition."""
    return RankingDesign.from_dict(definition[PROFILES])
