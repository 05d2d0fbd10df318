"""`evenhand report [RUN]`: show a run, or write its report to files."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import DB, OUTPUT_HELP, Canonical, Db, Json, NoEnvFile, Quiet, Verbose, called
from evenhand.domain.errors import ConfigError


def report(
    ctx: typer.Context,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Its id, or how that begins; the last one if left out.")
    ] = "last",
    *,
    canonical: Canonical = False,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="FILE", help=f"{OUTPUT_HELP} Then nothing is shown."),
    ] = None,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Show the report of a run, or write it to files.

    Everything comes from the database: no judge is asked, and no code of the suite runs. Two runs that came to the same
    have the same canonical report, byte for byte.
    """
    from evenhand.cli.runs.finish import report_of, show, write_files
    from evenhand.engine.store_location import StoreLocation
    from evenhand.reports.json import write_canonical
    from evenhand.reports.report import format_of

    if canonical and output:
        raise ConfigError(f"{called(ctx, 'canonical')} goes to standard output; leave out --output, and write > FILE")
    for path in output or ():
        format_of(path)
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        found = report_of(store, store.runs.find(run))
        if canonical:
            write_canonical(found, console.out)
        elif output:
            write_files(found, output, console)
        if json or not (canonical or output):
            show(found, console, json=json)
