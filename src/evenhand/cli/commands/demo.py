"""`evenhand demo`: real judgments on this machine, without an account or a key."""

from __future__ import annotations

import shlex
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

import typer

from evenhand.cli.commands.models import fetch
from evenhand.cli.console import Console
from evenhand.cli.main import app
from evenhand.cli.options import Quiet
from evenhand.domain.errors import MissingModelError, ModelFetchError
from evenhand.models.embedded.catalogue import QWEN, megabytes
from evenhand.models.embedded.runtime import require_runtime

FOLDER: Final = "evenhand-demo"
_FILES: Final = ("suite.yaml", "brief.py")
_REPLIES: Final = "replies.jsonl"
# A small model reads slowly: eight questions more take it some forty seconds of one core.
_PROBES: Final = ("--probes", "null_answers,instructions,planted_verdict", "--size", "2")


def demo(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="The folder for the suite and the report.")] = FOLDER,
    *,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Use recorded replies instead of downloading and asking the model.")
    ] = False,
    quiet: Quiet = False,
) -> int:
    """Judge a small suite with a model on this machine.

    Writes the suite to a folder, downloads the model if needed, judges eight answers, shows the result and writes a
    report. Then the judge itself is examined with three probes.
    """
    console = Console(quiet=quiet)
    console.note(
        "This judges eight answers of a shop assistant, four good and four bad: with a JSON Schema, with a program, "
        f"and with a language model\nin this process, {QWEN.title} ({megabytes(QWEN.bytes)}, {QWEN.licence}). "
        "No account, no key; the answers do not leave this machine.\n"
    )
    path = Path(folder)
    suite = _write_suite(path, console)
    command = ["run", str(suite), "--db", str(path / "demo.db"), "--output", str(path / "report.html")]
    is_asked = not recorded and _has_model(console)
    if not is_asked:
        console.note("These are not new judgments: the replies of the model were recorded.\n")
        command += ["--judge", f"recorded/{_recording()}"]
    code = _run_command([*command, "--quiet"] if quiet else command)
    if is_asked:
        _examine(suite, path, console, quiet=quiet)
    # As it was typed, if the environment is not activated, as after `make demo`.
    program = "evenhand" if shutil.which("evenhand") else shlex.quote(sys.argv[0])
    typed, database = shlex.quote(str(suite)), shlex.quote(str(path / "demo.db"))
    console.note(
        f"\nOpen {path / 'report.html'} in a browser. Then:\n"
        f"- change an answer in {suite} and judge it again: {program} run {typed} --db {database}\n"
        f"- judge with a larger model: {program} run {typed} --db {database} --judge openai/gpt-5-mini\n"
        f"- examine this judge: {program} doctor embedded/{QWEN.name} --db {database}\n"
        f"- view it as web pages: {program} serve --db {database}\n"
        f"- start your own suite: {program} init my-suite\n"
        f"- see how well this small model judges, and what it gets wrong: {program} models"
    )
    return code


def _examine(suite: Path, folder: Path, console: Console, *, quiet: bool) -> None:
    """Put three questions to the judge about itself; two pairs show what a probe does, and decide nothing."""
    console.note(
        "\nCan an answer talk this judge into a pass? Three probes on two pairs of answers, which is enough to see how "
        "it goes, and not enough to decide.\n"
    )
    command = ["doctor", str(suite), "--evaluator", "rubric", *_PROBES, "--db", str(folder / "demo.db")]
    _run_command([*command, "--output", str(folder / "card.html"), *(["--quiet"] if quiet else [])])


def _write_suite(folder: Path, console: Console) -> Path:
    """Write the files of the suite that are missing: a user's changes stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        path = folder / name
        if not path.exists():
            path.write_text((files("evenhand.cli.demonstration") / name).read_text(encoding="utf-8"), encoding="utf-8")
            console.note(f"wrote {path}")
    return folder / _FILES[0]


def _has_model(console: Console) -> bool:
    """Return whether the model can be used; download it if needed, and print why that failed."""
    try:
        require_runtime()
        fetch(QWEN, console)
    except (MissingModelError, ModelFetchError) as error:
        console.note(f"The model is not available: {error}")
        return False
    return True


def _recording() -> str:
    return str(files("evenhand.cli.demonstration") / _REPLIES)


def _run_command(arguments: list[str]) -> int:
    """Run a command of `evenhand`, and return its exit code."""
    code = app(arguments, prog_name="evenhand", standalone_mode=False)
    return code if isinstance(code, int) else 0
