"""`evenhand runs`: list, show, verify and delete runs."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.confirming import confirm
from evenhand.cli.console import Console
from evenhand.cli.examples import example
from evenhand.cli.groups import ListByDefault
from evenhand.cli.options import DB, Db, Json, NoEnvFile, Verbose

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
    from evenhand.cli.listing import HEADING, ListedRun
    from evenhand.engine.place import Place
    from evenhand.reports.strict import strict_json

    console = Console()
    with Place(db).opened(to_read=True) as store:
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
    from evenhand.cli.ending import report_of, show
    from evenhand.engine.place import Place

    with Place(db).opened(to_read=True) as store:
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
    from evenhand.cli.verified import tell
    from evenhand.domain.gates import ExitCode
    from evenhand.engine.place import Place
    from evenhand.reports.strict import strict_json
    from evenhand.store.verification import verify_database, verify_run

    console = Console()
    with Place(db).opened(to_read=True) as store:
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
    from evenhand.engine.place import Place
    from evenhand.reports.numbers import counted

    console = Console()
    with Place(db).opened(to_read=True) as store:
        found = {run.id: run for run in (store.runs.find(one, verify=False) for one in runs)}
        store.database.require_writable()
        if not yes:
            told = ", ".join(f"{run.id} ({run.name}, {counted(run.cases, 'case')})" for run in found.values())
            confirm(console, f"Delete {told}?")
        for run in found.values():
            store.runs.delete(run)
            console.note(f"deleted {run.id}")
