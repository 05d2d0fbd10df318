"""`evenhand validate SUITE`: find everything that is wrong with a suite, without a key or a network."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import Json, NoEnvFile, Quiet, Verbose
from evenhand.domain.gates import ExitCode


def validate(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="The suite's file: .yaml, .json or .jsonl.")],
    *,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Find everything that is wrong with a suite.

    Nobody is asked, no key is needed, and no code of the suite runs. Exit codes: 0 it can be run, 2 it cannot.
    """
    from evenhand.reports.numbers import counted
    from evenhand.reports.plain import plain
    from evenhand.reports.strict import strict_json
    from evenhand.suites.problems import check

    console = Console(quiet=quiet)
    found = check(suite)
    if json:
        told = {"suite": suite, "cases": found.cases, "problems": list(found.problems), "notes": list(found.notes)}
        console.result(strict_json(told))
    else:
        for problem in found.problems:
            console.result(plain(problem, None))
        for note in found.notes:
            console.note(f"note: {note}")
        if not found.problems:
            console.note(f"{suite}: {counted(found.cases, 'case')}, nothing wrong")
    raise typer.Exit(ExitCode.USAGE if found.problems else ExitCode.OK)
