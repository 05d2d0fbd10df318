"""Profiles that were ranked, as a program gets them: in order, with how sure each place is."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenhand.domain.errors import ConfigError
from evenhand.domain.run_kind import is_ranking
from evenhand.engine.run import Run
from evenhand.engine.store_location import DEFAULT, PlaceLike
from evenhand.profiles.ranking import report
from evenhand.profiles.ranking.result import Agreement, LengthEffect, PositionBias, RankedProfile, Ranks


class RankedProfiles:
    """What ``rank`` gives: iterate over it for the ``RankedProfile`` of each profile, the best first.

    >>> from evenhand import Scripted, rank
    >>> judge = Scripted(['{"reasoning": "Years.", "order": ["B", "A", "C"]}'])
    >>> profiles = ["Two years a nurse.", "Ten years a nurse.", "A baker."]
    >>> ranked = rank(profiles, criteria="Experience in care", judge=judge, rounds=1, store=None)
    >>> ranked.order == tuple(profile.id for profile in ranked), [profile.rank for profile in ranked]
    (True, [1, 2, 3])

    ``run`` is the run behind it, whose cases are the groups. ``RankedProfiles.open()`` opens the last one that is
    stored, ``RankedProfiles.open(id)`` any other.
    """

    def __init__(self, run: Run) -> None:
        if not is_ranking(run.record.definition):
            raise ConfigError(f"run {run.id} does not rank profiles; its numbers are in Run.open({run.id!r})")
        self.run = run

    @classmethod
    def open(cls, wanted: str = "last", *, store: PlaceLike = DEFAULT) -> RankedProfiles:
        """Open a stored run by its id, by the beginning of it, or as ``last`` or ``previous``."""
        return cls(Run.open(wanted, store=store))

    @property
    def ranks(self) -> Ranks:
        """Everything that is said of the ranking, worked out once."""
        return report.ranks_of(self.run.whole_report)

    def __len__(self) -> int:
        return len(self.ranks.profiles)

    def __iter__(self) -> Iterator[RankedProfile]:
        return iter(self.ranks.profiles)

    def __getitem__(self, profile_id: str) -> RankedProfile:
        """Return the place of the profile with an id."""
        return self.ranks.profiles[self._places[profile_id]]

    @functools.cached_property
    def _places(self) -> dict[str, int]:
        """The places by id, made at the first lookup."""
        return {identity: place for place, identity in enumerate(self.ranks.profiles.ids)}

    @property
    def order(self) -> tuple[str, ...]:
        """The ids of the profiles that were ranked, the best first."""
        return self.ranks.order

    @property
    def position_bias(self) -> PositionBias:
        """Whether the judge favours a position."""
        return self.ranks.position

    @property
    def length(self) -> LengthEffect | None:
        """What a text of twice the length is stronger by; None where there is too little to say."""
        return self.ranks.length

    @property
    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """Some ids in which each was preferred to the next, and the last to the first."""
        return self.ranks.cycles

    @property
    def agreement(self) -> Agreement:
        """Whether the judge can be told from one that shuffles: how often earlier rounds predict later ones."""
        return self.ranks.agreement

    @property
    def tiers(self) -> int:
        """How many tiers can be told apart."""
        return self.ranks.tiers

    @property
    def failed_groups(self) -> int:
        """How many groups the judge failed to rank; ``errors`` says why."""
        return self.ranks.failed

    @property
    def errors(self) -> tuple[tuple[str, str], ...]:
        """The first fifty groups that failed, each with what went wrong."""
        return self.ranks.errors

    def report(self) -> str:
        """Return the ranking as text for people."""
        return report.terminal(self.run.whole_report)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the places as plain JSON values, the best first."""
        return [profile.as_dict() for profile in self]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the ranking to a file, whose ending says the format: ``ranked.save("ranking.csv")``."""
        report.write(self.run.whole_report, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        return f"RankedProfiles of run {self.run.id}: {report.in_short(self.run.whole_report)}"
