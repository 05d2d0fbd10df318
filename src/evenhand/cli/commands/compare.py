"""`evenhand compare A B`: one run against another, case by case."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import DB, Db, Json, NoEnvFile, Quiet, Verbose
from evenhand.domain.gates import ExitCode

_AS_USUAL: Final = 10


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="The run before: its id, or how that begins, or last.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The run after, which is compared with it.")],
    *,
    evaluator: Annotated[
        str | None, typer.Option("--evaluator", metavar="NAME", help="Compare by this evaluator, not by whole cases.")
    ] = None,
    # Not called limit and output here: those are settings of other commands, and mean something else.
    most_changes: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="How many changed cases to list, the largest first.")
    ] = _AS_USUAL,
    files: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to a file: .md or .json. Then nothing is shown."),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare runs that are not finished, or were judged differently.")
    ] = False,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="End with 100 if B is worse beyond chance.")
    ] = False,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Tell whether run B is better than run A, case by case.

    Cases are paired by their ids. The difference comes with its interval, a test by name, wins and losses, and the
    cases that changed; where there is too little data, that is said instead. Runs that were judged by other judges,
    evaluators or rubrics are refused.
    """
    from evenhand.api.runs import compare as compare_runs
    from evenhand.reports.comparison import comparison_json, comparison_text, comparison_writer, write_comparison

    for path in files or ():
        comparison_writer(path)
    console = Console(quiet=quiet)
    found = compare_runs(a, b, evaluator=evaluator, limit=most_changes, anyway=anyway, store=db)
    for path in files or ():
        write_comparison(found, path)
        console.note(f"wrote {path}")
    if json:
        console.result(comparison_json(found))
    elif not files and not quiet:
        console.result(comparison_text(found, width=console.width))
    if fail_if_worse and found.subject.scores.worse:
        raise typer.Exit(ExitCode.GATE_FAILED)
