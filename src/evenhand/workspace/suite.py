"""A prompt as a suite: its test cases and how they are evaluated, in a file that lives beside the code (SPEC-S2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evenhand.domain.ask import messages_from
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import Prompt, TestCase
from evenhand.evaluators.schema.evaluator import is_empty
from evenhand.workspace.trial import asks_judge, case_of, evaluator_of


def suite_of(prompt: Prompt, cases: Iterable[TestCase], *, model: str | None, judge: str | None) -> dict[str, Any]:
    """Give the suite that judges what a trial of the prompt would, as plain values.

    The content stands in each case as a message: in the target's own ``system`` text, double braces in it would be
    places to fill. Without ``model`` there is no target; whoever runs the suite names one.
    """
    text = prompt.text
    told: dict[str, Any] = {"name": f"{prompt.name} v{prompt.version}"}
    if not is_empty(text.expected_schema):
        if model is None:
            raise ConfigError(
                f"prompt {prompt.name!r} has an expected schema, which belongs to the model of the suite's target; "
                "name one with --model"
            )
        told["target"] = {"model": model, "response_schema": text.expected_schema}
    elif model is not None:
        told["target"] = {"model": model}
    if judge is not None and asks_judge(text):
        told["judge"] = judge
    told |= {"evaluators": [evaluator_of(text)], "cases": [_case(case_of(text, one)) for one in cases]}
    if not told["cases"]:
        raise ConfigError(f"prompt {prompt.name!r} has no test cases yet, and a suite needs some; add one")
    return told


def _case(case: Case) -> dict[str, Any]:
    fields = {
        "id": case.id,
        "input": [{"role": one.role, "content": one.content} for one in messages_from(case.input_messages)],
        "expected_outcome": case.expected_outcome,
        "reference_answer": case.reference_answer,
        "evaluation_schema": case.evaluation_schema,
    }
    return {name: value for name, value in fields.items() if value is not None}
