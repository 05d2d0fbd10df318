"""Ctrl-C, SIGTERM and SIGHUP, sent to a process of its own while it works."""

from __future__ import annotations

import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.harness.warm import Started

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="other signals")]


class Script:
    """What the judge says, at once; after so many questions slowly, until it is not to be ``slow`` any more.

    A run is stopped in the middle however long it takes this process to notice how far it has come.
    """

    def __init__(self, quick: int) -> None:
        self.left = quick
        self.slow = True

    def __call__(self, text: str) -> dict[str, Any]:
        self.left -= 1
        says = {"score": len(text) % 7 / 10, "reasoning": "Fine."}
        return {"wait": 1.0 if self.slow and self.left < 0 else 0.0, "says": says}


def ended(process: Started) -> tuple[int | None, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_the_first_signal_lets_what_is_under_way_end_and_tells_how_to_go_on(
    folder: Path,
    command: Callable[..., Any],
    process: Callable[..., Any],
    suite: Callable[..., Path],
    serve: Any,
    eventually: Any,
    number: signal.Signals,
) -> None:
    script = Script(quick=4)
    provider = serve(script)
    suite(60, judge=provider)
    started = process("run", "suite.yaml", "--no-cache", "-j", "4", "-o", "part.jsonl")
    eventually(lambda: len(provider.asked) >= 6)

    started.send_signal(number)
    code, out, err = ended(started)
    asked = len(provider.asked)
    script.slow = False
    resumed = command("resume", "--no-cache", "--json")

    assert code == 130
    assert "suite: 60 cases, interrupted" in out
    told = re.search(r"^evenhand: interrupted; resume with: evenhand resume (\S+)$", err, re.MULTILINE)
    assert told is not None
    assert re.search(r"^wrote part\.jsonl, without \d+ cases not judged yet$", err, re.MULTILINE)
    assert len((folder / "part.jsonl").read_text().splitlines()) == 60
    assert (resumed.json["run"]["id"], resumed.json["summary"]["scored"]) == (told[1], 60)
    assert 6 <= asked < 60
    assert len(provider.asked) == 60  # nothing that had been asked was lost
    whole = command("run", "suite.yaml", "--no-cache", "--json").json["run"]["id"]
    assert command("report", whole, "--canonical").out == command("report", told[1], "--canonical").out


def test_the_second_signal_leaves_at_once_and_the_run_can_be_resumed(
    folder: Path,
    command: Callable[..., Any],
    process: Callable[..., Any],
    suite: Callable[..., Path],
    serve: Any,
    eventually: Any,
) -> None:
    slow = True
    provider: Any = serve(lambda text: {"wait": 60 if slow and len(provider.asked) > 4 else 0})
    suite(20, judge=provider)
    started = process("run", "suite.yaml", "--no-cache", "-j", "4", "--quiet", "--log-file", "log.jsonl")
    eventually(lambda: len(provider.asked) >= 6)

    started.send_signal(signal.SIGINT)
    eventually(lambda: '"interrupted"' in (folder / "log.jsonl").read_text())
    started.send_signal(signal.SIGINT)
    code, out, err = ended(started)
    slow = False
    resumed = command("resume", "--json")

    assert (code, out) == (130, "")
    assert re.fullmatch(r"\nevenhand: stopped at once; resume with: evenhand resume \S+\n", err)
    assert '"run_ended"' not in (folder / "log.jsonl").read_text()
    assert resumed.json["summary"]["scored"] == 20


def test_who_is_killed_can_be_resumed_too(
    command: Callable[..., Any], process: Callable[..., Any], suite: Callable[..., Path], serve: Any, eventually: Any
) -> None:
    script = Script(quick=8)
    provider = serve(script)
    suite(30, judge=provider)
    started = process("run", "suite.yaml", "--no-cache", "-j", "4")
    eventually(lambda: len(provider.asked) >= 10)

    started.kill()
    ended(started)
    script.slow = False
    listed = command("runs", "--json").json[0]
    resumed = command("resume", "--no-cache", "--json")

    assert listed["status"] == "interrupted"
    assert (resumed.code, resumed.json["summary"]["scored"]) == (0, 30)
    assert len(provider.asked) <= 34


def has_run(database: Path) -> bool:
    """Look for a run, quickly: what is waited for lasts only as long as the cases are read."""
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
            return bool(connection.execute("SELECT 1 FROM runs").fetchall())
    except sqlite3.OperationalError:  # it is not there, or not whole yet
        return False


def test_a_signal_while_the_cases_are_read_leaves_a_run_that_can_be_planned_again(
    folder: Path, command: Callable[..., Any], process: Callable[..., Any], eventually: Any
) -> None:
    (folder / "suite.yaml").write_text("evaluators: [{type: contains}]\ncases: cases.jsonl\n")
    case = '{"id": "case-%d", "input": "Question?", "candidate_answer": "Paris", "reference_answer": "Paris"}'
    lines = (case % number for number in range(15_000))
    (folder / "cases.jsonl").write_text("\n".join(lines))
    # All of them are read and checked, and one is taken.
    started = process("run", "suite.yaml", "--only", "case-14999")
    eventually(lambda: has_run(folder / ".evenhand" / "evenhand.db"))

    started.send_signal(signal.SIGTERM)
    code, _, err = ended(started)
    resumed = command("resume", "--json", "--quiet")

    assert code == 130
    assert "no model was asked yet; resume with: evenhand resume 2" in err
    assert (resumed.code, resumed.json["summary"]["scored"]) == (0, 1)


def test_a_terminal_that_is_closed_ends_a_run_in_good_order(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path], serve: Any, eventually: Any
) -> None:
    script = Script(quick=4)
    provider = serve(script)
    suite(60, judge=provider)
    master, terminal = pty.openpty()
    # The first terminal that the leader of a session opens is its own.
    on_it = ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>"$0"', os.ttyname(terminal)]
    argv = [sys.executable, "-m", "evenhand", "run", "suite.yaml", "--no-cache", "-j", "4", "-o", "part.jsonl"]
    with subprocess.Popen([*on_it, *argv], start_new_session=True) as started:
        eventually(lambda: len(provider.asked) >= 6)

        os.close(terminal)
        os.close(master)
        code = started.wait(60)
    script.slow = False
    left = command("runs", "--json").json[0]
    resumed = command("resume", "--no-cache", "--json")

    assert code == 130
    assert left["status"] == "interrupted"
    assert len((folder / "part.jsonl").read_text().splitlines()) == 60
    assert resumed.json["summary"]["scored"] == 60
    assert len(provider.asked) == 60  # nothing that had been asked was lost


def test_several_hangups_are_one(
    process: Callable[..., Any], suite: Callable[..., Path], serve: Any, eventually: Any
) -> None:
    provider = serve(Script(quick=4))
    suite(60, judge=provider)
    started = process("run", "suite.yaml", "--no-cache", "-j", "4")
    eventually(lambda: len(provider.asked) >= 6)

    for _ in range(3):
        started.send_signal(signal.SIGHUP)
    code, out, err = ended(started)

    assert code == 130
    assert "suite: 60 cases, interrupted" in out
    assert "stopped at once" not in err


def test_who_was_started_to_outlive_the_terminal_does(suite: Callable[..., Path], serve: Any, eventually: Any) -> None:
    script = Script(quick=4)
    provider = serve(script)
    suite(12, judge=provider)
    as_nohup_does = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"]
    argv = [*as_nohup_does, sys.executable, "-m", "evenhand", "run", "suite.yaml", "--no-cache", "-j", "4"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        eventually(lambda: len(provider.asked) >= 6)
        started.send_signal(signal.SIGHUP)
        script.slow = False
        out, _ = started.communicate(timeout=60)

    assert started.returncode == 0
    assert "suite: 12 cases, finished" in out


def test_ctrl_c_ends_all_of_several_suites(
    folder: Path, process: Callable[..., Any], suite: Callable[..., Path], serve: Any, eventually: Any
) -> None:
    provider = serve(Script(quick=4))
    suite(60, judge=provider, name="first.yaml")
    suite(60, judge=provider, name="second.yaml")
    started = process("run", "first.yaml", "second.yaml", "--no-cache", "-j", "4")
    eventually(lambda: len(provider.asked) >= 6)

    started.send_signal(signal.SIGINT)
    code, out, err = ended(started)

    assert code == 130
    assert "first: 60 cases, interrupted" in out
    assert "second.yaml was not started" in err
    assert "second:" not in out
