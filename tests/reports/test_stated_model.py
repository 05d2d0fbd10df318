"""The model that a provider's reply says it is of: kept with the evaluation, and shown wherever that is."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evenhand import Ask, Case, PromptEvaluator, Reply, Run, evaluate
from evenhand.domain.evaluation import Attempt
from evenhand.domain.json_codec import attempt_from

CASE = Case(id="a", question="Capital of France?", candidate_answer="Paris", expected_outcome="Names Paris")
EXACT = "gpt-4o-2024-08-06"


def judge(**body: Any) -> PromptEvaluator:
    """Make an evaluator whose judge is a client that replies with such a body."""
    response = {"choices": [{"message": {"content": '{"score": 1}'}}], **body}
    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=lambda **_: response)))
    return PromptEvaluator(judge=client, model="gpt-4o")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return evaluate(CASE, judge(model=EXACT), store=tmp_path / "runs.db")


def attempts(run: Run) -> list[Attempt]:
    return [attempt for result in run for one in result.judgments for attempt in one.evaluation.attempts]


def test_it_is_stored_with_the_attempt(run: Run) -> None:
    (attempt,) = attempts(run)

    assert attempt.model == EXACT


def test_it_is_in_the_json_report(run: Run) -> None:
    (case,) = json.loads(run.report("json"))["cases"]

    assert case["evaluations"][0]["attempts"][0]["model"] == EXACT
    assert run.to_dicts()[0]["evaluations"][0]["attempts"][0]["model"] == EXACT


def test_it_is_a_column_of_the_csv_report_beside_the_judge_that_was_asked(run: Run) -> None:
    (row,) = csv.DictReader(io.StringIO(run.report("csv")))

    assert (row["judge"], row["judge_model"]) == ("client/gpt-4o", EXACT)


def test_it_is_shown_with_the_case(run: Run) -> None:
    assert f"replied as {EXACT}" in run.report("html")


class Known:
    """A judge whose replies the cache keeps."""

    name = identity = "known"

    def __init__(self, model: str) -> None:
        self._model = model

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
        return Reply.said('{"score": 1}', model=self._model)


def test_a_cached_reply_keeps_it(tmp_path: Path) -> None:
    evaluate(CASE, PromptEvaluator(judge=Known(EXACT)), store=tmp_path / "runs.db")

    again = evaluate(CASE, PromptEvaluator(judge=Known("another")), store=tmp_path / "runs.db")

    (attempt,) = attempts(again)
    assert (attempt.cached, attempt.model) == (True, EXACT)


@pytest.mark.parametrize("body", [{}, {"model": None}, {"model": 5}, {"model": ""}, {"model": "x" * 201}])
def test_a_reply_that_names_no_model_has_none(body: dict[str, Any]) -> None:
    run = evaluate(CASE, judge(**body), store=None)

    (attempt,) = attempts(run)
    assert attempt.model is None
    assert "model" not in attempt.as_dict()
    assert "replied as" not in run.report("html")
    (row,) = csv.DictReader(io.StringIO(run.report("csv")))
    assert row["judge_model"] == ""


def test_an_attempt_of_an_older_store_is_read() -> None:
    assert attempt_from({"kind": "reply", "raw": "x", "error": None, "latency": 0.5, "usage": None}).model is None
