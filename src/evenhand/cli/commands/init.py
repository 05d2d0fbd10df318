"""`evenhand init` and `evenhand validate`: a first suite, and the mistakes in one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import Json, Quiet, Suites
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode
from evenhand.reports.phrases import counted
from evenhand.reports.safe_text import plain, strict_json
from evenhand.suites.template import init_files


def init(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="The folder to write to; this one by default.")] = ".",
    *,
    quiet: Quiet = False,
) -> None:
    """Write a first suite, which runs without a key. Existing files are never overwritten."""
    files = {Path(folder) / name: text for name, text in init_files().items()}
    existing = [str(path) for path in files if path.exists()]
    if existing:
        verb = "exists" if len(existing) == 1 else "exist"
        raise ConfigError(f"{' and '.join(existing)} {verb} already; name another folder")
    Path(folder).mkdir(parents=True, exist_ok=True)
    console = Console(quiet=quiet)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
        console.note(f"wrote {path}")
    first = next(iter(files))
    console.note(f"Now try: evenhand run {first}")


def validate(
    suites: Suites,
    *,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Check suites and report every mistake.

    No model is asked, no key is needed, and no code of the suite runs.

    Exit codes: 0 they can be run; 2 at least one cannot.
    """
    from evenhand.suites.suite import check  # noqa: PLC0415 - it loads the YAML reader, which `init` does without

    console = Console(quiet=quiet)
    is_wrong = False
    for suite in suites:
        checked = check(suite)
        is_wrong = is_wrong or bool(checked.problems)
        if json:
            document = {
                "suite": suite,
                "cases": checked.cases,
                "problems": list(checked.problems),
                "notes": list(checked.notes),
            }
            console.result(strict_json(document))
            continue
        for problem in checked.problems:
            console.result(plain(problem, None))
        for note in checked.notes:
            console.note(f"note: {note}")
        if not checked.problems:
            console.note(f"{suite}: {counted(checked.cases, 'case')}, no mistakes")
    return ExitCode.USAGE if is_wrong else ExitCode.OK
