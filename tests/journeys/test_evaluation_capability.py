"""Evaluation capability: the judge's JSON contract and the unified prompt evaluator, scenario by scenario."""

import json
import warnings
from typing import Any

import pytest

from evenhand import Case, PromptEvaluator, Scripted, Status, Verdict

CASE = Case(
    question="What is the capital of France?",
    candidate_answer="It is Paris, the city of light.",
    reference_answer="Paris",
    expected_outcome="Names Paris as the capital",
)


def freeform(score: float, **rest: Any) -> str:
    return json.dumps({"score": score, "hits": [], "misses": [], "reasoning": ""} | rest)


def rubric_reply(**satisfied: bool) -> str:
    return json.dumps({"checks": [{"id": key, "satisfied": met, "reasoning": ""} for key, met in satisfied.items()]})


class TestLlmJudgeEvaluatorJsonContract:
    """The judge is told to emit a single JSON object, and its reply is normalised."""

    def test_enforce_json_prompt_contract(self) -> None:
        """WHEN prompts are built in freeform mode THEN they have the four parts and mandate the JSON object."""
        judge = Scripted([freeform(1.0)])

        PromptEvaluator(judge=judge).evaluate(CASE)

        system, user = (message.content for message in judge.asked[0].messages)
        for name in ("expected_outcome", "question", "reference_answer", "candidate_answer"):
            assert name in user
            assert str(getattr(CASE, name)) in user
        assert "single JSON object" in system
        for name in ("score", "hits", "misses", "reasoning"):
            assert f'"{name}"' in system
        assert system.count("at most four") == 2

    @pytest.mark.parametrize("around", ["%s", "Here it is: %s", "```json\n%s\n```", "{a} {b}: %s\nThat is all."])
    def test_parse_json_evaluator_response(self, around: str) -> None:
        """WHEN a response comes THEN the first valid object is taken, the score clamped, hits and misses trimmed."""
        verdict = freeform(1.7, hits=[" a ", "", "b", "c", "d", "e"], misses=["  ", "x"], reasoning="Because.")

        evaluation = PromptEvaluator(judge=Scripted([around % verdict])).evaluate(CASE)

        assert evaluation.score == 1.0
        assert "clamped" in evaluation.flags
        assert evaluation.hits == ("a", "b", "c", "d")
        assert evaluation.misses == ("x",)
        assert evaluation.reasoning == "Because."

    def test_parse_json_evaluator_response_falls_back_when_there_is_no_valid_json(self) -> None:
        """AND falls back to score 0 and empty hits and misses when no valid JSON is present."""
        evaluation = PromptEvaluator(judge=Scripted(["I think it is rather good."] * 3)).evaluate(CASE)

        assert (evaluation.score, evaluation.hits, evaluation.misses) == (0.0, (), ())
        assert evaluation.verdict is Verdict.FAIL
        assert evaluation.status is Status.ERROR

    def test_record_evaluator_request_metadata(self) -> None:
        """WHEN an evaluation completes THEN both prompts are stored AND no warning is emitted on parse failure."""
        good, bad = Scripted([freeform(0.5)]), Scripted(["no JSON"] * 3)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            completed = PromptEvaluator(judge=good).evaluate(CASE)
            failed = PromptEvaluator(judge=bad).evaluate(CASE)

        for evaluation, judge in ((completed, good), (failed, bad)):
            system, user = (message.content for message in judge.asked[-1].messages)
            assert evaluation.evaluator_provider_request == {"userPrompt": user, "systemPrompt": system}
        assert failed.score == 0


class TestUnifiedPromptEvaluator:
    """One evaluator handles both freeform and rubric-based evaluation."""

    def test_rubric_mode_trigger(self) -> None:
        """GIVEN a non-empty rubrics list WHEN evaluated THEN each rubric item is checked."""
        judge = Scripted([rubric_reply(city=True, polite=False)])
        rubrics = [{"id": "city", "description": "Names the city"}, {"id": "polite", "description": "Is polite"}]

        evaluation = PromptEvaluator(judge=judge, rubrics=rubrics).evaluate(CASE)

        assert [(check.id, check.satisfied) for check in evaluation.checks] == [("city", True), ("polite", False)]
        assert evaluation.score == 0.5

    @pytest.mark.parametrize("options", [{}, {"rubrics": []}])
    def test_freeform_mode_trigger(self, options: dict[str, Any]) -> None:
        """GIVEN no rubrics WHEN evaluated THEN score, hits and misses come from the model."""
        reply = freeform(0.7, hits=["right city"], misses=["no year"])

        evaluation = PromptEvaluator(judge=Scripted([reply]), **options).evaluate(CASE)

        assert (evaluation.score, evaluation.hits, evaluation.misses) == (0.7, ("right city",), ("no year",))
        assert evaluation.checks == ()

    @pytest.mark.parametrize(
        ("score", "verdict"),
        [(1.0, "pass"), (0.8, "pass"), (0.79, "borderline"), (0.6, "borderline"), (0.59, "fail"), (0.0, "fail")],
    )
    def test_verdict_calculation_freeform(self, score: float, verdict: str) -> None:
        """THEN it is pass from 0.8, borderline from 0.6, and fail otherwise."""
        assert PromptEvaluator(judge=Scripted([freeform(score)])).evaluate(CASE).verdict == verdict

    @pytest.mark.parametrize(
        ("met", "verdict"),
        [
            ({"must": True, "may": True, "might": True}, "pass"),
            ({"must": True, "may": True, "might": False}, "pass"),
            ({"must": True, "may": False, "might": True}, "borderline"),
            ({"must": True, "may": False, "might": False}, "fail"),
            ({"must": False, "may": True, "might": True}, "fail"),
        ],
    )
    def test_verdict_calculation_rubric(self, met: dict[str, bool], verdict: str) -> None:
        """THEN it is fail if a required rubric is not met, otherwise by the score."""
        rubrics = [
            {"id": "must", "description": "Must", "weight": 0.5},
            {"id": "may", "description": "May", "weight": 0.3, "required": False},
            {"id": "might", "description": "Might", "weight": 0.2, "required": False},
        ]

        evaluation = PromptEvaluator(judge=Scripted([rubric_reply(**met)]), rubrics=rubrics).evaluate(CASE)

        assert evaluation.verdict == verdict

    def test_hits_and_misses_rubric(self) -> None:
        """THEN hits are the satisfied items and misses the unsatisfied ones."""
        names = ["one", "two", "three", "four", "five", "six"]
        rubrics = [{"id": name, "description": f"Does {name}"} for name in names]

        evaluation = PromptEvaluator(
            judge=Scripted([rubric_reply(**{name: name != "three" for name in names})]), rubrics=rubrics
        ).evaluate(CASE)

        assert evaluation.hits == tuple(f"[{name}] Does {name}" for name in names if name != "three")
        assert evaluation.misses == ("[three] Does three",)
