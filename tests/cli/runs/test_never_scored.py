"""A judge that never works, as the command line shows it: one error in full, an exit code of its own, and a question."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli.runs.progress import line
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.run import Judgment
from evenhand.engine.run import Progress

QUESTION = "Continue anyway? [y/N]"
PAGE = "<!doctype html><html><body>Sign in to continue</body></html>"
BROKEN = {
    "html": ({"body": PAGE}, "Sign in to continue"),
    "500": ({"status": 500, "says": "worker died"}, "server_error: HTTP 500: worker died"),
    "prose": ({"says": "A convincing answer, I would say."}, "the reply was: A convincing answer, I would say."),
}


@pytest.mark.parametrize("way", BROKEN)
def test_a_judge_that_is_always_broken_stops_the_run_with_its_first_error(
    command: Callable[..., Any], suite: Callable[..., Path], serve: Any, way: str
) -> None:
    answer, told = BROKEN[way]
    suite(200, judge=serve(lambda text: answer), evaluators=[{"name": "quality", "type": "llm_judge"}])

    done = command("run", "suite.yaml", "-j", "2")

    assert done.code == 104
    assert "the run stopped: quality has scored nothing: 20 evaluations in a row failed" in done.err
    assert "The first, of case case-" in done.err
    assert told in done.err
    assert "Fix the cause, then resume with: evenhand resume " in done.err
    assert done.err.rstrip().endswith(" --retry-errors")


def test_the_number_is_an_option_and_0_goes_on(
    command: Callable[..., Any], suite: Callable[..., Path], serve: Any
) -> None:
    suite(12, judge=serve(lambda text: {"says": "no"}))

    few = command("run", "suite.yaml", "-j", "1", "--max-consecutive-errors", "4", "--json")
    any_number = command("run", "suite.yaml", "--max-consecutive-errors", "0", "--json")
    wrong = command("run", "suite.yaml", "--max-consecutive-errors", "-1")

    assert (few.code, few.json["summary"]["errors"]) == (104, 4)
    assert (any_number.code, any_number.json["summary"]["errors"]) == (101, 12)
    assert (wrong.code, "--max-consecutive-errors" in wrong.err) == (2, True)


def test_the_progress_line_ends_with_the_latest_error() -> None:
    progress = Progress(total=9)
    for error in ("timeout: too slow", f"server_error: HTTP 500: \x1b[2Jgone {'x' * 500}"):
        progress.add(Judgment(evaluation=Evaluation.with_error(evaluator="e", type="t", error=error)))

    told = line(progress)

    assert ", 2 errors, " in told
    assert ", latest error: server_error: HTTP 500: gone xxx" in told
    assert "\x1b" not in told
    assert len(told) < 250


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize(("answer", "code", "judged"), [("y", 101, 60), ("n", 104, 20), ("", 104, 20)])
def test_on_a_terminal_the_user_is_asked_whether_to_continue(
    command: Callable[..., Any],
    suite: Callable[..., Path],
    serve: Any,
    on_a_terminal: Callable[..., tuple[int, str]],
    answer: str,
    code: int,
    judged: int,
) -> None:
    suite(60, judge=serve(lambda text: {"says": "no"}))

    code_seen, shown = on_a_terminal("run", "suite.yaml", "-j", "1", question=QUESTION, answer=answer)

    assert code_seen == code
    assert "quality has scored nothing: 20 evaluations in a row failed" in shown
    assert command("report", "--json").json["summary"]["errors"] == judged


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_refused_key_is_told_once_on_a_terminal(
    suite: Callable[..., Path], serve: Any, on_a_terminal: Callable[..., tuple[int, str]]
) -> None:
    suite(30, judge=serve(lambda text: {"status": 401, "says": "no such key"}))

    code, shown = on_a_terminal("run", "suite.yaml")

    assert code == 2
    assert shown.count("HTTP 401: no such key") == 1
    assert "quality: the error that stopped the run" in shown
    assert "evenhand: the run stopped; resume with: evenhand resume " in shown
