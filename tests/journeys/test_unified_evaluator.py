"""The unified evaluator: two modes of one class, one verdict, one way to ask."""

import json
from typing import Any

import pytest

from evenhand import Case, Evaluation, PromptEvaluator, Scripted, Verdict, registry

CASE = Case(question="Refund?", candidate_answer="Within 30 days.", expected_outcome="States the period")
RUBRICS = [
    {"id": "period", "description": "States the period", "weight": 3},
    {"id": "kind", "description": "Is kind", "weight": 1, "required": False},
]


def checks(period: bool, kind: bool) -> str:
    rows = [
        {"id": "period", "satisfied": period, "reasoning": "It does."},
        {"id": "kind", "satisfied": kind, "reasoning": "Curt."},
    ]
    return json.dumps({"checks": rows, "overall_reasoning": "Right but curt."})


def test_mode_a_rubric_mode() -> None:
    judge = Scripted([checks(True, False)])

    evaluation = PromptEvaluator(judge=judge, rubrics=RUBRICS).evaluate(CASE)

    prompt = judge.asked[0].messages[0].content
    assert "States the period" in prompt
    assert "Is kind" in prompt
    assert evaluation.score == 0.75
    assert evaluation.verdict is Verdict.BORDERLINE
    assert evaluation.hits == ("[period] States the period: It does.",)
    assert evaluation.misses == ("[kind] Is kind: Curt.",)


@pytest.mark.parametrize(("score", "verdict"), [(0.8, "pass"), (0.7, "borderline"), (0.5, "fail")])
def test_mode_b_freeform_mode(score: float, verdict: str) -> None:
    judge = Scripted([json.dumps({"score": score, "hits": ["a"], "misses": ["b"], "reasoning": "c"})])

    evaluation = PromptEvaluator(judge=judge).evaluate(CASE)

    assert (evaluation.score, evaluation.verdict) == (score, verdict)
    assert (evaluation.hits, evaluation.misses) == (("a",), ("b",))


def test_mode_b_freeform_mode_with_a_template_of_the_users() -> None:
    judge = Scripted(['{"score": 1}'])

    PromptEvaluator(judge=judge, template="Grade: {{ candidate_answer }}").evaluate(CASE)

    assert judge.asked[0].messages[1].content == "Grade: Within 30 days."


def test_adding_rubrics_switches_the_mode_without_changing_the_evaluator_type() -> None:
    freeform = registry.evaluator({"type": "llm_judge", "judge": Scripted([])})
    rubric = registry.evaluator({"type": "llm_judge", "judge": Scripted([]), "rubrics": ["x"]})

    assert type(freeform) is type(rubric) is PromptEvaluator


@pytest.mark.parametrize("rubrics", [[], RUBRICS], ids=["freeform", "rubric"])
def test_verdict_standardization(rubrics: list[Any]) -> None:
    good = checks(True, True) if rubrics else '{"score": 0.9}'

    scored = PromptEvaluator(judge=Scripted([good]), rubrics=rubrics).evaluate(CASE)
    failed = PromptEvaluator(judge=Scripted(["?"] * 3), rubrics=rubrics).evaluate(CASE)

    assert (scored.verdict, failed.verdict) == (Verdict.PASS, Verdict.FAIL)


@pytest.mark.parametrize("rubrics", [[], RUBRICS], ids=["freeform", "rubric"])
def test_shared_execution_three_attempts_in_both_modes(rubrics: list[Any]) -> None:
    good = checks(True, True) if rubrics else '{"score": 1}'
    third_time = Scripted(["no", "still no", good])
    never = Scripted(["no"] * 4)

    succeeded = PromptEvaluator(judge=third_time, rubrics=rubrics).evaluate(CASE)
    exhausted = PromptEvaluator(judge=never, rubrics=rubrics).evaluate(CASE)

    assert (succeeded.score, succeeded.retry_count) == (1.0, 2)
    assert (len(never.asked), exhausted.score) == (3, 0.0)


class Provider:
    """A provider with an old face, and a modern one if it has it."""

    def __init__(self, modern: Any = None) -> None:
        self.used: list[str] = []
        self.modern = modern

    def as_language_model(self) -> Any:
        self.used.append("as_language_model")
        return self.modern

    def invoke(self, messages: list[dict[str, str]]) -> str:
        self.used.append("invoke")
        return '{"score": 0.25}'


def test_provider_compatibility_prefers_the_modern_face() -> None:
    modern = Scripted(['{"score": 1}'])
    provider = Provider(modern)

    evaluation = PromptEvaluator(judge=provider).evaluate(CASE)

    assert (evaluation.score, len(modern.asked)) == (1.0, 1)
    assert "invoke" not in provider.used


def test_provider_compatibility_falls_back_to_invoke() -> None:
    class Legacy:
        def invoke(self, messages: list[dict[str, str]]) -> str:
            assert [message["role"] for message in messages] == ["system", "user"]
            return '{"score": 0.25}'

    without_modern_face = PromptEvaluator(judge=Legacy()).evaluate(CASE)
    with_an_empty_one = PromptEvaluator(judge=Provider(None)).evaluate(CASE)

    assert (without_modern_face.score, with_an_empty_one.score) == (0.25, 0.25)


def test_migration_type_rubric_maps_to_the_unified_evaluator() -> None:
    definition = {"type": "rubric", "name": "old", "rubrics": RUBRICS, "judge": Scripted([checks(True, True)])}

    with pytest.warns(DeprecationWarning, match="old name"):
        evaluator = registry.evaluator(definition)

    assert isinstance(evaluator, PromptEvaluator)
    evaluation: Evaluation = evaluator.evaluate(CASE)
    assert (evaluation.score, evaluation.type) == (1.0, "llm_judge")
