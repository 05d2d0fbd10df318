"""What reaches the terminal, and what does not."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli.console import Console
from evenhand.cli.runs.progress import LEAST_SECONDS, PLAIN_SECONDS, PlainLines, line
from evenhand.engine.run import Progress

# Many, and together they take a while.
pytestmark = pytest.mark.slow

SOURCES = Path(__file__).resolve().parents[2] / "src" / "evenhand"
# Beside the console: a line of numbers that programs can ask for, what a worker says to its parent, and a program that
# the demo writes into a folder of the user's.
WRITERS = {"cli/console.py", "cli/demonstration/brief.py", "engine/execution.py", "evaluators/schema/worker.py"}
WRITING = {"print", "typer.echo", "typer.secho", "sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"}


def writes(path: Path) -> set[str]:
    """Find what writes to the terminal in a module; a rich console that is given a file writes there."""
    text = path.read_text(encoding="utf-8")
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


def test_a_reader_that_goes_away_is_no_crash(command: Callable[..., Any], suite: Callable[..., Path]) -> None:
    suite(400)
    command("run", "suite.yaml", "--quiet")
    argv = [sys.executable, "-m", "evenhand", "report", "--canonical"]

    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reading:
        assert reading.stdout is not None
        assert reading.stderr is not None
        reading.stdout.read(10)
        reading.stdout.close()
        errors = reading.stderr.read()

    assert errors == b""


# How it is getting on


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_line_has_the_rate_the_time_left_the_cost_the_errors_and_the_retries() -> None:
    clock = Clock()
    progress = Progress(total=1200, clock=clock)
    clock.now = 10.0
    progress.done, progress.cost, progress.errors, progress.retries, progress.faults = 300, 0.126, 2, 3, 1
    progress.cached = 7

    told = line(progress)

    assert told == ("300 of 1,200 evaluations, 25 %, 30.0/s, 30 s left, $0.13, 2 errors, 4 retries, 7 from the cache")


def test_an_unknown_cost_is_said_to_be_unknown_and_a_long_time_is_told_in_minutes() -> None:
    clock = Clock()
    progress = Progress(total=100_000, done=10, clock=clock)
    clock.now, progress.done, progress.cost = 10.0, 110, None

    assert line(progress) == "110 of 100,000 evaluations, 0 %, 10.0/s, 2 h 46 min left, cost unknown"


def test_where_nobody_watches_a_line_is_due_every_tenth_or_every_ten_seconds() -> None:
    clock = Clock()
    progress = Progress(total=100, clock=clock)
    lines = PlainLines(clock=clock)
    due = []
    for done, seconds in [(0, 0), (50, 0.5), (50, LEAST_SECONDS), (55, 2), (60, 2.5), (61, PLAIN_SECONDS), (61, 13)]:
        progress.done, clock.now = done, seconds
        due.append(lines.is_due(progress))

    assert due == [False, False, True, False, True, False, True]
