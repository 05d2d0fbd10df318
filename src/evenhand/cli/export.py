"""`evenhand export RUN`: a run with everything in it, as one file."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import DB, Db, NoEnvFile, Quiet, Verbose


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
    from evenhand.engine.place import Place
    from evenhand.reports.numbers import counted
    from evenhand.reports.whole import written_whole
    from evenhand.store.transfer import export_lines

    console = Console(quiet=quiet)
    with Place(db).opened(to_read=True) as store:
        found = store.runs.find(run)
        if output is None:
            console.results(export_lines(store, found))
            return
        with written_whole(output) as file:
            file.writelines(export_lines(store, found))
    console.note(f"wrote {output}: run {found.id}, {counted(found.cases, 'case')}")
