"""Suites that are sliced by what the metadata of their cases says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand import Contains, evaluate
from evenhand.domain.errors import ConfigError
from evenhand.suites.suite import problems

SUITE = """\
{header}
evaluators: [{{type: contains, name: paris, value: Paris}}]
cases:
  - {{id: a, output: Paris, metadata: {{lang: fr, topic: capitals}}}}
  - {{id: b, output: Rome, metadata: {{lang: it}}}}
  - {{id: c, output: Paris, metadata: {{lang: fr, tags: [x]}}}}
"""
CASES = [
    {"id": "a", "output": "Paris", "metadata": {"lang": "fr"}},
    {"id": "b", "output": "Rome", "metadata": {"lang": "it"}},
]


def suite(folder: Path, header: str) -> Path:
    path = folder / "suite.yaml"
    path.write_text(SUITE.format(header=header), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "header",
    [
        "slices: [lang, topic]",
        "gates: {slices: {lang: {min_mean: 0.9}}}",
        "gates: {evaluators: {paris: {slices: {lang: {min_mean: 0.9}, topic: {max_failed: 0}}}}}",
    ],
)
def test_a_suite_may_be_sliced(tmp_path: Path, header: str) -> None:
    assert problems(suite(tmp_path, header)) == []


@pytest.mark.parametrize(
    ("header", "mistakes"),
    [
        ("slices: lang", ["1: slices must be a list of keys of the cases' metadata such as ['lang'], not 'lang'"]),
        ("slices: [1]", ["1: slices must be a list of keys of the cases' metadata such as ['lang'], not [1]"]),
        ("slices:\n  - lang\n  - topics", ["3: slices: no case has 'topics' in its metadata; did you mean 'topic'?"]),
        ("slices: [site]", ["1: slices: no case has 'site' in its metadata; known: lang, tags, topic"]),
        (
            "gates:\n  slices:\n    lagn: {min_mean: 0.9}",
            ["3: gates: slices: no case has 'lagn' in its metadata; did you mean 'lang'?"],
        ),
        (
            "gates:\n  evaluators:\n    paris:\n      slices:\n        lagn: {min_mean: 0.9}",
            ["5: gates: evaluators: paris: slices: no case has 'lagn' in its metadata; did you mean 'lang'?"],
        ),
        (
            "gates:\n  slices:\n    lang:\n      min_maen: 0.9\n      min_mean_low: 2",
            [
                "4: gates: slices: lang: no gate 'min_maen'; did you mean 'min_mean'?",
                "5: gates: slices: lang: min_mean_low is 2; it must be a number from 0 to 1, or such as '80%'",
            ],
        ),
        (
            "slices: [tags]",
            ['6, case "c": metadata: tags must be text, a number, true or false, since the run is sliced by it'],
        ),
    ],
)
def test_what_cannot_be_sliced_is_refused_with_its_line(tmp_path: Path, header: str, mistakes: list[str]) -> None:
    path = suite(tmp_path, header)

    found = [mistake.removeprefix(f"{path}:") for mistake in problems(path)]

    assert found == mistakes


def test_a_run_of_a_suite_has_slices_and_gates_about_them(tmp_path: Path) -> None:
    path = suite(tmp_path, "slices: [topic]\ngates: {slices: {lang: {min_mean: 0.9}}}")

    run = evaluate(path, store=None)

    assert {value: part.cases.mean for value, part in run.summary.slices["lang"].items()} == {"fr": 1.0, "it": 0.0}
    assert list(run.summary.slices["topic"]) == ["capitals", "(none)"]
    assert [(gate.name, gate.ok, gate.n) for gate in run.gates] == [
        ("lang=fr.min_mean", True, 2),
        ("lang=it.min_mean", False, 1),
    ]
    assert not run.passed


def test_a_run_that_is_opened_again_has_the_same_slices(tmp_path: Path) -> None:
    database = tmp_path / "runs.db"
    run = evaluate(CASES, Contains(value="Paris"), slices=["lang"], store=database)

    opened = type(run).open(store=database)

    assert opened.summary == run.summary
    assert {value: part.evaluators["contains"].mean for value, part in opened.summary.slices["lang"].items()} == {
        "fr": 1.0,
        "it": 0.0,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slices": "lang"}, "slices must be a list"),
        ({"slices": ["lagn"]}, "slices: no case has 'lagn' in its metadata; did you mean 'lang'?"),
        ({"gates": {"slices": {"lagn": {"min_mean": 1}}}}, "gates: slices: no case has 'lagn' in its metadata"),
    ],
)
def test_what_a_program_passes_is_checked_before_anything_is_judged(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        evaluate(CASES, Contains(value="Paris"), store=None, **options)

    assert str(refused.value).startswith(message)


def test_a_case_of_a_program_that_cannot_be_in_a_slice_is_named() -> None:
    cases = [*CASES, {"id": "c", "output": "x", "metadata": {"lang": ["fr"]}}]

    with pytest.raises(ConfigError, match="case 'c': metadata: lang must be text"):
        evaluate(cases, Contains(value="Paris"), slices=["lang"], store=None)


def test_slices_that_are_passed_replace_those_of_the_suite(tmp_path: Path) -> None:
    path = suite(tmp_path, "slices: [nowhere]")

    assert list(evaluate(path, slices=["lang"], store=None).summary.slices) == ["lang"]


PROMPTS = "target: {model: ollama/a, prompts: {terse: 'In a word: {{ input }}', kind: 'Kindly: {{ input }}'}}"
ASKED = """\
evaluators: [{type: contains, value: Paris}]
cases: [{id: a, input: Capital?, metadata: {lang: fr}}]
"""


def test_a_suite_of_several_prompts_may_be_sliced_by_prompt(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"

    path.write_text(f"{PROMPTS}\nslices: [prompt, model, lang]\n{ASKED}", encoding="utf-8")
    assert problems(path) == []
    path.write_text(f"{PROMPTS}\ngates: {{slices: {{prompt: {{min_mean: 0.5}}}}}}\n{ASKED}", encoding="utf-8")
    assert problems(path) == []


def test_a_suite_of_one_target_has_no_prompts_to_slice_by(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(f"target: ollama/a\nslices: [prompt]\n{ASKED}", encoding="utf-8")

    (mistake,) = problems(path)

    assert "slices: no case has 'prompt' in its metadata" in mistake
