"""`evenhand init`, `convert` and `validate`: a first suite, one from another tool's file, and the mistakes in one."""

from __future__ import annotations

from enum import StrEnum
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


class Kind(StrEnum):
    """The tools whose files can be converted."""

    PROMPTFOO = "promptfoo"
    AGENTV = "agentv"
    OPENEVALS = "openevals"


def convert(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file of the other tool: YAML, JSON or JSONL.")],
    *,
    kind: Annotated[
        Kind | None, typer.Option("--from", help="Which tool the file is from, if its keys do not say so.")
    ] = None,
    suite_file: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="SUITE", help="Where to write the suite, such as suite.yaml."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that exists.")] = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Turn a file of promptfoo, AgentV or openevals into a suite.

    What cannot be carried over is listed, with its line and the reason, on standard error and at the top of the suite.
    No program is run, nothing is fetched, and no file outside the folder of FILE is read.

    Exit codes: 0 everything was carried over; 1 not everything; 2 the file cannot be converted.
    """
    from evenhand.convert.conversion import convert as conversion_of  # noqa: PLC0415 - it loads the YAML reader
    from evenhand.reports.report import written_whole  # noqa: PLC0415

    console = Console(quiet=quiet)
    target = None if suite_file is None else Path(suite_file)
    if target is not None and target.suffix.lower() not in {".yaml", ".yml"}:
        raise ConfigError(f"--output {target}: a suite is written as a file whose name ends in .yaml")
    if target is not None and target.exists() and not force:
        raise ConfigError(f"{target} exists already; name another file, or use --force to write over it")
    conversion = conversion_of(Path(file), kind, folder=None if target is None else target.absolute().parent)
    if target is None:
        console.result(conversion.text)
    else:
        with written_whole(target) as written:
            written.write(conversion.text.encode())
    for line in conversion.left:
        console.note(line)
    if target is not None:
        console.note(f"wrote {target}: {counted(conversion.cases, 'case')}")
    return ExitCode.ERROR if conversion.left else ExitCode.OK


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
