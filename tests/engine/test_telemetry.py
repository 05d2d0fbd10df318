"""Evaluations as OpenTelemetry events, in processes of their own: what is set up there is set up for good."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Many, and together they take a while.
pytestmark = pytest.mark.slow

JUDGING = """
import json, os, sys
from evenhand import Case, Contains, PromptEvaluator, Scripted, evaluate

def judge():
    replies = ['{"score": 0.9, "reasoning": "It says so."}', ConnectionError("gone")]
    cases = [
        Case(id="right", candidate_answer="Paris", expected_outcome="Paris"),
        Case(id="broken", candidate_answer="Rome", expected_outcome="Rome"),
    ]
    evaluator = PromptEvaluator(name="quality", judge=Scripted(replies, name="openai/gpt-5-mini"))
    run = evaluate(cases, evaluator, concurrency=1, store=None)
    evaluate(Case(id="nothing"), Contains(value="a"), store=None)
    return run
"""

WITH_SDK = """
from opentelemetry import trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider

exporter = InMemoryLogRecordExporter()
provider = LoggerProvider()
provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
set_logger_provider(provider)
with TracerProvider().get_tracer("test").start_as_current_span("evaluating") as span:
    run = judge()
    trace_id = span.get_span_context().trace_id
records = [one.log_record for one in exporter.get_finished_logs()]
print(json.dumps({
    "run": run.id,
    "in_the_span": all(one.trace_id == trace_id for one in records),
    "events": [[one.event_name, dict(one.attributes)] for one in records],
}))
"""


def told_by(script: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def told() -> Any:
    """What was emitted with the usual settings."""
    return told_by(JUDGING + WITH_SDK)


def test_each_evaluation_is_an_event_with_its_score_and_verdict(told: Any) -> None:
    name, attributes = told["events"][0]

    assert name == "gen_ai.evaluation.result"
    assert attributes == {
        "gen_ai.evaluation.name": "quality",
        "gen_ai.evaluation.score.value": 0.9,
        "gen_ai.evaluation.score.label": "pass",
        "gen_ai.request.model": "gpt-5-mini",
        "evenhand.status": "scored",
        "evenhand.case.id": "right",
        "evenhand.sample": 0,
        "evenhand.run.id": told["run"],
    }


def test_a_judge_that_failed_has_a_type_of_error_and_no_score(told: Any) -> None:
    _, attributes = told["events"][1]

    assert attributes["error.type"] == "scripted"
    assert attributes["evenhand.status"] == "error"
    assert not [name for name in attributes if "score" in name]


def test_what_was_not_evaluated_has_neither(told: Any) -> None:
    _, attributes = told["events"][2]

    assert attributes["evenhand.status"] == "not_evaluated"
    assert not [name for name in attributes if "score" in name or "error" in name]


def test_events_belong_to_the_span_in_which_the_run_was_made(told: Any) -> None:
    assert told["in_the_span"]


def test_what_the_judge_wrote_is_told_only_where_that_is_wanted() -> None:
    script = JUDGING + WITH_SDK.replace(
        "    run = judge()\n",
        """
    for setting in ("", "false", "SPAN_ONLY", "NO_CONTENT", "true", "EVENT_ONLY", "SPAN_AND_EVENT"):
        os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = setting
        run = judge()
""",
    )

    events = told_by(script)["events"]

    explained = [attributes.get("gen_ai.evaluation.explanation") for _, attributes in events[::3]]
    assert explained == [None, None, None, None, "It says so.", "It says so.", "It says so."]


def test_without_opentelemetry_nothing_of_it_is_imported() -> None:
    script = JUDGING + "judge(); print(json.dumps([name for name in sys.modules if name.startswith('opentelemetry')]))"

    assert told_by(script) == []


def test_where_no_provider_is_set_nothing_is_observed() -> None:
    script = """
import json
import opentelemetry._logs
from evenhand.engine import telemetry
print(json.dumps(telemetry.observer() is None))
"""

    assert told_by(script) is True


def test_an_exporter_that_fails_does_not_end_the_run() -> None:
    script = (
        JUDGING
        + """
import logging
from opentelemetry._logs import LoggerProvider, NoOpLogger, set_logger_provider

class Broken(NoOpLogger):
    def emit(self, *args, **kwargs):
        raise OSError("no route")

class Provider(LoggerProvider):
    def get_logger(self, name, *args, **kwargs):
        return Broken(name)

heard = []
handler = logging.Handler()
handler.emit = lambda record: heard.append(record.getMessage())
logging.getLogger("evenhand").addHandler(handler)
set_logger_provider(Provider())
run = judge()
print(json.dumps([run.status, heard]))
"""
    )

    status, heard = told_by(script)

    assert status == "finished"
    assert heard == ["OpenTelemetry refused an event; this run emits no more of them"] * 2


def test_the_example_on_the_page_emits_an_event() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "opentelemetry.md").read_text(encoding="utf-8")
    example = page.partition("```py\n")[2].partition("```")[0]

    event = told_by(example)

    assert event["event_name"] == "gen_ai.evaluation.result"
    assert event["attributes"]["gen_ai.evaluation.score.label"] == "pass"
