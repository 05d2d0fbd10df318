"""A run in a list of runs: with its numbers, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from fastapi import Request

from evenhand.domain.run import RunRecord
from evenhand.domain.summary import Tally
from evenhand.reports.effort import Effort
from evenhand.reports.numbers import NONE, moment_text
from evenhand.reports.rows import moment
from evenhand.server.counting import Counted, Numbers
from evenhand.server.desk import RunDesk
from evenhand.server.lineage import is_baseline
from evenhand.server.progress import AT_WORK
from evenhand.server.run_rows import MOST_CASES_IN_LIST


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A run in a list; ``numbers`` is None where ``why`` says that nobody counted them."""

    run: RunRecord
    numbers: Numbers | None
    why: str = ""

    @classmethod
    def of(cls, request: Request, run: RunRecord) -> Row:
        """Make the row of a run; nobody waits for the numbers of a large one."""
        if run.status in AT_WORK:
            told = cast("RunDesk", request.app.state.desk).progress(run.id) or {}
            return cls(run=run, numbers=None, why=f"{told.get('done', 0):,} of {told.get('total', 0):,} evaluations")
        counted, store = counted_in(request), request.app.state.store
        if run.cases > MOST_CASES_IN_LIST and not counted.has(store, run):
            return cls(run=run, numbers=None, why="large: open it to count")
        return cls(run=run, numbers=counted.of(store, run))

    @property
    def cases(self) -> Tally | None:
        """The numbers of its cases."""
        return None if self.numbers is None else self.numbers.summary.cases

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
        """Whether others are held against it."""
        return is_baseline(self.run)


def counted_in(request: Request) -> Counted:
    """Give the numbers that this server has counted so far."""
    return cast("Counted", request.app.state.counted)
