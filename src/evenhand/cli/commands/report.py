"""`evenhand report [RUN]`: show a run, or write its report to files."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import DB, OUTPUT_HELP, Canonical, Db, Json, Quiet, RunOrLast, display_name
from evenhand.cli.runs.finish import report_of, show, write_files
from evenhand.domain.errors import ConfigError
from evenhand.engine.store_location import StoreLocation
from evenhand.reports.json import write_canonical
from evenhand.reports.report import format_of


def report(
    ctx: typer.Context,
    run: RunOrLast = "last",
    *,
    canonical: Canonical = False,
    # Not called output here: that is a setting of other commands, which have something to show besides.
    files: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="FILE", help=f"{OUTPUT_HELP} Then nothing is printed."),
    ] = None,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the report of a run, or write it to files.

    Everything comes from the database: no judge is asked, and no code of the suite runs. Two runs with the same results
    have the same canonical report, byte for byte.
    """
    if canonical and files:
        flag = display_name(ctx, "canonical")
        raise ConfigError(f"{flag} prints to standard output; leave out --output, and write > FILE")
    for path in files or ():
        format_of(path)
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        stored = report_of(store, store.runs.find(run))
        if canonical:
            write_canonical(stored, console.out)
        elif files:
            write_files(stored, files, console)
        if json or not (canonical or files):
            show(stored, console, json=json)
