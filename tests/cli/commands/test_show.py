"""`evenhand show`: one case of a run, in full."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Many, and together they take a while.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]

HOSTILE = "Paris\x1b[2J\x1b]0;owned\x07\n\u202eall passed\r\n    def answer():"


def test_a_case_shows_what_was_asked_answered_and_judged(command: Any, suite: Any, provider: Any) -> None:
    suite(2, judge=provider)
    run = command("run", "suite.yaml", "--json").json["run"]["id"]

    done = command("show", "case-1")

    lines = [line.strip() for line in done.out.splitlines() if line]
    assert (done.code, done.err) == (0, "")
    assert lines[0] == "case-1  ✓ pass 0.900"
    assert lines[1].startswith(f"run {run} · suite · cost ")
    assert lines[2:10] == [
        "Question", "Question 1?", "Answer", "Answer 1.", "Reference", "Answer 1", "Expected outcome", "Names 1",
    ]  # fmt: skip
    assert lines[10] == "quality  ✓ pass 0.900"
    assert lines[12:14] == ["Right.", "✓ names the city"]
    assert "System prompt" not in done.out


def test_the_run_may_be_named_and_the_last_is_usual(command: Any, finished: str, suite: Any) -> None:
    suite(1, evaluators=[{"name": "right", "type": "contains", "value": "Rome"}])
    command("run", "suite.yaml")

    last, named = command("show", "case-0"), command("show", "case-0", finished[:-1])

    assert last.out.startswith("case-0  ✗ fail 0.000")
    assert named.out.startswith("case-0  ✓ pass 1.000")


def test_prompts_and_replies_are_shown_where_they_are_wanted(command: Any, suite: Any, provider: Any) -> None:
    suite(1, judge=provider)
    command("run", "suite.yaml")

    done = command("show", "case-0", "--prompts")

    assert "  System prompt\n" in done.out
    assert "  User prompt\n" in done.out
    assert "1 attempt" in done.out
    assert '"hits": ["names the city"]' in done.out


def test_where_no_prompts_are_stored_that_is_said(command: Any, finished: str) -> None:
    assert command("show", "case-0", "--prompts").out.endswith("\nNo prompts are stored with this case.\n")


def test_retries_and_errors_are_shown_in_full(command: Any, suite: Any, serve: Any) -> None:
    suite(1, judge=serve(lambda _: {"says": "no JSON at all"}))
    command("run", "suite.yaml")

    done = command("show", "case-0")

    assert done.code == 0
    assert "quality  ! error\n" in done.out
    assert "The judge failed: no score; left out of all means." in done.out
    assert "3 attempts, 3 failed" in done.out
    assert done.out.count("unparsable: the reply has no complete JSON object") == 4
    assert "no JSON at all" not in done.out  # which is a reply


def test_each_sample_is_shown(command: Any, suite: Any, provider: Any) -> None:
    suite(1, judge=provider, repeat=2)
    command("run", "suite.yaml")

    done = command("show", "case-0")

    assert "2 samples: ✓ 0.90, ✓ 0.90" in done.out
    assert "quality, sample 1  ✓ pass 0.900\n" in done.out
    assert "quality, sample 2  ✓ pass 0.900\n" in done.out


def test_each_model_is_shown(command: Any, serve: Any, folder: Path) -> None:
    model = {"base_url": serve().url, "api_key": "${JUDGE_KEY}"}
    suite = {
        "target": {"models": [{"model": f"openai/{name}", **model} for name in ("a", "b")]},
        "evaluators": [{"name": "right", "type": "contains", "value": "city"}],
        "cases": [{"id": "t1", "input": "?"}],
    }
    (folder / "suite.yaml").write_text(json.dumps(suite))
    assert command("run", "suite.yaml").code == 0

    both, one = command("show", "t1"), command("show", "t1 openai/b")
    rows = [json.loads(line) for line in command("show", "t1", "--json").out.splitlines()]

    assert [line for line in both.out.splitlines() if line.startswith("t1")] == [
        "t1 openai/a  ✓ pass 1.000",
        "t1 openai/b  ✓ pass 1.000",
    ]
    assert "t1 openai/a" not in one.out
    assert [row["case_id"] for row in rows] == ["t1 openai/a", "t1 openai/b"]


def test_json_is_the_row_of_the_report(command: Any, finished: str, folder: Path) -> None:
    command("report", "-o", "report.jsonl")
    rows = [json.loads(line) for line in (folder / "report.jsonl").read_text().splitlines()]

    assert command("show", "case-2", "--json").json in rows


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("case2", "did you mean 'case-2' or 'case-1' or 'case-0'?"),
        ("zzz", "its first cases are 'case-0', 'case-1', 'case-2'"),
    ],
)
def test_an_unknown_id_is_refused_with_the_nearest(command: Any, finished: str, name: str, hint: str) -> None:
    done = command("show", name)

    assert (done.code, done.out) == (2, "")
    assert f"run {finished} has no case '{name}'; {hint}" in done.err


def test_texts_of_models_only_ever_show_what_they_say(command: Any, suite: Callable[..., Path]) -> None:
    case = {
        "id": "hostile",
        "input": HOSTILE,
        "candidate_answer": HOSTILE,
        "context": [HOSTILE],
        "metadata": {"a": HOSTILE},
    }
    suite(cases=[case], evaluators=[{"name": "right", "type": "contains", "value": HOSTILE}])
    command("run", "suite.yaml")

    done = command("show", "hostile")

    assert done.code == 0
    assert all(character.isprintable() or character == "\n" for character in done.out)
    assert "\nall passed" not in done.out
    assert "\n  Paris\n  all passed\n      def answer():\n" in done.out
