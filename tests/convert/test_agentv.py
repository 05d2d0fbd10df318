"""Eval files of AgentV, in the shapes they have had, give the scores that the specification says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand import Evaluation, Scripted, Verdict, evaluate
from evenhand.convert.conversion import convert
from evenhand.convert.source import read_value
from evenhand.domain.run import CaseResult
from evenhand.suites.suite import check
from evenhand.suites.values import plain


def checks(**satisfied: bool) -> str:
    return json.dumps(
        {"checks": [{"id": key, "satisfied": value, "reasoning": ""} for key, value in satisfied.items()]}
    )


def bands(**scores: int) -> str:
    return json.dumps({"checks": [{"id": key, "score": value, "reasoning": ""} for key, value in scores.items()]})


def graded(score: float) -> str:
    return json.dumps({"score": score, "hits": ["a hit"], "misses": [], "reasoning": "because"})


def judged(folder: Path, text: str, *replies: str, answer: str = "Paris", whole: bool = True) -> list[CaseResult]:
    """Convert an eval file, and judge its cases with an answer and a judge that says what it is told to."""
    (folder / "eval.yaml").write_text(text)
    conversion = convert(folder / "eval.yaml")
    (folder / "suite.yaml").write_text(conversion.text)
    assert check(folder / "suite.yaml").problems == ()
    assert (conversion.left == ()) is whole, conversion.left
    judge = Scripted(replies)
    run = evaluate(folder / "suite.yaml", judge=judge, target=lambda case: answer, store=None, concurrency=1)
    assert len(judge.asked) == len(replies)
    return list(run)


def evaluations(result: CaseResult) -> list[Evaluation]:
    return [judgment.evaluation for judgment in result.judgments]


FREEFORM = """\
description: Capitals
evalcases:
  - id: capital
    expected_outcome: Names Paris
    input_messages:
      - role: user
        content: Capital of France?
    expected_messages:
      - role: assistant
        content: Paris
"""


@pytest.mark.parametrize(
    ("score", "verdict"),
    [(0.8, Verdict.PASS), (0.79, Verdict.BORDERLINE), (0.6, Verdict.BORDERLINE), (0.5, Verdict.FAIL)],
)
def test_a_case_without_evaluators_is_judged_freely(tmp_path: Path, score: float, verdict: Verdict) -> None:
    (result,) = judged(tmp_path, FREEFORM, graded(score))

    assert (result.case.id, result.outcome.score, result.outcome.verdict) == ("capital", score, verdict)
    assert result.case.question == "Capital of France?"
    assert (result.case.reference_answer, result.case.expected_outcome) == ("Paris", "Names Paris")


RUBRICS = """\
evalcases:
  - id: capital
    expected_outcome: Names Paris
    input_messages: [{role: user, content: Capital of France?}]
    rubrics:
      - Names Paris
      - id: kind
        description: Is kind
        weight: 3.0
        required: false
"""


def test_inline_rubrics_weigh_what_is_satisfied_and_a_required_one_fails(tmp_path: Path) -> None:
    (met,) = judged(tmp_path, RUBRICS, checks(**{"rubric-1": True, "kind": False}))
    (missed,) = judged(tmp_path, RUBRICS, checks(**{"rubric-1": False, "kind": True}))

    assert (met.outcome.score, evaluations(met)[0].verdict) == (0.25, Verdict.FAIL)
    assert evaluations(met)[0].hits == ("[rubric-1] Names Paris",)
    assert (missed.outcome.score, evaluations(missed)[0].verdict) == (0.75, Verdict.FAIL)


OLD_RUBRIC = """\
execution:
  evaluators:
    - name: tone
      type: rubric
      rubrics:
        - {id: kind, description: Is kind}
        - {id: short, description: Is short, weight: 4}
evalcases:
  - id: one
    expected_outcome: Is fine
    input_messages: [{role: user, content: Hello?}]
"""


def test_the_old_type_rubric_is_a_judge_with_rubrics(tmp_path: Path) -> None:
    (result,) = judged(tmp_path, OLD_RUBRIC, checks(kind=True, short=True))

    (evaluation,) = evaluations(result)
    assert (evaluation.evaluator, evaluation.type, evaluation.score) == ("tone", "llm_judge", 1.0)


OWN_REPLACE = """\
execution:
  evaluators:
    - {name: usual, type: llm_judge}
evalcases:
  - id: usual
    expected_outcome: Is fine
    input_messages: [{role: user, content: Hello?}]
  - id: own
    expected_outcome: Is fine
    input_messages: [{role: user, content: Hello?}]
    execution:
      evaluators:
        - {name: tone, type: llm_judge, weight: 3, rubrics: [{id: kind, description: Is kind}]}
        - {name: free, type: llm_judge, weight: 1}
"""


def test_a_cases_own_evaluators_replace_those_of_the_file_and_weigh(tmp_path: Path) -> None:
    usual, own = judged(tmp_path, OWN_REPLACE, graded(0.5), checks(kind=True), graded(0.2))

    assert [each.evaluator for each in evaluations(usual)] == ["usual"]
    assert [each.evaluator for each in evaluations(own)] == ["tone", "free"]
    assert own.outcome.score == pytest.approx(0.8)


TEMPLATE = """\
evalcases:
  - id: capital
    expected_outcome: Names Paris
    input_messages: [{role: user, content: Capital of France?}]
    evaluators:
      - {name: own prompt, type: llm_judge, prompt: judge.md}
"""


def test_a_prompt_of_ones_own_replaces_the_user_prompt_only(tmp_path: Path) -> None:
    (tmp_path / "judge.md").write_text("{{question}} It said {{candidate_answer}}. Wanted: {{expected_outcome}}")

    (result,) = judged(tmp_path, TEMPLATE, graded(1))

    request = evaluations(result)[0].evaluator_provider_request
    assert request is not None
    assert request["userPrompt"] == "Capital of France? It said Paris. Wanted: Names Paris"
    assert "misses" in request["systemPrompt"]


CODE = """\
evalcases:
  - id: capital
    expected_outcome: Names Paris
    input_messages: [{role: user, content: Capital of France?}]
    evaluators:
      - {name: length, type: code_judge, script: PYTHON judge.py}
"""
PROGRAM = """\
import json, sys
payload = json.load(sys.stdin)
assert payload["question"] == "Capital of France?"
print(json.dumps({"score": 0.5 if payload["candidate_answer"] == "Paris" else 0, "hits": [], "misses": ["half"]}))
"""


def test_a_code_judge_runs_its_script(tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(PROGRAM)

    (result,) = judged(tmp_path, CODE.replace("PYTHON", sys.executable))

    assert (result.outcome.score, evaluations(result)[0].misses) == (0.5, ("half",))


COMPOSITE = """\
evalcases:
  - id: capital
    expected_outcome: Names Paris
    input_messages: [{role: user, content: Capital of France?}]
    evaluators:
      - name: release
        type: composite
        evaluators:
          - {name: safety, type: llm_judge, rubrics: [{id: safe, description: Is safe}]}
          - {name: quality, type: llm_judge}
        aggregator: {type: weighted_average, weights: {safety: 0.3, quality: 0.7}}
"""


def test_a_composite_weighs_its_members_by_the_weights_of_its_aggregator(tmp_path: Path) -> None:
    (result,) = judged(tmp_path, COMPOSITE, checks(safe=True), graded(0.5))

    assert result.outcome.score == pytest.approx(0.65)
    assert result.outcome.verdict is Verdict.BORDERLINE


NO_TARGETS = "its targets are in .agentv/targets.yaml; name a model with target, or with --target"
NO_TRACES = "Evenhand judges answers, not what an agent did on the way"
TRAJECTORY = """\
evalcases:
  - id: research
    expected_outcome: Looks it up
    input_messages:
      - role: system
        content: Be brief.
      - role: user
        content:
          - {type: file, value: notes.md}
          - {type: text, value: What do the notes say?}
    execution:
      target: azure_base
      evaluators:
        - {name: tools, type: tool_trajectory, mode: any_order, minimums: {search: 1}}
        - {name: quality, type: llm_judge}
"""


def test_what_is_not_carried_over_is_listed_and_the_rest_is_judged(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("Rain tomorrow.")

    (result,) = judged(tmp_path, TRAJECTORY, graded(0.9), whole=False)

    assert [each.evaluator for each in evaluations(result)] == ["quality"]
    assert "Rain tomorrow." in (result.case.question_text or "")
    left = convert(tmp_path / "eval.yaml").left
    assert [line.removeprefix(str(tmp_path)) for line in left] == [
        f"/eval.yaml:12: test 'research': execution: target is not carried over: {NO_TARGETS}",
        f"/eval.yaml:14: grader 'tools' (tool_trajectory) is not carried over: {NO_TRACES}",
    ]


TODAY = """\
name: capitals
tags: [smoke]
assertions:
  - {name: usual, type: icontains, value: paris}
tests:
  - id: capital
    criteria: Names Paris
    input: Capital of France?
    expected_output: Paris
    assertions:
      - Is one word
      - {type: equals, value: "Paris ", required: true}
  - id: alone
    input: Capital of France?
    execution: {skip_defaults: true}
    assert:
      - {type: ends-with, value: is}
"""


def test_a_file_of_today_adds_its_own_graders_to_those_of_a_test(tmp_path: Path) -> None:
    capital, alone = judged(tmp_path, TODAY, checks(**{"rubric-1": False}), whole=False)

    assert [each.evaluator for each in evaluations(capital)] == ["equals", "criteria", "usual"]
    assert capital.outcome.score == pytest.approx(2 / 3)
    assert alone.outcome.score == 1
    assert capital.case.expected_outcome == "Names Paris"


LIKE_PROMPTFOO = """\
prompts: ["Capital of {{ country }}?"]
default_test: {assert: [{type: contains, value: Par}]}
evaluate_options: {max_concurrency: 2}
tests:
  - {description: france, vars: {country: France}}
"""


def test_the_newest_shape_is_read_as_that_of_promptfoo(tmp_path: Path) -> None:
    (result,) = judged(tmp_path, LIKE_PROMPTFOO)

    assert (result.case.question, result.outcome.score) == ("Capital of France?", 1.0)


def test_a_reference_that_is_no_text_and_no_message_leaves_the_test_out(tmp_path: Path) -> None:
    (tmp_path / "eval.yaml").write_text(
        "tests:\n  - {id: a, input: Hi, expected_output: true}\n  - {id: b, input: Hi, expected_output: Hello}\n"
    )

    conversion = convert(tmp_path / "eval.yaml")

    assert conversion.cases == 1
    (line,) = conversion.left
    assert line.startswith(f"{tmp_path}/eval.yaml:2: test 'a' is not carried over: reference_answer must be text")


def test_a_file_of_tests_alone_is_converted_too(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "criteria": "Is kind", "input": "Hi"}\n')

    conversion = convert(tmp_path / "cases.jsonl")

    assert (conversion.kind, conversion.cases, conversion.left) == ("agentv", 1, ())


@pytest.mark.parametrize(
    ("required", "thresholds"),
    [
        ("true", {"pass": 0.8, "borderline": 0.8}),
        ("0.5", {"pass": 0.8, "borderline": 0.5}),
        ("0.9", {"pass": 0.9, "borderline": 0.9}),
    ],
)
def test_a_required_grader_must_reach_what_agentv_demands(
    tmp_path: Path, required: str, thresholds: dict[str, Any]
) -> None:
    text = f"tests: [{{id: a, criteria: Is kind, input: Hi, assertions: [{{type: llm-grader, required: {required}}}]}}]"
    (tmp_path / "eval.yaml").write_text(text)
    (tmp_path / "suite.yaml").write_text(convert(tmp_path / "eval.yaml").text)

    run = evaluate(
        tmp_path / "suite.yaml",
        judge=Scripted([graded(thresholds["borderline"] - 0.01)]),
        target=lambda case: "x",
        store=None,
    )

    assert next(iter(run)).outcome.verdict is Verdict.FAIL


def test_the_context_of_a_test_is_that_of_the_case(tmp_path: Path) -> None:
    tests = "- {id: a, criteria: c, input: i, context: [one, two]}\n- {id: b, criteria: c, input: i, context: 7}\n"
    (tmp_path / "eval.yaml").write_text(f"tests:\n{tests}")

    conversion = convert(tmp_path / "eval.yaml")
    (tmp_path / "suite.yaml").write_text(conversion.text)

    first, second = plain(read_value(tmp_path / "suite.yaml", name="suite.yaml"))["cases"]
    assert (first["context"], "context" in second) == (["one", "two"], False)
    assert [line.split(": ", 1)[1] for line in conversion.left] == [
        "test 'b': context is not carried over: a context is a text, or a list of texts"
    ]


FIELDS = """\
tests:
  - id: invoice
    criteria: Extracts the invoice
    input: Extract it
    expected_output:
      - role: assistant
        content: '{"number": "INV-7", "day": "2025-01-15", "net": 1000, "lines": [{"net": 600}, {"net": 400}]}'
    assertions:
      - name: fields
        type: field-accuracy
        aggregation: %s
        fields:
          - {path: number, match: exact, weight: 2}
          - {path: day, match: date, formats: [DD-MMM-YYYY, YYYY-MM-DD]}
          - {path: net, match: numeric_tolerance, tolerance: 1, relative: false, required: true}
          - {path: lines.1.net, match: exact}
          - {path: importer.name, match: exact, required: false}
"""


@pytest.mark.parametrize(("aggregation", "score"), [("weighted_average", 0.8), ("all_or_nothing", 0.0)])
def test_field_accuracy_gives_the_score_of_the_fields(tmp_path: Path, aggregation: str, score: float) -> None:
    answer = (
        '```json\n{"number": "INV-7", "day": "15-JAN-2025", "net": 1000.5, "lines": [{"net": 600}, {"net": 4}]}\n```'
    )

    (result,) = judged(tmp_path, FIELDS % aggregation, answer=answer)

    (evaluation,) = evaluations(result)
    assert (evaluation.type, evaluation.score) == ("field_accuracy", score)
    assert evaluation.misses == ("$.lines[1].net: expected 400, found 4",)


def test_what_field_accuracy_reads_in_another_way_is_listed(tmp_path: Path) -> None:
    text = FIELDS % "weighted_average"
    text = text.replace("formats: [DD-MMM-YYYY, YYYY-MM-DD]", "weight: 1").replace("relative: false", "relative: true")

    (result,) = judged(tmp_path, text, answer='{"number": "INV-7", "day": "1/15/2025"}', whole=False)

    (evaluation,) = evaluations(result)
    assert evaluation.score == 0.6
    left = convert(tmp_path / "eval.yaml").left
    assert any("the month comes first" in line for line in left)
    assert any("a relative tolerance allows nothing here" in line for line in left)


def test_a_match_that_is_not_here_is_listed(tmp_path: Path) -> None:
    (tmp_path / "eval.yaml").write_text(FIELDS.replace("match: exact, weight: 2", "match: fuzzy") % "weighted_average")

    left = convert(tmp_path / "eval.yaml").left

    assert any("match is 'fuzzy'; it must be one of exact" in line for line in left)
