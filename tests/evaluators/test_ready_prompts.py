"""The prompt evaluator judges by a ready prompt, with values from the case."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, ConfigError, PromptEvaluator, Scripted, create_llm_as_judge, evaluate
from evenhand.domain.errors import UnknownNameError
from evenhand.engine.identity import describe
from evenhand.evaluators.prompts.ready import IN_A_CASE, READY
from evenhand.suites.suite import check

WHOLE: dict[str, Any] = {
    "question": "the question",
    "candidate_answer": "the answer",
    "reference_answer": "the reference",
    "expected_outcome": "never shown",
    "context": ["the first", {"id": "d", "text": "the second"}],
    "metadata": {"plan": ["the plan"]},
}
SCORE = '{"reasoning": "r", "hits": ["h"], "misses": [], "score": 0.75}'
# Each value as it is left out of a case.
LEFT_OUT: dict[str, dict[str, Any]] = {
    "inputs": {"question": " "},
    "outputs": {"candidate_answer": None},
    "reference_outputs": {"reference_answer": ""},
    "context": {"context": [" "]},
    "plan": {"metadata": {"plan": None}},
}


def sections_of(prompt: str) -> list[str]:
    return re.findall(r'^<(\w+) id="', prompt, re.MULTILINE)


@pytest.mark.parametrize("name", READY)
def test_every_ready_prompt_judges_a_case(name: str) -> None:
    judge = Scripted([SCORE])

    evaluation = PromptEvaluator(prompt=name, judge=judge).evaluate(Case(**WHOLE))

    assert (evaluation.score, evaluation.hits, evaluation.reasoning) == (0.75, ("h",), "r")
    system, user = (message.content for message in judge.asked[0].messages)
    ready = READY[name]
    used = {*ready.needs, *ready.may_use}
    expected = used - {"context"} | ({"context_1", "context_2"} if "context" in used else set())
    assert user.startswith(f"{ready.text}\n\n")
    assert set(sections_of(user)) == expected
    assert "never shown" not in user
    assert system.startswith("You are a careful and impartial judge.\n\nJudge what the user message asks for")
    assert "candidate answer" not in system
    if "context" in used:
        assert '\n[2] "d"\nthe second\n</context_2 id=' in user


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, ready in READY.items() for value in ready.needs])
def test_a_case_that_lacks_what_the_prompt_needs_is_not_evaluated(name: str, value: str) -> None:
    judge = Scripted([])

    evaluation = PromptEvaluator(prompt=name, judge=judge).evaluate(Case(**WHOLE | LEFT_OUT[value]))

    assert (evaluation.status, evaluation.score, judge.asked) == ("not_evaluated", None, [])
    missing = f"The prompt {name} needs {IN_A_CASE[value]}, which the case does not have."
    assert evaluation.reasoning == ("There is no candidate answer." if value == "outputs" else missing)


@pytest.mark.parametrize("name", ["retrieval_relevance", "context_precision", "context_recall"])
def test_what_was_retrieved_is_judged_without_an_answer(name: str) -> None:
    evaluator = PromptEvaluator(prompt=name, judge=Scripted([SCORE]))

    assert evaluator.evaluate(Case(**WHOLE | {"candidate_answer": None})).score == 0.75


def test_an_empty_answer_is_an_answer() -> None:
    evaluator = PromptEvaluator(prompt="toxicity", judge=Scripted([SCORE]))

    assert evaluator.evaluate(Case(candidate_answer="")).score == 0.75


def test_a_scale_and_samples_go_with_a_ready_prompt() -> None:
    judge = Scripted(['{"score": 1}', '{"score": 5}'])

    evaluation = PromptEvaluator(prompt="faithfulness", judge=judge, scale="1-5", samples=2).evaluate(Case(**WHOLE))

    assert (evaluation.score, evaluation.score_raw) == (0.5, [1, 5])


def test_another_metadata_of_the_same_name_does_not_matter_to_other_prompts() -> None:
    picture = {"type": "image_url", "image_url": {"url": "x"}}
    case = Case(**WHOLE | {"metadata": {"plan": picture}})

    assert PromptEvaluator(prompt="toxicity", judge=Scripted([SCORE])).evaluate(case).score == 0.75
    told = PromptEvaluator(prompt="plan_adherence", judge=Scripted([])).evaluate(case).reasoning
    assert told.startswith("The prompt plan_adherence needs metadata.plan: image_url is a picture")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"prompt": "faithfullness"}, "no ready prompt 'faithfullness'; did you mean 'faithfulness'?"),
        ({"prompt": "Answer-Relevancy"}, "no ready prompt 'Answer-Relevancy'; did you mean 'answer_relevance'?"),
        (
            {"prompt": "Is it kind? {{ candidate_answer }}"},
            "prompt is the name of a ready prompt, such as faithfulness; write your own as template",
        ),
        ({"prompt": 5}, "prompt must be the name of a ready prompt, not int"),
        (
            {"prompt": "toxicity", "template": "{{ candidate_answer }}"},
            "prompt and template are two ways to say what is judged; drop one",
        ),
        (
            {"prompt": "toxicity", "rubrics": ["Kind"]},
            "prompt and rubrics are two ways to say what is judged; drop one",
        ),
        ({"prompt": "toxicity", "score_from": "logprobs"}, "score_from 'logprobs' does not go with a ready prompt"),
    ],
)
def test_what_is_no_name_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        PromptEvaluator(judge=Scripted([]), **options)

    assert str(refused.value) == f"llm_judge: {problem}"


@pytest.mark.parametrize("name", ["Groundedness", "FAITHFULNESS", "Answer-Relevance"])
def test_a_name_in_other_letters_is_no_prompt_of_ones_own(name: str) -> None:
    with pytest.raises(UnknownNameError, match="did you mean"):
        create_llm_as_judge(prompt=name, judge=Scripted([]))


def test_a_ready_prompt_is_known_by_its_text_and_none_by_nothing() -> None:
    judge = Scripted([])

    assert "prompt" not in describe(PromptEvaluator(judge=judge))
    assert describe(PromptEvaluator(judge=judge, prompt="toxicity"))["prompt"] == READY["toxicity"].text


def test_the_rubrics_of_a_case_are_checked_by_another() -> None:
    judge = Scripted([SCORE, '{"checks": [{"id": "rubric-1", "satisfied": true}]}'])
    evaluators = [{"type": "llm_judge", "name": "clean", "prompt": "toxicity"}]

    (result,) = evaluate([Case(id="a", rubrics=["Kind"], **WHOLE)], evaluators, judge=judge, store=None, concurrency=1)

    scores = {judgment.evaluation.evaluator: judgment.evaluation.score for judgment in result.judgments}
    assert scores == {"clean": 0.75, "rubric": 1.0}


def test_a_suite_says_which_cases_lack_what_a_prompt_needs(tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        "judge: ollama/x\n"
        "evaluators: [{type: llm_judge, name: recall, prompt: context_recall}]\n"
        "cases:\n"
        "- {id: a, context: c, expected_output: r}\n"
        "- {id: b, context: c}\n"
        "- {id: c, expected_output: r, evaluators: [{type: llm_judge, prompt: faithfulness}]}\n"
    )

    checked = check(suite)

    assert checked.problems == ()
    assert list(checked.notes) == [
        '1 case has no answer, and there is no target to generate one: it will not be evaluated; it is "c"',
        "1 case has no reference_answer, which evaluator 'recall' uses: it will not evaluate it; it is \"b\"",
        "1 case has no context, which evaluator 'llm_judge' uses: it will not evaluate it; it is \"c\"",
    ]


def test_a_mistaken_name_in_a_suite_has_its_line(tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text("evaluators:\n- type: llm_judge\n  prompt: groundednes\ncases: [{id: a, output: x}]\n")

    (problem,) = check(suite).problems

    assert problem.endswith("suite.yaml:3: llm_judge: no ready prompt 'groundednes'; did you mean 'groundedness'?")


def test_the_schema_lists_all_names() -> None:
    schema = json.loads(Path("src/evenhand/suites/suite.schema.json").read_text(encoding="utf-8"))

    assert schema["definitions"]["evaluator_llm_judge"]["properties"]["prompt"]["enum"] == list(READY)
