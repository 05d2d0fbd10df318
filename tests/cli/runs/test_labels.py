"""A label tells a run from others of its suite, wherever runs are shown; so do tags."""

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


def test_a_label_and_tags_go_with_an_exported_run_and_with_a_fork(command: Callable[..., Any]) -> None:
    Path("suite.yaml").write_text(SUITE, encoding="utf-8")
    command("run", "suite.yaml", "--label", "first", "--tag", "release", "--tag", " nightly ")

    command("export", "last", "-o", "run.jsonl")
    command("import", "run.jsonl", "--db", "other.db")
    Path("suite.yaml").write_text(SUITE.replace("value: P", "value: Q"), encoding="utf-8")
    command("resume", "last", "--fork")

    runs = [*command("runs", "--db", "other.db", "--json").json, *command("runs", "--json").json]
    assert [(run["label"], run["tags"]) for run in runs] == [("first", ["nightly", "release"])] * 3


@pytest.mark.parametrize("label", ["", " ", "a\nb", "x" * 201, 7])
def test_a_label_is_a_line_of_text(label: Any) -> None:
    with pytest.raises(ConfigError, match=r"label is .*; it must be a line of 1 to 200 characters"):
        evaluate([Case(id="a", candidate_answer="P")], Contains(value="P"), store=None, label=label)


def test_tags_are_given_when_a_run_starts_and_runs_are_found_by_them(command: Callable[..., Any]) -> None:
    Path("suite.yaml").write_text(SUITE, encoding="utf-8")
    command("run", "suite.yaml", "--tag", "release")

    run = evaluate("suite.yaml", tags=["nightly", "release", " nightly "])

    assert run.tags == ("nightly", "release")
    assert [len(command("runs", "list", "--tag", tag, "--json").json) for tag in ("release", "nightly")] == [2, 1]


@pytest.mark.parametrize(
    ("tags", "told"),
    [
        ("release", r"tags is 'release'; it must be a list of tags, such as \['release'\]"),
        (["a, b"], "tag is 'a, b'; a tag must be 1 to 40 characters on one line, without a comma"),
        ([7], "tag is 7; a tag must be"),
        (7, "tags is 7; it must be a list"),
        ([str(number) for number in range(21)], "a run has at most 20 tags, and these are 21"),
    ],
)
def test_what_cannot_be_tags_is_refused_before_anything_starts(tags: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        evaluate([Case(id="a", candidate_answer="P")], Contains(value="P"), store=None, tags=tags)


@pytest.mark.parametrize("option", ["--label", "--tag"])
def test_a_run_that_is_resumed_keeps_its_label_and_tags(command: Callable[..., Any], option: str) -> None:
    Path("suite.yaml").write_text(SUITE, encoding="utf-8")
    command("run", "suite.yaml")

    refused = command("run", "suite.yaml", "--retry-errors", option, "other")

    assert refused.code == 2
    assert f"leave out {option}" in refused.err
