"""`evenhand judge`: a single answer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Many, and together they take a while.
pytestmark = pytest.mark.slow


@pytest.fixture
def judge(serve: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Start a judge that is found by the usual variables."""

    def start(script: Any = None) -> Any:
        provider = serve(script)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        monkeypatch.setenv("EVENHAND_JUDGE", "openai/one")
        return provider

    return start


def test_one_answer_is_judged_and_nothing_is_kept(
    folder: Path, command: Callable[..., Any], judge: Callable[..., Any]
) -> None:
    found = {"score": 0.7, "hits": ["names it"], "misses": ["too long"], "reasoning": "Nearly."}
    provider = judge(lambda _: {"says": found})

    done = command("judge", "--question", "Capital?", "--answer", "Paris", "--criteria", "Names it")

    assert done.code == 0
    assert done.out == "≈ borderline  0.70\n  + names it\n  - too long\nNearly.\n"
    assert all(text in provider.asked[0] for text in ("Capital?", "Paris", "Names it"))
    assert list(folder.iterdir()) == []


def test_the_verdict_is_no_failure_of_the_command(command: Callable[..., Any], judge: Callable[..., Any]) -> None:
    judge(lambda _: {"says": {"score": 0}})

    assert command("judge", "--answer", "x", "--criteria", "y").code == 0


def test_an_answer_may_come_from_standard_input(command: Callable[..., Any], judge: Callable[..., Any]) -> None:
    provider = judge()

    done = command("judge", "--answer", "-", "--reference", "Paris", "--json", given="Größe\n\n")

    assert done.json["verdict"] == "pass"
    assert "\nGröße\n\n" in provider.asked[0]


def test_rubric_items_are_checked_one_by_one(command: Callable[..., Any], judge: Callable[..., Any]) -> None:
    checks = [{"id": "rubric-1", "satisfied": True}, {"id": "rubric-2", "satisfied": False, "reasoning": "no"}]
    judge(lambda _: {"says": {"checks": checks}})

    done = command("judge", "--answer", "x", "--rubric", "is short", "--rubric", "is true", "--json")

    assert (done.json["score"], done.json["verdict"]) == (0.5, "fail")
    assert done.json["hits"] == ["[rubric-1] is short"]


def test_a_judge_that_fails_is_101(command: Callable[..., Any], judge: Callable[..., Any]) -> None:
    judge(lambda _: {"says": "I would rather not."})

    done = command("judge", "--answer", "x", "--criteria", "y")

    assert done.code == 101
    assert done.out.startswith("! the judge failed: unparsable: ")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--answer", "x", "--criteria", "y"], "no judge: give --judge openai/gpt-5-mini, or set EVENHAND_JUDGE"),
        (["--answer", "x", "--judge", "openai/one"], "nothing to judge by: give --criteria, --reference or --rubric"),
        (
            ["--answer", "-", "--criteria", "-", "--judge", "openai/one"],
            "read only once, not for --answer and --criteria",
        ),
        (["--answer", "x", "--criteria", "y", "--judge", "openai/one"], "OPENAI_API_KEY"),
        (["--criteria", "y"], "--answer"),
        (["--answer", "-", "--criteria", "y", "--judge", "openai/one"], "standard input: byte 2 is not UTF-8"),
    ],
)
def test_what_cannot_be_judged_is_a_usage_error(command: Callable[..., Any], argv: list[str], told: str) -> None:
    done = command("judge", *argv, given=b"x\xff")

    assert (done.code, done.out) == (2, "")
    assert told in done.err


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_terminal_shows_that_the_judge_is_at_work(
    judge: Callable[..., Any], on_a_terminal: Callable[..., tuple[int, str]], command: Callable[..., Any]
) -> None:
    judge()

    code, shown = on_a_terminal("judge", "--answer", "Paris", "--criteria", "Names Paris")
    piped = command("judge", "--answer", "Paris", "--criteria", "Names Paris")

    assert code == 0
    assert "\rwaiting for openai/one, 0 s" in shown
    assert "✓ pass  0.90" in shown
    assert "waiting" not in piped.err
