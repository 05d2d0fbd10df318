"""`evenhand demo`: real judgments on this machine, without an account and without a key."""

from __future__ import annotations

import shlex
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import NoEnvFile, Quiet, Verbose

FOLDER: Final = "evenhand-demo"
_FILES: Final = ("suite.yaml", "brief.py")
_REPLIES: Final = "replies.jsonl"


def demo(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where the suite and the report go.")] = FOLDER,
    *,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Do not fetch or ask the model: use what it said when it was recorded.")
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Judge a small suite with a model on this machine.

    Writes the suite into a folder, fetches the model if it is not here, judges eight answers, shows the result and
    writes a report.
    """
    from evenhand.models.embedded.catalogue import QWEN
    from evenhand.models.embedded.files import megabytes

    console = Console(quiet=quiet)
    console.note(
        "This judges eight answers of a shop's assistant, four good and four bad: with a JSON Schema, with a program, "
        f"and with a language model\nin this process, {QWEN.title} ({megabytes(QWEN.bytes)}, {QWEN.licence}). "
        "No account, no key; the answers do not leave this machine.\n"
    )
    place = Path(folder)
    suite = _written(place, console)
    command = ["run", str(suite), "--db", str(place / "demo.db"), "--output", str(place / "report.html")]
    if recorded or not _has_model(console):
        console.note("These are not new judgments: the model's part is replies that were recorded from it.\n")
        command += ["--judge", f"recorded/{_recording()}"]
    code = _run([*command, "--quiet"] if quiet else command)
    # As it was typed where the environment is not activated, as after `make demo`.
    program = "evenhand" if shutil.which("evenhand") else shlex.quote(sys.argv[0])
    typed, kept = shlex.quote(str(suite)), shlex.quote(str(place / "demo.db"))
    console.note(
        f"\nOpen {place / 'report.html'} in a browser. Then:\n"
        f"- change an answer in {suite}, and judge again: {program} run {typed}\n"
        f"- judge with a larger model: {program} run {typed} --judge openai/gpt-5-mini\n"
        f"- look at it as web pages: {program} serve --db {kept}\n"
        f"- begin a suite of your own: {program} init my-suite\n"
        f"- see how well this small model judges, and what it gets wrong: {program} models"
    )
    raise typer.Exit(code)


def _written(place: Path, console: Console) -> Path:
    """Write the suite where it is not there yet: a user's changes stay."""
    place.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        path = place / name
        if not path.exists():
            path.write_text((files("evenhand.cli.demonstration") / name).read_text(encoding="utf-8"), encoding="utf-8")
            console.note(f"wrote {path}")
    return place / _FILES[0]


def _has_model(console: Console) -> bool:
    """Have the model at hand, and say so where that cannot be done."""
    from evenhand.cli.commands.models import fetch
    from evenhand.domain.errors import MissingModelError, ModelFetchError
    from evenhand.models.embedded.catalogue import QWEN
    from evenhand.models.embedded.runtime import require_runtime

    try:
        require_runtime()
        fetch(QWEN, console)
    except (MissingModelError, ModelFetchError) as error:
        console.note(f"The model is not at hand: {error}")
        return False
    return True


def _recording() -> str:
    return str(files("evenhand.cli.demonstration") / _REPLIES)


def _run(arguments: list[str]) -> int:
    """Do what `evenhand run` does."""
    from evenhand.cli.main import app

    code = app(arguments, prog_name="evenhand", standalone_mode=False)
    return code if isinstance(code, int) else 0
