"""`evenhand export RUN` and `evenhand import FILE`: a run with everything in it, as one file."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.console import Console, input_bytes
from evenhand.cli.options import DB, Db, DryRun, NoEnvFile, Quiet, Verbose
from evenhand.domain.errors import ConfigError


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Its id, or how that begins, or last.")],
    *,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; standard output if left out.")
    ] = None,
    db: Db = DB,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Write everything of a run to one file.

    The file is for `evenhand import`, or for programs. Its first line has the run, each further one a case with its
    answers and evaluations of all rounds, as JSON. It holds prompts and answers, and no keys.
    """
    from evenhand.engine.store_location import StoreLocation
    from evenhand.reports.phrases import counted
    from evenhand.reports.report import written_whole
    from evenhand.store.transfer import export_lines

    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        found = store.runs.find(run)
        if output is None:
            console.results(export_lines(store, found))
            return
        with written_whole(output) as file:
            file.writelines(export_lines(store, found))
    console.note(f"wrote {output}: run {found.id}, {counted(found.cases, 'case')}")


def import_run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `evenhand export` wrote; - is standard input.")],
    *,
    dry_run: DryRun = False,
    db: Db = DB,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Take in a run that was exported elsewhere.

    All of it is taken, or nothing if one line is wrong. No code that the run names is run or loaded: to go on with
    such a run, `evenhand resume` wants --trust if it would run programs or talk to servers of its own.
    """
    from evenhand.cli.options import opened_if_there
    from evenhand.engine.store_location import StoreLocation
    from evenhand.profiles.imported import case_check
    from evenhand.reports.phrases import counted
    from evenhand.store.transfer import import_lines, lines_of

    name = "standard input" if file == "-" else file
    console = Console(quiet=quiet)
    with contextlib.ExitStack() as stack:
        if file == "-":
            source = input_bytes()
        else:
            if not Path(file).is_file():
                raise ConfigError(f"{file}: there is no such file")
            source = stack.enter_context(Path(file).open("rb"))
        store = stack.enter_context(opened_if_there(db) if dry_run else StoreLocation(db).opened())
        found = import_lines(store, lines_of(source), name=name, dry_run=dry_run, check=case_check)
    known = (
        f"; here it is {found.id}, since {found.original_id} is there already" if found.id != found.original_id else ""
    )
    what = f"{counted(found.cases, 'case')} and {counted(found.evaluations, 'evaluation')} of {found.name}"
    if dry_run:
        console.note(f"{name} is sound: {what}{known}; nothing was kept")
    else:
        console.note(f"imported {what}{known}")
        console.result(found.id)
