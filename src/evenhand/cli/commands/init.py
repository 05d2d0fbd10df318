"""`evenhand init` and `evenhand validate`: a first suite, and everything that is wrong with one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import Json, NoEnvFile, Quiet, Verbose
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import ExitCode


def init(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where; here if left out.")] = ".",
    *,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Write a first suite, which runs at once and without a key. Nothing is written over."""
    from evenhand.suites.template import init_files

    place = Path(folder)
    files = {place / name: text for name, text in init_files().items()}
    there = [str(path) for path in files if path.exists()]
    if there:
        raise ConfigError(
            f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} there already; name another folder"
        )
    place.mkdir(parents=True, exist_ok=True)
    console = Console(quiet=quiet)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
        console.note(f"wrote {path}")
    first = next(iter(files))
    console.note(f"Now try: evenhand run {first}")


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
    from evenhand.reports.json_text import strict_json
    from evenhand.reports.phrases import counted
    from evenhand.reports.safe_text import plain
    from evenhand.suites.suite import check

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
