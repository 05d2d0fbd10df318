"""A label tells a run from others of its suite, wherever runs are shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, Contains, Run, evaluate
from evenhand.domain.errors import ConfigError

SUITE = "evaluators: [{type: contains, value: P}]\ncases: [{id: a, candidate_answer: Paris}]\n"


def test_a_label_is_shown_wherever_the_run_is(command: Callable[..., Any]) -> None:
    Path("suite.yaml").write_text(SUITE, encoding="utf-8")

    done = command("run", "suite.yaml", "--label", "shorter prompt", "-o", "r.html", "-o", "r.md")
    command("run", "suite.yaml")

    assert "suite: 1 case, finished\n  shorter prompt\n" in done.out
    assert "shorter prompt" in Path("r.html").read_text(encoding="utf-8")
    assert "shorter prompt" in Path("r.md").read_text(encoding="utf-8")
    assert "suite: shorter prompt" in command("runs").out
    assert [run["label"] for run in command("runs", "--json").json] == ["", "shorter prompt"]
    assert "(shorter prompt)" in command("compare", "previous", "last").out.splitlines()[0]
    assert Run.open("previous").label == "shorter prompt"


def test_a_label_goes_with_an_exported_run_and_with_a_fork(command: Callable[..., Any]) -> None:
    Path("suite.yaml").write_text(SUITE, encoding="utf-8")
    command("run", "suite.yaml", "--label", "first")

    command("export", "last", "-o", "run.jsonl")
    command("import", "run.jsonl", "--db", "other.db")
    Path("suite.yaml").write_text(SUITE.replace("value: P", "value: Q"), encoding="utf-8")
    command("resume", "last", "--fork")

    assert command("runs", "--db", "other.db", "--json").json[0]["label"] == "first"
    assert [run["label"] for run in command("runs", "--json").json] == ["first", "first"]


@pytest.mark.parametrize("label", ["", " ", "a\nb", "x" * 201, 7])
def test_a_label_is_a_line_of_text(label: Any) -> None:
    with pytest.raises(ConfigError, match=r"label is .*; it must be a line of 1 to 200 characters"):
        evaluate([Case(id="a", candidate_answer="P")], Contains(value="P"), store=None, label=label)
