"""What an evaluation can be, and cannot (SPEC-E1, E2)."""

import json
import math
from typing import Any

import pytest

from evenhand import Attempt, Check, Evaluation, Status, Usage, Verdict
from evenhand.domain.scale import Range


def test_a_failed_evaluation_has_the_zero_of_the_contract_and_its_status() -> None:
    failed = Evaluation.with_error(evaluator="quality", type="llm_judge", error="unparsable: no JSON")

    assert (failed.score, failed.verdict, failed.hits, failed.misses) == (0.0, Verdict.FAIL, (), ())
    assert failed.status is Status.ERROR


def test_an_evaluation_that_did_not_happen_has_no_score_and_says_why() -> None:
    skipped = Evaluation.without_score(evaluator="quality", type="llm_judge", reasoning="There is no schema.")

    assert (skipped.score, skipped.verdict, skipped.error) == (None, None, None)
    assert skipped.reasoning == "There is no schema."


@pytest.mark.parametrize(
    "broken",
    [
        {"status": Status.SCORED, "score": math.nan, "verdict": Verdict.PASS},
        {"status": Status.SCORED, "score": 1.5, "verdict": Verdict.PASS},
        {"status": Status.SCORED, "score": 1, "verdict": Verdict.PASS},
        {"status": Status.SCORED, "score": True, "verdict": Verdict.PASS},
        {"status": Status.SCORED, "score": 0.5, "verdict": None},
        {"status": Status.SCORED, "score": 0.5, "verdict": Verdict.FAIL, "error": "but"},
        {"status": Status.NOT_EVALUATED, "score": 0.0, "verdict": None, "reasoning": "none"},
        {"status": Status.NOT_EVALUATED, "score": None, "verdict": None},
        {"status": Status.ERROR, "score": 1.0, "verdict": Verdict.FAIL, "error": "x"},
        {"status": Status.ERROR, "score": 0.0, "verdict": Verdict.PASS, "error": "x"},
        {"status": Status.ERROR, "score": 0.0, "verdict": Verdict.FAIL},
        {"status": Status.ERROR, "score": 0.0, "verdict": Verdict.FAIL, "error": "x", "hits": ("a",)},
    ],
)
def test_contradictions_cannot_be_made(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="evaluation"):
        Evaluation(evaluator="x", type="y", **broken)


def test_the_plain_form_is_json_with_the_specified_names() -> None:
    evaluation = Evaluation.with_score(
        evaluator="quality",
        type="llm_judge",
        score=0.5,
        verdict=Verdict.FAIL,
        checks=(Check(id="a", satisfied=True, score=7),),
        attempts=(Attempt(kind="reply", raw="x", usage=Usage(input_tokens=3)),),
    )

    plain = json.loads(json.dumps(evaluation.as_dict(), allow_nan=False))

    assert list(plain) == [
        "evaluator", "type", "status", "score", "score_raw", "verdict", "hits", "misses", "reasoning", "checks",
        "details", "error", "attempts", "retry_count", "evaluator_provider_request", "usage", "flags",
    ]  # fmt: skip
    assert plain["checks"] == [{"id": "a", "satisfied": True, "reasoning": "", "score": 7}]
    assert plain["attempts"][0]["usage"] == {"input_tokens": 3, "output_tokens": 0, "cached_tokens": 0}


def test_plain_words_are_taken_for_status_and_verdict_and_others_refused() -> None:
    evaluation = Evaluation(evaluator="x", type="y", status="scored", score=0.9, verdict="pass")  # type: ignore[arg-type]

    assert evaluation.status is Status.SCORED
    assert evaluation.verdict is Verdict.PASS
    with pytest.raises(ValueError, match="bogus"):
        Evaluation(evaluator="x", type="y", status="bogus", score=0.9, verdict="pass")  # type: ignore[arg-type]


def test_a_score_of_zero_has_no_sign() -> None:
    scored = Evaluation.with_score(evaluator="e", type="t", score=-0.0, verdict=Verdict.FAIL)
    raw, flags = Range().read(-0.0)
    quoted, _ = Range().read("-0.0")

    assert (str(scored.score), str(raw), flags, str(quoted)) == ("0.0", "0.0", (), "0.0")
