"""A reference that was given as messages: every evaluator sees the text of the last assistant message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand import (
    Case,
    CompositeEvaluator,
    Contains,
    EndsWith,
    Equals,
    JsonMatch,
    Levenshtein,
    Numeric,
    PairwiseEvaluator,
    PromptEvaluator,
    Scripted,
    StartsWith,
    evaluate,
)
from evenhand.domain.ask import Evaluator
from evenhand.evaluators.function import FunctionEvaluator
from evenhand.evaluators.program import case_as_json

PARIS = [{"role": "assistant", "content": "Paris"}]
TALK = [
    {"role": "user", "content": "Capital of Italy?"},
    {"role": "assistant", "content": "Rome"},
    {"role": "user", "content": "And of France?"},
    {"role": "assistant", "content": "Paris"},
]
GRADE = '{"score": 1, "hits": [], "misses": [], "reasoning": ""}'
FIRST = '{"reasoning": "", "winner": "A"}'


def answered(answer: str, messages: Any) -> Case:
    return Case(question="Capital of France?", candidate_answer=answer, expected_messages=messages)


@pytest.mark.parametrize("messages", [PARIS, TALK])
@pytest.mark.parametrize(
    "evaluator",
    [
        Equals(),
        Contains(),
        StartsWith(),
        EndsWith(),
        Levenshtein(),
        FunctionEvaluator(name="same", function=lambda case: case.candidate_answer == case.reference_answer),
        CompositeEvaluator(members=[Equals()]),
    ],
    ids=lambda evaluator: evaluator.name,
)
def test_a_check_compares_with_the_last_assistant_message(evaluator: Any, messages: Any) -> None:
    assert evaluator.evaluate(answered("Paris", messages)).score == 1.0
    assert evaluator.evaluate(answered("Lyon", messages)).score < 1.0


def test_numbers_and_fields_are_found_in_the_last_assistant_message() -> None:
    number = [{"role": "ai", "content": "42.0"}]
    fields = [{"role": "model", "content": '{"city": "Paris"}'}]

    assert Numeric().evaluate(answered("42", number)).score == 1.0
    assert JsonMatch().evaluate(answered('{"city": "Paris"}', fields)).score == 1.0
    assert JsonMatch().evaluate(answered('{"city": "Lyon"}', fields)).score == 0.0


def test_a_structured_reference_in_a_message_is_compared_field_by_field() -> None:
    reference = [{"role": "assistant", "content": {"city": "Paris"}}]

    assert JsonMatch().evaluate(answered('{"city": "Paris"}', reference)).score == 1.0


def prompt_of(evaluator: Evaluator, judge: Scripted, case: Case) -> str:
    evaluator.evaluate(case)  # type: ignore[attr-defined]  # of those that ship with the package
    return judge.asked[0].messages[-1].content


def test_a_judge_reads_a_single_message_as_the_reference() -> None:
    judge = Scripted([GRADE])

    prompt = prompt_of(PromptEvaluator(judge=judge), judge, answered("Lyon", PARIS))
    text = prompt_of(
        PromptEvaluator(judge=(other := Scripted([GRADE]))),
        other,
        Case(question="Capital of France?", candidate_answer="Lyon", reference_answer="Paris"),
    )

    assert prompt == text


def test_a_judge_reads_the_whole_conversation_role_by_role() -> None:
    judge = Scripted([GRADE])

    prompt = prompt_of(PromptEvaluator(judge=judge), judge, answered("Lyon", TALK))

    assert "user: Capital of Italy?\n\nassistant: Rome\n\nuser: And of France?\n\nassistant: Paris" in prompt


def test_a_template_and_a_rubric_see_the_reference_too() -> None:
    judge, checking = Scripted([GRADE]), Scripted(['{"checks": [{"id": "rubric-1", "satisfied": true}]}'])
    template = "Right is {{ reference_answer }}, was {{ candidate_answer }}"

    own = prompt_of(PromptEvaluator(judge=judge, template=template), judge, answered("Lyon", PARIS))
    rubric = prompt_of(PromptEvaluator(judge=checking, rubrics=["Is right"]), checking, answered("Lyon", PARIS))

    assert own == "Right is Paris, was Lyon"
    assert "Paris" in rubric


def test_a_pair_is_the_candidate_and_the_last_assistant_message_alone() -> None:
    judge = Scripted([FIRST, FIRST])

    evaluation = PairwiseEvaluator(judge=judge).evaluate(answered("Lyon", TALK))

    assert evaluation.score == 0.5
    assert "Rome" not in judge.asked[0].messages[-1].content
    assert "Paris" in judge.asked[0].messages[-1].content


def test_a_program_gets_the_messages_as_before_and_the_text_beside_them() -> None:
    case = json.loads(case_as_json(answered("Lyon", TALK), config={}))

    assert case["expected_messages"] == TALK
    assert case["reference_answer"] == "Paris"


def test_a_text_that_was_given_beside_messages_is_the_reference() -> None:
    case = Case(
        candidate_answer="Paris", reference_answer="Paris", expected_messages=[("assistant", "In France: Paris")]
    )
    judge = Scripted([GRADE])

    assert Equals().evaluate(case).score == 1.0
    assert "In France" not in prompt_of(PromptEvaluator(judge=judge), judge, case)


@pytest.mark.parametrize("key", ["reference_answer", "expected_output"])
@pytest.mark.parametrize("name", ["suite.yaml", "suite.json", "cases.jsonl"])
def test_a_run_of_a_suite_is_scored_by_it(tmp_path: Path, key: str, name: str) -> None:
    case = {"id": "capital", "input": "Capital of France?", "output": "Paris", key: PARIS}
    path = tmp_path / name
    suite = {"evaluators": [{"type": "equals"}], "cases": [case]}
    path.write_text(json.dumps(case if name.endswith("jsonl") else suite), encoding="utf-8")
    if name.endswith("jsonl"):
        path.with_suffix(".yaml").write_text("evaluators: [{type: equals}]\n", encoding="utf-8")

    run = evaluate(str(path), store=None)

    assert [result.outcome.score for result in run] == [1.0]


def test_a_mapping_in_python_is_scored_by_it() -> None:
    case = {"id": "capital", "output": "Paris", "expected_output": PARIS}

    run = evaluate([case], Equals(), store=None)

    assert [result.outcome.score for result in run] == [1.0]
