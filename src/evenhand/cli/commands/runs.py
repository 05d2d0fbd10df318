"""The list of runs: what each is about, how it stands, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from evenhand.cli.console import Console, confirm
from evenhand.cli.groups import ListByDefault, example
from evenhand.cli.options import DB, Db, Json, NoEnvFile, Verbose
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.summary import Tally
from evenhand.engine.overview import overview_of
from evenhand.profiles.job import is_ranking
from evenhand.reports.json import moment, tally_row
from evenhand.reports.phrases import counted, interval_text, moment_text, score_text
from evenhand.reports.safe_text import plain
from evenhand.store.store import Store
from evenhand.store.verification import Verified

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
        """Return it to programs."""
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


def tell(verified: Verified, console: Console) -> None:
    """Print a line about a run, and one more for each fault."""
    rows = counted(verified.rows, "row")
    if verified.uncovered:
        rows += f", {verified.uncovered:,} of them without a checksum (written by an older version)"
    if verified.is_sound:
        console.result(f"{plain(verified.id)}  ok: {rows}")
        return
    console.result(f"{plain(verified.id)}  damaged: {counted(verified.damages, 'fault')} in {rows}")
    for what in verified.told:
        console.result(f"  {plain(what, None)}")
    if (more := verified.damages - len(verified.told)) > 0:
        console.result(f"  and {more:,} more")


_AS_USUAL = 20

app = typer.Typer(cls=ListByDefault, help="List, show, verify and delete runs.", epilog=example("evenhand runs"))


@app.command("list", epilog=example("evenhand runs list --limit 5"))
def list_runs(
    *,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many, the newest first.")] = _AS_USUAL,
    db: Db = DB,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """List the runs, the newest first, with their means."""
    from evenhand.engine.store_location import StoreLocation
    from evenhand.reports.json_text import strict_json

    console = Console()
    with StoreLocation(db).opened(to_read=True) as store:
        found = store.runs.newest(limit)
        if json:
            console.result(strict_json([ListedRun.of(store, run).as_dict() for run in found]))
            return
        console.result(HEADING if found else "no runs yet")
        for run in found:  # one by one: counting a large run takes a moment
            console.result(ListedRun.of(store, run).line())


@app.command("show", epilog=example("evenhand runs show 20261115"))
def show_run(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Its id, or how that begins, or last.")],
    *,
    db: Db = DB,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Show the report of a run."""
    from evenhand.cli.runs.finish import report_of, show
    from evenhand.engine.store_location import StoreLocation

    with StoreLocation(db).opened(to_read=True) as store:
        show(report_of(store, store.runs.find(run)), Console(), json=json)


@app.command("verify", epilog=example("evenhand runs verify", "evenhand runs verify last"))
def verify_runs(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN...", help="Run ids, or the start of one; all runs if omitted.")
    ] = None,
    *,
    db: Db = DB,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Check every stored row against its checksum, and that none is missing. Exit code 1 if something is damaged."""
    from evenhand.domain.gates import ExitCode
    from evenhand.engine.store_location import StoreLocation
    from evenhand.reports.json_text import strict_json
    from evenhand.store.verification import verify_database, verify_run

    console = Console()
    with StoreLocation(db).opened(to_read=True) as store:
        troubles = verify_database(store)
        verified = []
        for wanted in runs or store.runs.ids():
            verified.append(verify_run(store, wanted))
            if not json:
                tell(verified[-1], console)
    if json:
        console.result(strict_json({"database": troubles, "runs": [one.as_dict() for one in verified]}))
    for trouble in troubles:
        console.error(trouble)
    if troubles or not all(one.is_sound for one in verified):
        raise typer.Exit(ExitCode.ERROR)


@app.command("delete", epilog=example("evenhand runs delete 20261115-093000-k7mq"))
def delete_runs(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Their ids, or how these begin.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    db: Db = DB,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Delete runs with everything in them, the replies that the cache has from them included."""
    from evenhand.engine.store_location import StoreLocation
    from evenhand.reports.phrases import counted

    console = Console()
    with StoreLocation(db).opened(to_read=True) as store:
        found = {run.id: run for run in (store.runs.find(one, verify=False) for one in runs)}
        store.require_writable()
        if not yes:
            told = ", ".join(f"{run.id} ({run.name}, {counted(run.cases, 'case')})" for run in found.values())
            confirm(console, f"Delete {told}?")
        for run in found.values():
            store.runs.delete(run)
            console.note(f"deleted {run.id}")
