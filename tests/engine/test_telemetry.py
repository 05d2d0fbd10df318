"""Runs as OpenTelemetry spans and events, in processes of their own: what is set up there is set up for good."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.engine.preloaded import preloaded

ToldBy: TypeAlias = Callable[[str], Any]

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


@pytest.fixture(scope="module")
def told_by() -> Iterator[ToldBy]:
    """Return a function that runs a script, in a process that has loaded nothing of OpenTelemetry before."""
    with preloaded("evenhand.engine.execution", "evenhand.drive.run_program", "evenhand.evaluators.prompt") as run:

        def told_by(script: str) -> Any:
            done = run(script)
            assert done.stderr == ""
            return json.loads(done.stdout)

        yield told_by


def named(told: Any, name: str) -> list[Any]:
    """Return the spans of a name."""
    return [span for span in told["spans"] if span["name"] == name]


@pytest.fixture(scope="module")
def told(told_by: ToldBy) -> Any:
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


def test_what_the_judge_wrote_is_told_only_where_that_is_wanted(told_by: ToldBy) -> None:
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


def test_without_opentelemetry_nothing_of_it_is_imported(told_by: ToldBy) -> None:
    script = JUDGING + "judge(); print(json.dumps([name for name in sys.modules if name.startswith('opentelemetry')]))"

    assert told_by(script) == []


def test_where_no_provider_is_set_nothing_is_emitted(told_by: ToldBy) -> None:
    script = """
import json
import opentelemetry._logs
import opentelemetry.trace
from evenhand.drive import telemetry
print(json.dumps(telemetry.current() is None))
"""

    assert told_by(script) is True


def test_an_exporter_that_fails_does_not_end_the_run(told_by: ToldBy) -> None:
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
    assert heard == ["OpenTelemetry refused a span or an event; no more of them are made"] * 2


RUN_WITH_SPANS = """
import http.server, threading
from evenhand import Case, Contains, PromptEvaluator, Scripted, evaluate

class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = []
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.asked.append(body)
        failed = sum("Rome" in question for question in self.asked) == 1 and "Rome" in body
        said = {"model": "gpt-5-mini-2026", "usage": {"prompt_tokens": 7, "completion_tokens": 3}, "choices": [
            {"finish_reason": "stop", "message": {"content": '{"score": 0.9, "reasoning": "It says so."}'}}]}
        answer = json.dumps({"error": {"message": "busy"}} if failed else said).encode()
        self.send_response(503 if failed else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    def log_message(self, *args):
        pass

provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
threading.Thread(target=provider.serve_forever, daemon=True).start()

def answer(question):
    with trace.get_tracer("mine").start_as_current_span("my own"):
        return question.upper()

judge = {"model": "openai/gpt-5-mini", "base_url": f"http://127.0.0.1:{provider.server_port}/v1", "temperature": 0,
         "api_key": "sk-canary-0123456789"}
cases = [Case(id=city, candidate_answer=city, expected_outcome=city) for city in ("Paris", "Rome", "Oslo", "Lima")]
quality = PromptEvaluator(name="quality", judge=judge)
run = evaluate(cases, [quality, Contains(value="a", name="has a")], store=None, concurrency=4)
evaluate(Case(id="loud", question="hi"), Contains(value="HI"), target=answer, store=None)
print(json.dumps(told() | {"run": run.id, "port": provider.server_port}))
"""


@pytest.fixture(scope="module")
def run_told(traced: Callable[..., Any]) -> Any:
    """What was emitted of a run with a judge behind HTTP, and of one with a function as target."""
    return traced(RUN_WITH_SPANS)


def test_a_run_has_a_span_with_one_for_each_case(run_told: Any) -> None:
    run, other = (span for span in run_told["spans"] if span["name"].startswith("run "))

    assert run["parent"] is None
    assert run["attributes"]["evenhand.run.id"] == run_told["run"]
    assert run["attributes"]["evenhand.run.status"] == "finished"
    assert run["attributes"]["evenhand.run.cases"] == 4
    parents = {span["attributes"]["evenhand.case.id"]: span["parent"] for span in named(run_told, "case")}
    assert parents == {"Paris": run["id"], "Rome": run["id"], "Oslo": run["id"], "Lima": run["id"], "loud": other["id"]}


def test_a_question_to_a_model_is_a_span_under_its_own_case(run_told: Any) -> None:
    cases = {span["id"]: span["attributes"]["evenhand.case.id"] for span in named(run_told, "case")}
    chats = named(run_told, "chat gpt-5-mini")

    assert sorted(cases[span["parent"]] for span in chats) == ["Lima", "Oslo", "Paris", "Rome"]
    assert all(cases[span["parent"]] == span["attributes"]["evenhand.case.id"] for span in chats)
    paris = next(span for span in chats if span["attributes"]["evenhand.case.id"] == "Paris")
    assert paris["kind"] == "CLIENT"
    assert paris["status"] == "UNSET"
    assert paris["attributes"] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5-mini",
        "gen_ai.request.temperature": 0,
        "gen_ai.response.model": "gpt-5-mini-2026",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.output.type": "json",
        "server.address": "127.0.0.1",
        "server.port": run_told["port"],
        "evenhand.attempts": 1,
        "evenhand.case.id": "Paris",
        "evenhand.evaluator": "quality",
        "evenhand.run.id": run_told["run"],
        "evenhand.sample": 0,
    }


def test_each_request_that_failed_is_an_event_of_the_question(run_told: Any) -> None:
    (rome,) = [
        span
        for span in named(run_told, "chat gpt-5-mini")
        if span["attributes"]["evenhand.case.id"] == "Rome"
    ]  # fmt: skip

    assert rome["attributes"]["evenhand.attempts"] == 2
    ((name, attributes),) = rome["events"]
    assert name == "evenhand.attempt.failed"
    assert attributes.pop("evenhand.attempt.seconds") >= 0
    assert attributes == {"error.type": "overloaded", "evenhand.attempt": 1}


def test_events_belong_to_the_span_of_their_case(run_told: Any) -> None:
    cases = {span["id"]: span["attributes"]["evenhand.case.id"] for span in named(run_told, "case")}

    assert len(run_told["events"]) == 9
    assert all(cases[event["span"]] == event["attributes"]["evenhand.case.id"] for event in run_told["events"])


def test_a_target_that_is_a_function_has_a_span_and_its_own_spans_are_in_it(run_told: Any) -> None:
    (case,) = [span for span in named(run_told, "case") if span["attributes"]["evenhand.case.id"] == "loud"]
    (target,) = [span for span in run_told["spans"] if span["name"].startswith("target ")]
    (own,) = named(run_told, "my own")

    assert target["parent"] == case["id"]
    assert target["attributes"]["evenhand.target"] in target["name"]
    assert own["parent"] == target["id"]


def test_neither_key_nor_words_are_in_the_spans(run_told: Any) -> None:
    assert "canary" not in json.dumps(run_told)
    assert "It says so" not in json.dumps(run_told)


FAILING = """
from evenhand import Case, PromptEvaluator, Scripted, evaluate
judge = Scripted([ConnectionError("gone"), '{"score": 1, "reasoning": "Fine."}'], name="openai/gpt-5-mini")
cases = [Case(id=id, candidate_answer="x", expected_outcome="x") for id in ("broken", "right")]
evaluate(cases, PromptEvaluator(name="quality", judge=judge), store=None, concurrency=1)
print(json.dumps(told()))
"""


def test_a_judge_that_failed_marks_its_span_and_that_of_its_case(traced: Callable[..., Any]) -> None:
    told = traced(FAILING)

    chats = named(told, "chat gpt-5-mini")
    assert [(span["status"], span["attributes"].get("error.type")) for span in chats] == [
        ("ERROR", "scripted"),
        ("UNSET", None),
    ]
    assert [(span["status"], span["attributes"].get("error.type")) for span in named(told, "case")] == [
        ("ERROR", "scripted"),
        ("UNSET", None),
    ]


def test_without_a_logger_provider_evaluations_are_events_of_the_cases_span(traced: Callable[..., Any]) -> None:
    told = traced(FAILING, "only spans")

    assert told["events"] == []
    (broken, right) = named(told, "case")
    ((name, attributes),) = right["events"]
    assert name == "gen_ai.evaluation.result"
    assert attributes["gen_ai.evaluation.score.value"] == 1
    assert [attributes["evenhand.status"] for _, attributes in broken["events"]] == ["error"]


def test_what_was_said_is_in_spans_only_where_that_is_wanted(traced: Callable[..., Any]) -> None:
    script = """
from evenhand import Case, PromptEvaluator, Scripted, evaluate
for setting in ("", "false", "EVENT_ONLY", "NO_CONTENT", "true", "SPAN_ONLY", "SPAN_AND_EVENT"):
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = setting
    judge = Scripted(['{"score": 1, "reasoning": "Fine."}'], name="openai/gpt-5-mini")
    case = Case(id="x", candidate_answer="Paris", expected_outcome="x")
    evaluate(case, PromptEvaluator(name="quality", judge=judge), store=None)
print(json.dumps(told()))
"""

    told = traced(script)

    chats = [span["attributes"] for span in named(told, "chat gpt-5-mini")]
    assert ["gen_ai.output.messages" in chat for chat in chats] == [False] * 4 + [True] * 3
    assert ["Paris" in chat.get("gen_ai.input.messages", "") for chat in chats] == [False] * 4 + [True] * 3
    (reply,) = json.loads(chats[-1]["gen_ai.output.messages"])
    assert reply["parts"] == [{"type": "text", "content": '{"score": 1, "reasoning": "Fine."}'}]


def test_a_tracer_that_fails_does_not_end_the_run(told_by: ToldBy) -> None:
    script = (
        JUDGING
        + """
import logging
from opentelemetry import trace

class Broken(trace.NoOpTracer):
    def start_span(self, *args, **kwargs):
        raise OSError("no route")

class Provider(trace.TracerProvider):
    def get_tracer(self, *args, **kwargs):
        return Broken()

heard = []
handler = logging.Handler()
handler.emit = lambda record: heard.append(record.getMessage())
logging.getLogger("evenhand").addHandler(handler)
trace.set_tracer_provider(Provider())
run = judge()
print(json.dumps([run.status, heard]))
"""
    )

    status, heard = told_by(script)

    assert status == "finished"
    assert heard == ["OpenTelemetry refused a span or an event; no more of them are made"] * 2


def test_a_run_without_opentelemetry_uses_the_plain_runner(told_by: ToldBy) -> None:
    script = """
import json
from evenhand.drive import telemetry
from evenhand.engine import execution
from evenhand.engine.runner import Runner
kinds = []
run = Runner.run
async def seen(self):
    kinds.append(type(self) is Runner)
    return await run(self)
Runner.run = seen
from evenhand import Case, Contains, evaluate
evaluate(Case(candidate_answer="a"), Contains(value="a"), store=None)
print(json.dumps(kinds))
"""

    assert told_by(script) == [True]


def test_the_example_on_the_page_emits_an_event_and_spans() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "opentelemetry.md").read_text(encoding="utf-8")
    example = page.partition("```py\n")[2].partition("```")[0]

    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=60, check=True)

    decoder, text, emitted = json.JSONDecoder(), done.stdout.strip(), []
    while text:
        item, end = decoder.raw_decode(text)
        emitted.append(item)
        text = text[end:].strip()
    event, case, run = emitted
    assert event["event_name"] == "gen_ai.evaluation.result"
    assert event["attributes"]["gen_ai.evaluation.score.label"] == "pass"
    assert case["name"] == "case"
    assert case["parent_id"] == run["context"]["span_id"]
