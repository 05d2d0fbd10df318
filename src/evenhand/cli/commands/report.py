"""`evenhand report` and `evenhand compare`: show a run, or one run against another."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from evenhand.api.runs import compare as compare_runs
from evenhand.cli.console import Console
from evenhand.cli.options import (
    DB,
    OUTPUT_HELP,
    RUN_HELP,
    Canonical,
    ComparisonFiles,
    Db,
    Json,
    Quiet,
    RunOrLast,
    display_name,
)
from evenhand.cli.runs.finish import report_of, show, write_files
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode
from evenhand.engine.store_location import StoreLocation
from evenhand.reports.comparison import comparison_json, comparison_text, comparison_writer, write_comparison
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


_DEFAULT_LIMIT: Final = 10


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=f"The baseline: {RUN_HELP}")],
    b: Annotated[str, typer.Argument(metavar="B", help="The run to compare with it.")],
    *,
    evaluator: Annotated[
        str | None, typer.Option("--evaluator", metavar="NAME", help="Compare by this evaluator, not by whole cases.")
    ] = None,
    # Not called limit here: that is a setting of other commands, and means something else.
    max_changes: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="How many changed cases to list, largest changes first.")
    ] = _DEFAULT_LIMIT,
    files: ComparisonFiles = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare runs that are unfinished, or were answered or judged differently.")
    ] = False,
    model_a: Annotated[
        str | None, typer.Option("--model-a", metavar="NAME", help="Which model to compare, if run A has several.")
    ] = None,
    model_b: Annotated[
        str | None, typer.Option("--model-b", metavar="NAME", help="Which model to compare, if run B has several.")
    ] = None,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="Exit with 100 if B is significantly worse.")
    ] = False,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Compare two runs, case by case.

    Is run B better than run A? Cases are paired by their ids. The report has the difference with its confidence
    interval, a significance test, wins and losses, and the cases that changed; if there is too little data, it says so.
    Runs judged by different judges, evaluators or rubrics are refused. A run of one model is compared with the answers
    of the same model in a run of several.
    """
    for path in files or ():
        comparison_writer(path)
    console = Console(quiet=quiet)
    comparison = compare_runs(
        a, b, evaluator=evaluator, limit=max_changes, anyway=anyway, model_a=model_a, model_b=model_b, store=db
    )
    for path in files or ():
        write_comparison(comparison, path)
        console.note(f"wrote {path}")
    if json:
        console.result(comparison_json(comparison))
    elif not files and not quiet:
        console.result(comparison_text(comparison, width=console.width))
    return ExitCode.GATE_FAILED if fail_if_worse and comparison.subject.scores.worse else ExitCode.OK
