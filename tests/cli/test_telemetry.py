"""The spans and events of `evenhand run`, sent by OTLP to a collector on this machine."""

from __future__ import annotations

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.harness.warm import WarmEvenhand

# A process for each.
pytestmark = pytest.mark.slow

VERDICT = {
    "model": "gpt-5-mini-2026",
    "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    "choices": [
        {"finish_reason": "stop", "message": {"content": '{"score": 0.9, "reasoning": "It says the canary."}'}}
    ],
}


class Collector(http.server.ThreadingHTTPServer):
    """A collector of OTLP, and a provider of a model."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.spans: list[Any] = []
        self.events: list[Any] = []
        self.services: set[str] = set()
        self.headers: list[str | None] = []

    def take(self, path: str, body: bytes) -> bytes:
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.services |= {
                    pair.value.string_value for pair in resource.resource.attributes if pair.key == "service.name"
                }
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
            return b""
        if path == "/v1/logs":
            for logs in ExportLogsServiceRequest.FromString(body).resource_logs:
                self.events += [record for scope in logs.scope_logs for record in scope.log_records]
            return b""
        return json.dumps(VERDICT).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.headers.append(self.headers.get("x-team"))
        answer = self.server.take(self.path, self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def suite(tmp_path: Path, collector: Collector) -> Path:
    path = tmp_path / "capitals.yaml"
    judge = {
        "model": "openai/gpt-5-mini",
        "base_url": f"http://127.0.0.1:{collector.server_port}/v1",
    }
    path.write_text(
        json.dumps(
            {
                "name": "capitals",
                "judge": judge,
                "evaluators": [{"type": "llm_judge", "name": "quality"}],
                "cases": [
                    {"id": name, "candidate_answer": name, "expected_outcome": name} for name in ("Paris", "Rome")
                ],
            }
        ),
        encoding="utf-8",
    )
    return path


Evenhand = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def evenhand(warm: WarmEvenhand, suite: Path) -> Evenhand:
    """Run the suite with variables of OpenTelemetry; in a process of its own what has a program come before it."""

    def run(before: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | variables
        if not before:
            return warm.run("run", str(suite), cwd=suite.parent, env=environment)
        program = f"{before}\nfrom evenhand.cli import main; main()"
        return subprocess.run(
            [sys.executable, "-c", program, "run", str(suite)],
            capture_output=True, text=True, timeout=120, check=False, cwd=suite.parent, env=environment,
        )  # fmt: skip

    return run


def attributes(item: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in item.attributes}


def test_a_run_sends_its_spans_and_events_to_the_endpoint_of_the_environment(
    collector: Collector, evenhand: Evenhand
) -> None:
    place = f"http://127.0.0.1:{collector.server_port}"

    done = evenhand(OTEL_EXPORTER_OTLP_ENDPOINT=place, OTEL_EXPORTER_OTLP_HEADERS="x-team=evals")

    assert done.returncode == 0, done.stderr
    where = f"127.0.0.1:{collector.server_port} (OTEL_EXPORTER_OTLP_ENDPOINT)"
    assert f"OpenTelemetry: spans and events are sent to {where}\n" in done.stderr
    assert "warning" not in done.stderr
    (run,) = [span for span in collector.spans if span.name == "run capitals"]
    cases = {span.span_id: span for span in collector.spans if span.name == "case"}
    assert [span.parent_span_id for span in cases.values()] == [run.span_id] * 2
    chats = [span for span in collector.spans if span.name == "chat gpt-5-mini"]
    assert {span.parent_span_id for span in chats} == set(cases)
    assert attributes(chats[0])["gen_ai.usage.input_tokens"] == 7
    assert len(collector.events) == 2
    for event in collector.events:
        assert event.event_name == "gen_ai.evaluation.result"
        assert attributes(event)["gen_ai.evaluation.score.value"] == 0.9
        assert attributes(event)["evenhand.case.id"] == attributes(cases[event.span_id])["evenhand.case.id"]
    assert collector.services == {"evenhand"}
    assert "evals" in collector.headers
    assert "canary" not in str(collector.spans) + str(collector.events)


def test_the_variables_choose_the_name_of_the_service_and_what_is_sent(
    collector: Collector, evenhand: Evenhand
) -> None:
    place = f"http://127.0.0.1:{collector.server_port}"

    done = evenhand(
        OTEL_EXPORTER_OTLP_ENDPOINT=place, OTEL_SERVICE_NAME="nightly", OTEL_LOGS_EXPORTER="none"
    )  # fmt: skip

    assert "OpenTelemetry: spans are sent to" in done.stderr
    assert collector.services == {"nightly"}
    assert collector.events == []
    (case, _) = [span for span in collector.spans if span.name == "case"]
    assert [event.name for event in case.events] == ["gen_ai.evaluation.result"]


# One run after the other in one process, as none leaves anything behind; the last line is what they imported.
ALL_OF = """
import os, sys
from evenhand.cli import main

for variables in {settings}:
    os.environ.update(variables)
    try:
        main()
    except SystemExit as ended:
        print("ended with", ended.code or 0)
    for name in variables:
        del os.environ[name]
print("imported", sorted(name for name in sys.modules if name.startswith("opentelemetry")))
sys.exit()
"""


def test_where_nothing_asks_for_it_nothing_is_imported_or_sent(collector: Collector, evenhand: Evenhand) -> None:
    place = f"http://127.0.0.1:{collector.server_port}"
    settings = [
        {},
        {"OTEL_SERVICE_NAME": "nightly", "OTEL_TRACES_EXPORTER": "console"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": place, "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": place, "OTEL_TRACES_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"},
    ]

    done = evenhand(ALL_OF.format(settings=settings))

    assert done.stdout.count("ended with 0\n") == len(settings)
    assert done.stdout.endswith("imported []\n")
    assert "OpenTelemetry" not in done.stderr
    assert collector.spans == collector.events == []


def test_without_the_extra_a_line_names_it_and_the_run_goes_on(evenhand: Evenhand) -> None:
    missing = "import sys; sys.modules['opentelemetry.exporter'] = None"

    done = evenhand(missing, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")

    assert done.returncode == 0
    expected = "warning: OTEL_EXPORTER_OTLP_ENDPOINT is set, but nothing is sent: pip install 'evenhand[otel]'\n"
    assert expected in done.stderr


def test_an_endpoint_that_cannot_be_reached_is_reported_once_and_changes_nothing(evenhand: Evenhand) -> None:
    with socket.socket() as unused:  # bound and not listening: nobody else can have the port
        unused.bind(("127.0.0.1", 0))
        place = f"http://127.0.0.1:{unused.getsockname()[1]}"

        done = evenhand(OTEL_EXPORTER_OTLP_ENDPOINT=place, OTEL_EXPORTER_OTLP_TIMEOUT="1")

    assert done.returncode == 0
    line = "warning: OpenTelemetry: 5 of 5 spans and 2 of 2 events could not be sent; the results are complete"
    assert [text for text in done.stderr.splitlines() if "could not be sent" in text or "ERROR" in text] == [line]
    assert "Traceback" not in done.stderr


def test_the_end_of_a_command_does_not_wait_for_a_collector_that_never_answers(evenhand: Evenhand) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"http://127.0.0.1:{silent.getsockname()[1]}"
        short = "import evenhand.cli.otlp as otlp; otlp.Sending.flush.__defaults__ = (0.1,)"

        done = evenhand(short, OTEL_EXPORTER_OTLP_ENDPOINT=place, OTEL_EXPORTER_OTLP_TIMEOUT="3600")

    assert done.returncode == 0
    assert "5 of 5 spans and 2 of 2 events could not be sent" in done.stderr


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_LOGS_EXPORTER": "none"},
            "warning: OTEL_EXPORTER_OTLP_PROTOCOL is grpc; spans can only be sent by http/protobuf\n",
        ),
        (
            {"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_LOGS_EXPORTER": "none"},
            "warning: OTEL_TRACES_EXPORTER is zipkin; spans can only be sent by otlp\n",
        ),
    ],
)
def test_what_cannot_be_sent_as_asked_is_said_and_not_sent(
    collector: Collector, evenhand: Evenhand, variables: dict[str, str], line: str
) -> None:
    place = f"http://127.0.0.1:{collector.server_port}"

    done = evenhand(OTEL_EXPORTER_OTLP_ENDPOINT=place, **variables)

    assert line in done.stderr
    assert collector.spans == []


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_BLRP_MAX_QUEUE_SIZE": "-1"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:many"},
    ],
)
def test_a_variable_that_cannot_be_read_does_not_end_the_run(evenhand: Evenhand, variables: dict[str, str]) -> None:
    done = evenhand(**variables)

    assert done.returncode == 0
    assert "warning: nothing is sent to OpenTelemetry: its variables are wrong (ValueError)\n" in done.stderr


def test_a_program_that_has_set_it_up_itself_keeps_its_own(collector: Collector, evenhand: Evenhand) -> None:
    own = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=lambda span: f"own {span.name}\\n")))
trace.set_tracer_provider(provider)
"""

    done = evenhand(own, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{collector.server_port}")

    assert "own run capitals" in done.stdout
    assert collector.spans == []
