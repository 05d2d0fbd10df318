"""Several targets and prompts in one run, as typed: every combination is asked, judged and compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SUITE = """
target:
  models: [openai/one, openai/two]
  prompts:
    terse: "In one word: {{ input }}"
    polite: {system: "Be kind to {{ who }}.", prompt: "{{ input }}"}
evaluators: [{name: names it, type: contains, value: Paris}]
cases:
"""
CASE = "  - {{id: c{number}, input: 'Capital of France, number {number}?', metadata: {{who: Ann}}}}\n"


@pytest.fixture
def several(serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A provider of which the terse are right, and a suite that asks it in four ways."""
    provider = serve(lambda text: {"says": "Paris" if "one word" in text else "Lyon"})
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    Path("suite.yaml").write_text(SUITE + "".join(CASE.format(number=n) for n in range(8)), encoding="utf-8")
    return provider


def test_every_combination_is_asked_judged_and_compared(several: Any, command: Callable[..., Any]) -> None:
    done = command("run", "suite.yaml")

    assert (done.code, len(several.bodies)) == (0, 32)
    assert {(body["model"], len(body["messages"])) for body in several.bodies} == {
        ("one", 1), ("one", 2), ("two", 1), ("two", 2),
    }  # fmt: skip
    assert "Compared with openai/one + terse, case by case, p corrected for 3 targets (Holm)" in done.out
    assert ["1.000", "0.000", "-1.000"] in [line.split()[3:6] for line in command("compare", "last").out.splitlines()]

    for name in ("r.html", "r.md", "r.json"):
        assert command("report", "-o", name).code == 0
        assert "openai/two + polite" in Path(name).read_text(encoding="utf-8")
    targets = json.loads(Path("r.json").read_text(encoding="utf-8"))["targets"]
    assert targets["baseline"] == "openai/one + terse"
    assert targets["others"]["openai/two + terse"]["scores"]["ties"] == 8
    assert command("report", "--json").json["targets"] == targets


def test_one_run_is_compared_with_itself_target_by_target(several: Any, command: Callable[..., Any]) -> None:
    command("run", "suite.yaml")
    asked = len(several.bodies)

    plain = command("compare", "last")
    other = command("compare", "last", "--model-a", "openai/two + polite", "--evaluator", "names it", "--json")
    worse = command("compare", "last", "--fail-if-worse", "-o", "found.md")
    pair = command("compare", "last", "last", "--model-a", "openai/one + polite", "--model-b", "openai/two + terse")

    assert plain.out.startswith("Compared with openai/one + terse, case by case")
    assert other.json["baseline"] == "openai/two + polite"
    assert other.json["others"]["openai/one + terse"]["better"] is True
    assert worse.code == 100
    assert "openai/two + polite" in Path("found.md").read_text(encoding="utf-8")
    assert "B is better than A: +1.000" in pair.out
    assert len(several.bodies) == asked


@pytest.mark.usefixtures("several")
def test_what_cannot_be_compared_is_said(command: Callable[..., Any]) -> None:
    command("run", "suite.yaml", "--target", "openai/one", "--limit", "1")
    command("run", "suite.yaml", "--limit", "1")
    Path("one.yaml").write_text(
        "evaluators: [{type: contains, value: P}]\ncases: [{id: a, candidate_answer: P}]\n", encoding="utf-8"
    )

    wrong_name = command("compare", "last", "--model-a", "openai/tow + terse")
    no_b = command("compare", "last", "--model-b", "openai/two + terse")
    command("run", "one.yaml")
    single = command("compare", "last")

    assert (wrong_name.code, no_b.code, single.code) == (2, 2, 2)
    assert "did you mean 'openai/two + terse'?" in wrong_name.err
    assert "--model-b is for a run B" in no_b.err
    assert "has one target, and so nothing to compare; name a second run" in single.err


@pytest.mark.usefixtures("several")
def test_limit_and_only_count_cases_and_not_answers(command: Callable[..., Any]) -> None:
    limited = command("run", "suite.yaml", "--limit", "2", "--json")
    chosen = command("run", "suite.yaml", "--only", "c7", "--json")

    assert (limited.json["run"]["cases"], chosen.json["run"]["cases"]) == (8, 4)


def test_targets_that_are_typed_take_over_the_prompts(several: Any, command: Callable[..., Any]) -> None:
    command("run", "suite.yaml", "--limit", "1", "--target", "openai/three", "--target", "openai/four")

    assert {body["model"] for body in several.bodies} == {"three", "four"}
    assert len(several.bodies) == 4
    assert list(command("report", "--json").json["summary"]["models"]) == [
        "openai/three + terse", "openai/three + polite", "openai/four + terse", "openai/four + polite",
    ]  # fmt: skip


def test_the_answers_of_a_run_of_several_are_judged_anew(several: Any, command: Callable[..., Any]) -> None:
    command("run", "suite.yaml", "--limit", "2")
    asked = len(several.bodies)
    before = command("runs", "--json").json[0]["id"]

    again = command("run", "suite.yaml", "--limit", "2", "--answers-from", before, "--json")

    assert (again.code, len(several.bodies)) == (0, asked)
    assert again.json["summary"]["models"]["openai/one + terse"]["mean"] == 1.0


@pytest.mark.usefixtures("several")
def test_show_shows_what_each_target_answered(command: Callable[..., Any]) -> None:
    command("run", "suite.yaml", "--limit", "1")

    shown = command("show", "c0")

    assert [line for line in shown.out.splitlines() if line.startswith("c0 ")] == [
        "c0 openai/one + terse  ✓ pass 1.000",
        "c0 openai/one + polite  ✗ fail 0.000",
        "c0 openai/two + terse  ✓ pass 1.000",
        "c0 openai/two + polite  ✗ fail 0.000",
    ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("{who: Ann}", "{}"), "the system text of 'openai/one + polite' uses 'who', which is not in the metadata"),
        (
            ("who: Ann", "who: Ann, model: x"),
            "its metadata has the key 'model', which names the target if there are several",
        ),
        (("who: Ann", "who: Ann, prompt: x"), "its metadata has the key 'prompt', which names the target"),
        (("input:", "candidate_answer: Paris, input:"), "it has a candidate_answer, and the suite has several targets"),
        (("[openai/one, openai/two]", "[openai/one, openai:one]"), "two targets are named 'openai/one + terse'"),
        (("[openai/one, openai/two]", "[openai/one, opnai/two]"), "no model provider 'opnai'; did you mean 'openai'?"),
        (("terse:", "' ':"), "prompts: a name must be text of one line"),
        (('{{ input }}"\n    polite', '"\n    polite'), "the prompt must use {{ input }}"),
    ],
)
@pytest.mark.usefixtures("several")
def test_validate_names_what_is_wrong(command: Callable[..., Any], change: tuple[str, str], told: str) -> None:
    path = Path("suite.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace(*change), encoding="utf-8")

    done = command("validate", "suite.yaml")

    assert done.code == 2
    assert told in done.out + done.err
    assert "suite.yaml:" in done.out + done.err


@pytest.mark.usefixtures("several")
def test_an_estimate_counts_every_combination(command: Callable[..., Any]) -> None:
    done = command("run", "suite.yaml", "--estimate", "--json")

    assert done.json["cases"] == 32
    assert {model["model"]: model["calls"]["low"] for model in done.json["models"]} == {
        "openai/one": 16, "openai/two": 16,
    }  # fmt: skip
