"""`evenhand tune`: a better prompt from labels, estimated, measured, written into a suite, interrupted and resumed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.suites.suite import read_suite

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]

Command = Callable[..., Any]
RULE = "Only even answers pass."
SUITE = """\
# Where we draw the line.
judge: {{model: openai/gpt-4o-mini, base_url: "{url}", api_key: "${{JUDGE_KEY}}", backoff: 0.01}}
evaluators:
  - {{name: quality, type: llm_judge}}   # the judge
cases:
{cases}
"""


def script_of(bodies: list[dict[str, Any]]) -> Callable[[str], Mapping[str, Any]]:
    """Return a provider that writes the rule when it is asked for instructions, and judges by it when it is told."""

    def script(text: str) -> Mapping[str, Any]:
        system = bodies[-1]["messages"][0]["content"]
        if system.startswith("You write instructions"):
            return {"says": {"reasoning": "Odd ones fail.", "instructions": RULE}}
        found = re.search(r"Answer (\d+)\.", text)
        assert found is not None
        good = RULE not in system or int(found[1]) % 2 == 0
        return {"says": {"score": float(good), "hits": [], "misses": [], "reasoning": ""}}

    return script


@pytest.fixture
def labelled(serve: Callable[..., Any], command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A run of 40 cases by a provider, with a file of labels beside it."""
    bodies: list[dict[str, Any]] = []
    provider = serve(script_of(bodies))
    provider.bodies = bodies
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    cases = "\n".join(
        f"  - {{id: case-{n}, input: 'Question {n}?', candidate_answer: Answer {n}., expected_outcome: Is even}}"
        for n in range(40)
    )
    (folder / "suite.yaml").write_text(SUITE.format(url=provider.url, cases=cases), encoding="utf-8")
    rows = [f"case-{n},{'pass' if n % 2 == 0 else 'fail'},Ann" for n in range(40)]
    (folder / "labels.csv").write_text("\n".join(["id,human,rater", *rows]), encoding="utf-8")
    assert command("run", "suite.yaml").code == 0
    return provider


def test_a_prompt_that_helps_is_written_into_a_copy_of_the_suite(command: Command, labelled: Any, folder: Path) -> None:
    model = ("--model", "openai/gpt-4o-mini")
    before = len(labelled.asked)
    expected = command("tune", "last", "labels.csv", *model, "--folds", "3", "--estimate", "--json")
    assert len(labelled.asked) == before

    done = command(
        "tune", "last", "labels.csv", *model, "--folds", "3", "-o", "tuned.yaml", "-o", "found.md", "-o", "found.json"
    )
    asked = len(labelled.asked) - before
    shown = command("report", "last", "--json")

    assert (expected.code, done.code) == (0, 0), done.err
    assert json.loads(expected.out)["calls"]["low"] >= asked
    assert "Adopted: on 16 held-out cases, agreement with people changes by +0.50 [" in done.out
    assert f"+ instructions: {RULE}" in done.out
    assert "wrote tuned.yaml" in done.err
    assert json.loads(shown.out)["tuning"]["adopted"] is True
    assert f"    + instructions: {RULE}\n" in (folder / "found.md").read_text(encoding="utf-8")
    assert json.loads((folder / "found.json").read_text(encoding="utf-8"))["tuning"]["way"] == "instructions"
    text = (folder / "tuned.yaml").read_text(encoding="utf-8")
    assert text.startswith("# Where we draw the line.\n")
    assert f"  - name: quality\n    type: llm_judge\n    instructions: {RULE}   # the judge\n" in text
    (evaluator,) = read_suite(folder / "tuned.yaml").definition["evaluators"]
    assert evaluator == {"name": "quality", "type": "llm_judge", "instructions": RULE}
    tuning = json.loads(shown.out)["run"]["id"]
    assert "is a tuning itself" in command("tune", tuning, "labels.csv").err
    assert f"{tuning} is newer, but tunes a prompt" in command("tune", "last", "labels.csv", "--estimate").err


def test_a_tuning_that_stopped_is_resumed_as_if_nothing_had_happened(command: Command, labelled: Any) -> None:
    asked = ("tune", "last", "labels.csv", "--folds", "3")

    stopped = command(*asked, "--max-calls", "50")
    first = json.loads(command("report", "--json").out)
    resumed = command("resume", "last", "--json")
    whole = command("tune", first["tuning"]["tuned"], "labels.csv", "--folds", "3", "--json")

    assert stopped.code == 102, stopped.err
    assert (first["tuning"]["adopted"], first["tuning"]["why"]) == (False, "the run is not finished")
    assert resumed.code == 0, resumed.err
    same = ("ways", "by_fold", "current", "honest", "apparent", "adopted", "why", "evaluator")
    found, again = json.loads(resumed.out)["tuning"], json.loads(whole.out)["tuning"]
    assert {key: found[key] for key in same} == {key: again[key] for key in same}
    assert found["adopted"] is False


def test_what_cannot_be_tuned_is_refused_before_anything_is_spent(
    command: Command, labelled: Any, folder: Path
) -> None:
    (folder / "few.csv").write_text("id,human,rater\ncase-1,pass,Ann\ncase-2,fail,Ann\n", encoding="utf-8")
    (folder / "there.yaml").write_text("", encoding="utf-8")
    before = len(labelled.asked)

    wrong = {
        "there are 2 labelled cases; tuning takes at least 40": ("last", "few.csv"),
        "there are 0 labelled cases": ("last",),
        "name the run first: evenhand tune last labels.csv": ("labels.csv",),
        "there.yaml exists": ("last", "labels.csv", "-o", "there.yaml"),
        "write the new one beside it": ("last", "labels.csv", "-o", "elsewhere/tuned.yaml"),
        "defines no evaluator 'nobody'": ("last", "labels.csv", "--evaluator", "nobody"),
        "held_out is 0.9": ("last", "labels.csv", "--held-out", "0.9"),
    }

    for message, argv in wrong.items():
        done = command("tune", *argv)
        assert (done.code, message in done.err) == (2, True), done.err
    assert len(labelled.asked) == before
