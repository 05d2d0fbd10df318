"""What reaches the terminal, and what does not."""

from __future__ import annotations

import ast
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli.console import Console

# Many, and together they take a while.
pytestmark = pytest.mark.slow

SOURCES = Path(__file__).resolve().parents[2] / "src" / "evenhand"
# Beside the console: a line of numbers that programs can ask for, what a worker says to its parent, and a program that
# the demo writes into a folder of the user's.
WRITERS = {"cli/console.py", "cli/demonstration/brief.py", "engine/execution.py", "evaluators/schema/worker.py"}
WRITING = {"print", "typer.echo", "typer.secho", "sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"}
# Every module that writes contains one of these words; to parse all modules would take long.
WORDS = {"from rich", *(name.removeprefix("typer.").removeprefix("sys.").strip("_") for name in WRITING)}


def writes(path: Path) -> set[str]:
    """Find what writes to the terminal in a module; a rich console that is given a file writes there."""
    text = path.read_text(encoding="utf-8")
    if not any(word in text for word in WORDS):
        return set()
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Call) and "from rich" in text and ast.unparse(node.func).endswith("Console"):
            found |= set() if "file" in {given.arg for given in node.keywords} else {"print"}
    return found & WRITING


def test_one_module_writes_to_the_terminal() -> None:
    modules = {path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py") if writes(path)}

    assert modules == WRITERS


HOSTILE = "\x1b]0;owned\x07\x1b[2Jfine\r\nall passed\u202e"


def test_what_a_model_says_cannot_move_the_cursor_or_forge_a_line(
    command: Callable[..., Any], suite: Callable[..., Path], serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = serve(lambda _: {"says": {"score": 0.1, "reasoning": HOSTILE, "misses": [HOSTILE]}})
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    suite(2, judge=provider)

    done = [
        command("run", "suite.yaml", "-v"),
        command("report"),
        command("runs", "show", "last"),
        command("judge", "--answer", "x", "--criteria", "y", "--judge", "openai/x"),
    ]

    shown = "".join(one.out + one.err for one in done)
    assert "fine all passed" in shown
    assert [character for character in ("\x1b", "\x07", "\r", "\u202e") if character in shown] == []
    assert "\nall passed" not in shown


def test_what_a_suite_says_cannot_either(folder: Path, command: Callable[..., Any]) -> None:
    (folder / "suite.yaml").write_text('"\\e[2J\\nall passed": 1\ncases: []\n')

    done = command("validate", "suite.yaml"), command("run", "suite.yaml")

    assert "\x1b" not in "".join(one.out + one.err for one in done)
    assert [one.code for one in done] == [2, 2]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Put a terminal in place; in the test itself, since pytest puts its own there before."""

    def make() -> Terminal:
        screen = Terminal()
        monkeypatch.setenv("COLUMNS", "60")
        monkeypatch.setattr(sys, "stderr", screen)
        monkeypatch.setattr(sys, "stdout", screen)
        return screen

    monkeypatch.setenv("TERM", "xterm")
    return make


def test_a_line_is_written_over_and_cleared_before_another(terminal: Callable[[], Terminal]) -> None:
    screen = terminal()
    console = Console()

    console.live("12 of 100 evaluations")
    console.live("13 of 100")
    console.note("stopping")

    assert screen.getvalue() == "\r12 of 100 evaluations\r13 of 100            \r         \rstopping\n"


def test_a_line_never_takes_more_room_than_there_is(terminal: Callable[[], Terminal]) -> None:
    screen = terminal()

    Console().live("x" * 200)

    assert len(screen.getvalue()) == 1 + 59


@pytest.mark.parametrize(
    ("name", "value", "live", "colour"),
    [
        ("TERM", "xterm", True, True),
        ("TERM", "dumb", False, False),
        ("CI", "true", False, True),
        ("NO_COLOR", "1", True, False),
    ],
)
def test_the_terminal_is_taken_for_what_it_is(
    terminal: Callable[[], Terminal], monkeypatch: pytest.MonkeyPatch, name: str, value: str, live: bool, colour: bool
) -> None:
    terminal()
    monkeypatch.setenv(name, value)

    assert (Console().is_live, Console().colour) == (live, colour)


def test_a_terminal_that_lacks_a_letter_shows_a_question_mark(suite: Callable[..., Path]) -> None:
    suite(1)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}

    done = subprocess.run(
        [sys.executable, "-m", "evenhand", "run", "suite.yaml"],
        capture_output=True, timeout=60, check=False, env=environment,
    )  # fmt: skip

    assert done.returncode == 0
    assert b"? pass 1" in done.stdout


def test_a_reader_that_goes_away_is_no_crash(
    command: Callable[..., Any], suite: Callable[..., Path], path_with_evenhand: str
) -> None:
    suite(400)
    command("run", "suite.yaml", "--quiet")
    argv = [shutil.which("evenhand", path=path_with_evenhand) or "", "report", "--canonical"]

    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reading:
        assert reading.stdout is not None
        assert reading.stderr is not None
        reading.stdout.read(10)
        reading.stdout.close()
        errors = reading.stderr.read()

    assert errors == b""
