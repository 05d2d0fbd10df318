"""Code judges written with AgentV's SDK run unchanged: what they validate is there, and what they write is read."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import jsonschema_rs
import pytest

from evenhand import Case, CodeJudgeEvaluator, Verdict
from evenhand.evaluators.program import case_as_json

MESSAGES = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["role"],
        "properties": {"role": {"enum": ["assistant", "user", "system", "tool"]}, "content": {"type": "string"}},
    },
}
TEXT, TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
MAYBE_TEXT, MAYBE_NUMBER = {"type": ["string", "null"]}, {"type": ["number", "null"]}
MAYBE_OBJECT = {"type": ["object", "null"]}
# What the SDK demands of its input, by version: of January, February and July 2026. It has camel case by then.
SCHEMAS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "january": (
        {
            "question": TEXT, "expectedOutcome": TEXT, "expectedMessages": MESSAGES, "referenceAnswer": TEXT,
            "candidateAnswer": TEXT, "outputMessages": MESSAGES, "guidelineFiles": TEXTS, "inputFiles": TEXTS,
            "inputMessages": MESSAGES, "traceSummary": MAYBE_OBJECT, "config": MAYBE_OBJECT,
        },
        {"referenceAnswer", "outputMessages", "traceSummary", "config"},
    ),
    "february": (
        {
            "question": TEXT, "criteria": TEXT, "expectedOutput": MESSAGES, "referenceAnswer": TEXT,
            "candidateAnswer": TEXT, "outputMessages": MESSAGES, "guidelineFiles": TEXTS, "inputFiles": TEXTS,
            "input": MESSAGES, "traceSummary": MAYBE_OBJECT, "fileChanges": MAYBE_TEXT, "workspacePath": MAYBE_TEXT,
            "config": MAYBE_OBJECT,
        },
        {"referenceAnswer", "outputMessages", "traceSummary", "fileChanges", "workspacePath", "config"},
    ),
    "july": (
        {
            "criteria": TEXT, "expectedOutput": MESSAGES, "output": MAYBE_TEXT, "messages": MESSAGES,
            "inputFiles": TEXTS, "input": MESSAGES, "metadata": MAYBE_OBJECT, "trace": MAYBE_OBJECT,
            "traceSummary": MAYBE_OBJECT, "tokenUsage": MAYBE_OBJECT, "costUsd": MAYBE_NUMBER,
            "durationMs": MAYBE_NUMBER, "startTime": MAYBE_TEXT, "endTime": MAYBE_TEXT, "fileChanges": MAYBE_TEXT,
            "workspacePath": MAYBE_TEXT, "config": MAYBE_OBJECT,
        },
        set(),
    ),
}  # fmt: skip
CASES = {
    "texts": Case(
        question="Capital of France?",
        candidate_answer="Paris",
        reference_answer="Paris",
        expected_outcome="Names Paris",
        latency=1.5,
        cost=0.25,
    ),
    "messages": Case(
        input_messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Capital of France?"}],
        candidate_answer="Paris",
        output_messages=[{"role": "assistant", "content": "Paris"}],
        expected_messages=[{"role": "assistant", "content": "Paris"}],
        expected_outcome="Names Paris",
    ),
}


def payload(case: Case) -> dict[str, Any]:
    """Return what the program reads, with its keys as the SDK turns them."""
    read = json.loads(case_as_json(case, config={"most": 3}))
    return {re.sub("_([a-z])", lambda found: found[1].upper(), key): value for key, value in read.items()}


@pytest.mark.parametrize("version", SCHEMAS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_field_that_the_sdk_validates_is_there_and_valid(version: str, case: Case) -> None:
    properties, optional = SCHEMAS[version]
    schema = {"type": "object", "properties": properties, "required": sorted(properties.keys() - optional)}

    errors = [error.message for error in jsonschema_rs.validator_for(schema).iter_errors(payload(case))]

    assert errors == []
    assert properties.keys() <= payload(case).keys()


def test_texts_are_messages_too_and_quantities_have_their_units() -> None:
    given = payload(CASES["texts"])

    assert given["input"] == [{"role": "user", "content": "Capital of France?"}]
    assert given["expectedOutput"] == given["messages"] == [{"role": "assistant", "content": "Paris"}]
    assert (given["output"], given["criteria"]) == ("Paris", "Names Paris")
    assert (given["durationMs"], given["costUsd"]) == (1500, 0.25)


def test_of_a_case_without_them_the_lists_are_empty() -> None:
    given = payload(Case(candidate_answer=None))

    assert (given["criteria"], given["input"], given["expectedOutput"], given["messages"]) == ("", [], [], [])
    assert (given["output"], given["durationMs"]) == (None, None)


@pytest.mark.parametrize(
    "written",
    [
        {"score": 0.5, "hits": ["short"], "misses": ["rude"], "reasoning": "so so"},
        {
            "score": 0.5,
            "assertions": [{"text": "short", "passed": True, "evidence": "3 words"}, {"text": "rude", "passed": False}],
            "reasoning": "so so",
        },
        {
            "pass": False,
            "score": 0.5,
            "reason": "so so",
            "checks": [{"text": "short", "pass": True, "reason": ""}, {"text": "rude", "pass": False, "reason": ""}],
        },
    ],
    ids=["january", "april", "july"],
)
def test_what_a_judge_of_the_sdk_writes_is_read(written: dict[str, Any]) -> None:
    judge = CodeJudgeEvaluator(command=[sys.executable, "-c", f"print({json.dumps(written, indent=2)!r})"])

    evaluation = judge.evaluate(CASES["texts"])

    assert (evaluation.score, evaluation.verdict) == (0.5, Verdict.FAIL)
    assert (evaluation.hits, evaluation.misses, evaluation.reasoning) == (("short",), ("rude",), "so so")


@pytest.mark.parametrize("checks", ["short", [{"text": "short"}], [{"text": 1, "pass": True}], ["short"]])
def test_checks_of_another_form_are_ignored_like_any_other_key(checks: Any) -> None:
    judge = CodeJudgeEvaluator(command=[sys.executable, "-c", f"print({json.dumps({'score': 1, 'checks': checks})!r})"])

    evaluation = judge.evaluate(CASES["texts"])

    assert (evaluation.score, evaluation.hits, evaluation.misses) == (1.0, (), ())
