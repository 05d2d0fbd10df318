"""A report: a run, its numbers, its gates, and a way to go through its cases as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evenhand.domain.gates import GateResult
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.summary import Summary
from evenhand.reports.highlights import Highlights
from evenhand.reports.overview import Overview, survey
from evenhand.reports.standing import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the writers of all formats get.

    ``results`` gives the cases in suite order, anew at each call; writers go through them one by one and keep none,
    so that a report of a million cases takes no more memory than one of ten. Where there is an ``overview``, ``at``
    gives the cases of some positions, in their order, and nobody goes through all of them to show a few.
    """

    run: RunRecord
    summary: Summary
    results: Callable[[], Iterable[CaseResult]]
    gates: tuple[GateResult, ...] = ()
    overview: Overview | None = None
    at: Callable[[Sequence[int]], Iterable[CaseResult]] | None = None

    def highlights(self) -> Highlights:
        """Return the cases to look at first."""
        if self.overview is None or self.at is None:
            return Highlights.of(self.results())
        return Highlights.shown(self.at(self.overview.worst), self.at(self.overview.broken))

    def bins(self) -> Sequence[Mapping[Standing, int]]:
        """Return how many cases have which score, by standing."""
        return (self.overview or survey(self.results())).bins
