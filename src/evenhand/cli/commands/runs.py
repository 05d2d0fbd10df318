"""`evenhand runs`: list, show, label, tag, verify and delete runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from evenhand.cli.console import Console, confirm
from evenhand.cli.options import DB, Db, Json, RunId, Yes
from evenhand.cli.runs.finish import report_of, show
from evenhand.domain.errors import ConfigError, ConflictError
from evenhand.domain.exit_code import ExitCode
from evenhand.domain.run import TAGS, RunRecord, RunStatus
from evenhand.domain.run_kind import has_verdicts, highest_score, is_ranking
from evenhand.domain.summary import Tally
from evenhand.engine.overview import listed_overview
from evenhand.engine.store_location import StoreLocation, run_command
from evenhand.reports.json import moment, tally_row, without_verdicts
from evenhand.reports.phrases import NONE, counted, interval_text, moment_text, score_text
from evenhand.reports.safe_text import plain, strict_json
from evenhand.store.results import count_evaluations
from evenhand.store.store import Store
from evenhand.store.verification import Verified, verify_database, verify_run

_WIDTHS: Final = (-20, -24, -11, -20, 9, 6, 5)


def _line(*cells: str) -> str:
    """Return cells in columns; those with a negative width are aligned left."""
    *placed, last = cells
    columns = [
        cell.rjust(width) if width > 0 else cell.ljust(-width) for cell, width in zip(placed, _WIDTHS, strict=True)
    ]
    return "  ".join([*columns, last])


HEADING: Final = _line("run", "suite", "status", "began", "cases", "errors", "mean", "95 %")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A run in the list; ``status`` is ``interrupted`` also for a run that was killed and could not store that.

    ``tally`` is None for a run in progress that is too large to be counted for a list; ``evaluations`` is how many it
    has by now, of all rounds. Its scores are from 0 to ``scale``, which is None for a ranking, whose ``outcome`` is in
    words.
    """

    run: RunRecord
    status: RunStatus
    tally: Tally | None
    evaluations: int
    scale: int | None
    outcome: str = ""

    @classmethod
    def of(cls, store: Store, run: RunRecord) -> ListedRun:
        """Return a run with its numbers."""
        status = store.runs.actual_status(run)
        overview, scale = listed_overview(store, run), highest_score(run.definition)
        tally = None if overview is None else overview.summary.cases.scaled(scale or 1)
        if tally is not None and scale is None:  # the score of a group says only that it was ranked
            tally = replace(tally, mean=None, interval=None, mean_if_errors_zero=None)
        outcome = ""
        if overview is not None and is_ranking(run.definition):
            from evenhand.profiles.ranking.outcome import ranking_outcome  # noqa: PLC0415 - few runs are rankings

            outcome = ranking_outcome(store, run, overview)
        evaluations = count_evaluations(store, run)
        return cls(run=run, status=status, tally=tally, evaluations=evaluations, scale=scale, outcome=outcome)

    def line(self) -> str:
        """Return the run as a line of the table."""
        run, tally = self.run, self.tally
        if tally is None:
            errors, found = NONE, (NONE, f"{counted(self.evaluations, 'evaluation')} so far")
        elif self.outcome:
            errors, found = f"{tally.by_answer.errors:,}", (NONE, self.outcome)
        else:
            scale = f" (0–{self.scale})" if self.scale not in (None, 1) else ""
            errors, found = (
                f"{tally.by_answer.errors:,}",
                (score_text(tally.mean), interval_text(tally.interval) + scale),
            )
        return _line(
            run.id,
            plain(f"{run.name}: {run.label}" if run.label else run.name, 24),
            self.status.value,
            moment_text(run.created),
            f"{run.cases:,}",
            errors,
            *found,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the run as plain JSON values."""
        run = self.run
        return {
            "id": run.id,
            "name": run.name,
            "label": run.label,
            "tags": list(run.tags),
            "status": self.status.value,
            "reason": run.reason,
            "created": moment(run.created),
            "finished": None if run.finished is None else moment(run.finished),
            "cases": run.cases,
            "repeat": run.repeat,
            "evaluations": self.evaluations,
            "scale": self.scale,
            "summary": None if self.tally is None else self._summary(self.tally),
        }

    def _summary(self, tally: Tally) -> dict[str, Any]:
        row = tally_row(tally)
        return row if has_verdicts(self.run.definition) else without_verdicts(row)


def show_verified(verified: Verified, console: Console) -> None:
    """Print a line about a run, and one more for each fault."""
    rows = counted(verified.rows, "row")
    if verified.uncovered:
        rows += f", {verified.uncovered:,} of them without a checksum (written by an older version)"
    if verified.is_sound:
        console.result(f"{plain(verified.id)}  ok: {rows}")
        return
    console.result(f"{plain(verified.id)}  damaged: {counted(verified.damages, 'fault')} in {rows}")
    for fault in verified.told:
        console.result(f"  {plain(fault, None)}")
    if (more := verified.damages - len(verified.told)) > 0:
        console.result(f"  and {more:,} more")


_DEFAULT_LIMIT: Final = 20


def list_runs(
    *,
    # Not called limit here: that is a setting of other commands, and counts cases.
    max_runs: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="How many runs to list.")
    ] = _DEFAULT_LIMIT,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help="Only runs that have this tag; may be given several times."),
    ] = None,
    db: Db = DB,
    json: Json = False,
) -> None:
    """List the runs with their mean scores, newest first."""
    console = Console()
    with StoreLocation(db).opened(to_read=True) as store:
        records = _tagged(store, tags)[:max_runs] if tags else store.runs.newest(max_runs)
        if json:
            console.result(strict_json([ListedRun.of(store, run).as_dict() for run in records]))
            return
        nothing = f"no run is tagged {plain(' and '.join(tags))}" if tags else "no runs yet"
        console.result(HEADING if records else nothing)
        for run in records:  # one by one: counting a large run takes a moment
            console.result(ListedRun.of(store, run).line())


def _tagged(store: Store, tags: Sequence[str]) -> list[RunRecord]:
    return [run for run in store.runs.with_option(TAGS) if set(tags) <= set(run.tags)]


def show_run(
    run: RunId,
    *,
    db: Db = DB,
    json: Json = False,
) -> None:
    """Show the report of a run."""
    with StoreLocation(db).opened(to_read=True) as store:
        show(report_of(store, store.runs.find(run)), Console(), json=json)


def label_run(
    run: RunId,
    label: Annotated[str, typer.Argument(metavar="TEXT", help="What to call the run; empty for no label.")],
    *,
    db: Db = DB,
) -> None:
    """Set or remove the label of a run."""
    with StoreLocation(db).opened(to_read=True) as store:
        record = store.runs.find(run)
        store.require_writable()
        record = store.runs.set_label(record, label.strip())
    Console().note(f"{record.id} is labelled {plain(record.label)}" if record.label else f"{record.id} has no label")


def tag_run(
    run: RunId,
    tags: Annotated[list[str] | None, typer.Argument(metavar="TAG...", help="Tags to add.")] = None,
    *,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="TAG", help="A tag to remove; may be given several times."),
    ] = None,
    db: Db = DB,
) -> None:
    """Add tags to a run, or remove some."""
    if not tags and not remove:
        raise ConfigError("no tag is given; name tags to add, or one to remove with --remove TAG")
    with StoreLocation(db).opened(to_read=True) as store:
        record = store.runs.find(run)
        store.require_writable()
        record = store.runs.change_tags(record, add=tags or (), remove=remove or ())
    tagged = f"is tagged {plain(', '.join(record.tags), None)}" if record.tags else "has no tags"
    Console().note(f"{record.id} {tagged}")


def verify_runs(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN...", help="Run ids, or the start of one; all runs if omitted.")
    ] = None,
    *,
    db: Db = DB,
    json: Json = False,
) -> ExitCode:
    """Check every stored row against its checksum, and that none is missing. Exit code 1 if something is damaged."""
    console = Console()
    with StoreLocation(db).opened(to_read=True) as store:
        faults = verify_database(store)
        verified = []
        for run in runs or store.runs.ids():
            verified.append(verify_run(store, run))
            if not json:
                show_verified(verified[-1], console)
    if json:
        console.result(strict_json({"database": faults, "runs": [run.as_dict() for run in verified]}))
    for fault in faults:
        console.error(fault)
    return ExitCode.ERROR if faults or not all(run.is_sound for run in verified) else ExitCode.OK


def delete_runs(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run ids, or the start of one.")],
    *,
    anyway: Annotated[
        bool,
        typer.Option("--anyway", help="Also delete runs with pending batches, whose replies are paid for and lost."),
    ] = False,
    yes: Yes = False,
    db: Db = DB,
) -> None:
    """Delete runs with everything in them, including their cached replies."""
    console = Console()
    with StoreLocation(db).opened(to_read=True) as store:
        records = {run.id: run for run in (store.runs.find(run_id, verify=False) for run_id in runs)}
        store.require_writable()
        for run in records.values():
            _require_deletable(store, run, anyway=anyway)
        if not yes:
            listed = ", ".join(f"{run.id} ({run.name}, {counted(run.cases, 'case')})" for run in records.values())
            confirm(console, f"Delete {listed}?")
        for run in records.values():
            store.runs.delete(run, with_batches=anyway)
            console.note(f"deleted {run.id}")


def _require_deletable(store: Store, run: RunRecord, *, anyway: bool) -> None:
    """Refuse to delete a run in progress, or one with pending batches: then with the commands that help."""
    try:
        store.runs.require_deletable(run, with_batches=anyway)
    except ConflictError as error:
        raise ConflictError(
            f"{error}\nTo read them: {run_command('resume', run.id, store.address)}\n"
            f"To cancel them: {run_command('runs cancel-batches', run.id, store.address)}\n"
            "To delete the run all the same, add --anyway"
        ) from None
