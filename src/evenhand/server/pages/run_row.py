"""A run in a list of runs: with its numbers, or the reason why there are none."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.domain.run import RunRecord
from evenhand.domain.summary import Tally
from evenhand.evaluators.profile_score import SCALE
from evenhand.profiles.job import is_audit
from evenhand.profiles.scores import from_0_to_10
from evenhand.reports.json import moment
from evenhand.reports.phrases import NONE, Effort, moment_text
from evenhand.server.runs.baseline import is_baseline
from evenhand.server.runs.manager import RunManager
from evenhand.server.runs.profile_summaries import scale_of
from evenhand.server.runs.progress import AT_WORK
from evenhand.server.runs.summaries import Numbers, SummaryCache
from evenhand.server.runs.views import MOST_CASES_IN_LIST
from evenhand.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A run in a list; if ``numbers`` is None, ``why`` is the reason."""

    run: RunRecord
    numbers: Numbers | None
    why: str = ""

    @classmethod
    def of(cls, store: Store, run: RunRecord, manager: RunManager, summaries: SummaryCache) -> Row:
        """Make the row of a run; nobody waits for the numbers of a large one."""
        if run.status in AT_WORK:
            progress = manager.progress(run.id) or {}
            done, total = progress.get("done", 0), progress.get("total", 0)
            return cls(run=run, numbers=None, why=f"{done:,} of {total:,} evaluations")
        if run.cases > MOST_CASES_IN_LIST and not summaries.has(store, run):
            return cls(run=run, numbers=None, why="large: open it to see its numbers")
        return cls(run=run, numbers=summaries.of(store, run))

    @property
    def cases(self) -> Tally | None:
        """The numbers of its cases, those of profiles from 0 to 10."""
        if self.numbers is None:
            return None
        found = self.numbers.summary.cases
        return from_0_to_10(found) if self.scale == SCALE.high else found

    @property
    def scale(self) -> int | None:
        """The highest score; None for a ranking, which has no scores."""
        return scale_of(self.run)

    @property
    def has_verdicts(self) -> bool:
        """Whether its cases pass or fail: no group does, and no profile of an audit."""
        return self.scale is not None and not self.has_audit

    @property
    def has_audit(self) -> bool:
        """Whether it has a page as an audit."""
        return is_audit(self.run.definition)

    @property
    def cost(self) -> str:
        """What it cost."""
        return NONE if self.numbers is None else Effort.of(self.numbers.summary, self.run).cost or NONE

    @property
    def when(self) -> str:
        """When it began."""
        return moment_text(self.run.created).removesuffix(" UTC")

    @property
    def moment(self) -> str:
        """When it began, for programs."""
        return moment(self.run.created)

    @property
    def is_baseline(self) -> bool:
        """Whether it is a baseline."""
        return is_baseline(self.run)
