"""The list of runs: what each is about, how it stands, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.summary import Tally
from evenhand.engine.overview import overview_of
from evenhand.profiles.undertaken import is_ranking
from evenhand.reports.numbers import interval_text, moment_text, score_text
from evenhand.reports.plain import plain
from evenhand.reports.rows import moment, tally_row
from evenhand.store.store import Store

_WIDTHS: Final = (-20, -24, -11, -20, 9, 6, 4)


def _line(*cells: str) -> str:
    """Put cells into columns; those of a negative width begin at their left end."""
    *placed, last = cells
    columns = [
        cell.rjust(width) if width > 0 else cell.ljust(-width) for cell, width in zip(placed, _WIDTHS, strict=True)
    ]
    return "  ".join([*columns, last])


HEADING: Final = _line("run", "suite", "status", "began", "cases", "errors", "mean", "95 %")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A run in the list; ``status`` says what is so, where the run itself could not say that it was cut off."""

    run: RunRecord
    status: RunStatus
    tally: Tally

    @classmethod
    def of(cls, store: Store, run: RunRecord) -> ListedRun:
        """Tell what a run has come to."""
        at_work = run.status in (RunStatus.RUNNING, RunStatus.PLANNING)
        status = RunStatus.INTERRUPTED if at_work and not store.runs.in_hand(run) else run.status
        tally = overview_of(store, run).summary.cases
        if is_ranking(run.definition):  # the score of a group says that it was ranked, and nothing else
            tally = replace(tally, mean=None, interval=None, mean_if_errors_zero=None)
        return cls(run=run, status=status, tally=tally)

    def line(self) -> str:
        """Show it to people."""
        run, tally = self.run, self.tally
        return _line(
            run.id,
            plain(run.name, 24),
            self.status.value,
            moment_text(run.created),
            f"{run.cases:,}",
            f"{tally.errors:,}",
            score_text(tally.mean),
            interval_text(tally.interval),
        )

    def as_dict(self) -> dict[str, Any]:
        """Give it to programs."""
        run = self.run
        return {
            "id": run.id,
            "name": run.name,
            "status": self.status.value,
            "reason": run.reason,
            "created": moment(run.created),
            "finished": None if run.finished is None else moment(run.finished),
            "cases": run.cases,
            "repeat": run.repeat,
            "summary": tally_row(self.tally),
        }
