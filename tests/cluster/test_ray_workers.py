"""What workers on real Ray share, and what they tell: models of embedded judges, spans, logs, who is waited for."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from typer.testing import CliRunner

from evenhand.cli.main import app
from evenhand.cli.runs import progress
from evenhand.cluster import ray_cluster as place
from evenhand.cluster.runner import ClusterRunner
from evenhand.cluster.traced_runner import TracedClusterRunner
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Status
from evenhand.domain.run import CaseResult, RunRecord, RunStatus
from evenhand.drive.telemetry import Telemetry
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.run import Progress
from evenhand.engine.runner import Runner
from evenhand.engine.telemetry import TracedRunner
from evenhand.models.embedded.runtime import runtime_of
from evenhand.store.store import open_store
from evenhand.suites.suite import job_of, read_suite

from . import stand_in_model
from .own_ray import OwnRay

Suite = Callable[..., Path]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.group("ray"),  # which is started once
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]


@pytest.fixture
def library(own_ray: OwnRay) -> Iterator[Path]:
    """The folder with the stand-in for the library that runs models, which this process finds first too."""
    folder = own_ray.library
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(stand_in_model.NOTES, str(folder))
        patch.syspath_prepend(folder)
        patch.delitem(sys.modules, "xllamacpp", raising=False)
        yield folder
    sys.modules.pop("xllamacpp", None)
    runtime_of.cache_clear()


@pytest.fixture
def notes(library: Path) -> Path:
    """Where the stand-in writes down what happens, which is nothing yet."""
    for name in ("loads", "asked", "once"):
        (library / name).unlink(missing_ok=True)
    return library


@pytest.fixture
def judge(tmp_path: Path) -> str:
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    return f"embedded/{tmp_path / 'small.gguf'}"


def judging(judge: str, **settings: Any) -> dict[str, Any]:
    quality = {"name": "quality", "type": "llm_judge", "score_from": "text"}
    return {"judge": {"model": judge, **settings}, "evaluators": [quality]}


def judged(
    path: Path, cluster: place.RayCluster | None, db: str, telemetry: Telemetry | None = None
) -> tuple[RunRecord, list[CaseResult]]:
    store = open_store(str(path.parent / db))
    job = job_of(read_suite(path))
    run = plan(store, job, Scope())
    options: dict[str, Any] = {} if cluster is None else {"cluster": cluster}
    options |= {} if telemetry is None else {"telemetry": telemetry}
    kinds: dict[tuple[bool, bool], Callable[..., Runner]] = {
        (False, False): Runner,
        (False, True): TracedRunner,
        (True, False): ClusterRunner,
        (True, True): TracedClusterRunner,
    }
    runner = kinds[cluster is not None, telemetry is not None](store, run, job, Pace(concurrency=4), **options)
    ended = asyncio.run(runner.run())
    return ended, list(store.results(ended))


def loads(notes: Path) -> list[list[int]]:
    """Return of each load its process, the size of the context, and the numbers of slots and threads."""
    return [[int(each) for each in line.split()] for line in (notes / "loads").read_text().splitlines()]


def found(results: list[CaseResult]) -> list[tuple[str, float | None, str | None]]:
    return [
        (result.id, each.evaluation.score, each.evaluation.reasoning) for result in results for each in result.judgments
    ]


@pytest.mark.long
def test_two_workers_share_a_model_that_dies_once_and_find_what_one_process_does(
    suite: Suite, cluster: place.RayCluster, notes: Path, judge: str
) -> None:
    path = suite(12, **judging(judge, resources={"cpu": 1}))
    text = path.read_text().replace("Answer 5.", "Answer ONCE.")
    path.write_text(text)

    run, results = judged(path, cluster, "ray.db")
    first, second = loads(notes)
    slots = set((notes / "asked").read_text().split())
    _, expected = judged(path, None, "alone.db")

    assert run.status is RunStatus.FINISHED
    assert found(results) == found(expected)
    assert first[0] != second[0]  # it was started again, and that is all: both workers ask the same one
    assert first[1:] == second[1:] == [2 * 4096, 2, 1]
    assert slots == {"0", "1"}
    again = [attempt.error for attempt in results[5].judgments[0].evaluation.attempts if attempt.error is not None]
    assert len(again) == 1
    assert "small.gguf" in again[0]


@pytest.mark.long
@pytest.mark.starts(8, "starts a model that dies again and again")
def test_a_case_that_always_kills_the_model_is_an_error_that_names_it(
    suite: Suite, cluster: place.RayCluster, notes: Path, judge: str
) -> None:
    path = suite(6, **judging(judge))
    path.write_text(path.read_text().replace("Answer 3.", "Answer DEADLY."))

    run, results = judged(path, cluster, "ray.db")

    evaluations = [result.judgments[0].evaluation for result in results]
    assert run.status is RunStatus.FINISHED
    assert [each.id for each, one in zip(results, evaluations, strict=True) if one.status is Status.ERROR] == ["c3"]
    assert "small.gguf" in (evaluations[3].error or "")
    assert "gave up after 5 requests" in (evaluations[3].error or "")


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ({"gpu": 1}, r"small\.gguf asks for 1 cpu and 1 gpu, and no node of the cluster has so much gpu"),
        ({"cpu": 1 << 20}, r"asks for 1,048,576 cpu, and no node of the cluster has so much cpu"),
    ],
)
def test_what_no_node_can_ever_have_is_refused_before_anything_is_asked(
    suite: Suite, cluster: place.RayCluster, notes: Path, judge: str, resources: dict[str, float], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        judged(suite(2, **judging(judge, resources=resources)), cluster, "ray.db")

    assert not (notes / "loads").exists()


FUNCTION = """
import logging

def answer(text):
    logging.getLogger("shop").warning("asked: %s", text)
    if text == "Question 1?":
        raise ValueError("sold out")
    return "Answer to " + text
"""


class Told:
    """OpenTelemetry that keeps what it is told."""

    def __init__(self) -> None:
        self._spans, self._events = InMemorySpanExporter(), InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
        tracers, loggers = TracerProvider(), LoggerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        loggers.add_log_record_processor(SimpleLogRecordProcessor(self._events))
        self.telemetry = Telemetry(tracers, loggers)

    @property
    def lines(self) -> list[str]:
        """Each span with its attributes and what it belongs to, and each event; without times and ids."""
        spans: Any = self._spans.get_finished_spans()
        cases = {span.context.span_id: (span.name, span.attributes.get("evenhand.case.id")) for span in spans}
        found = []
        for span in spans:
            parent = None if span.parent is None else cases[span.parent.span_id]
            has = {key: value for key, value in span.attributes.items() if key != "evenhand.run.id"}
            events = [(event.name, event.attributes["error.type"]) for event in span.events]
            found.append(f"{span.name} in {parent}: {sorted(has.items())}, {span.status.status_code.name}, {events}")
            assert span.start_time <= span.end_time
        for each in self._events.get_finished_logs():
            record: Any = each.log_record
            has = {key: value for key, value in record.attributes.items() if key != "evenhand.run.id"}
            found.append(f"{record.event_name} in {cases[record.span_id]}: {sorted(has.items())}")
        return sorted(found)

    @property
    def traces(self) -> int:
        spans: Any = self._spans.get_finished_spans()
        return len({span.context.trace_id for span in spans})


@pytest.mark.long
def test_spans_events_and_logs_of_workers_are_those_of_one_process(
    suite: Suite,
    cluster: place.RayCluster,
    provider: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge = {"model": "vllm/judge", "base_url": provider.url}
    quality = {"name": "quality", "type": "llm_judge"}
    path = suite(4, judge=judge, evaluators=[quality], target={"python": "shop:answer"})
    path.write_text(path.read_text().replace("candidate_answer", "reference_answer"))
    (path.parent / "shop.py").write_text(FUNCTION)
    monkeypatch.syspath_prepend(path.parent)
    on_ray, alone = Told(), Told()

    run, _ = judged(path, cluster, "ray.db", on_ray.telemetry)
    said = sorted(record.getMessage() for record in caplog.records if record.name == "shop")
    caplog.clear()
    judged(path, None, "alone.db", alone.telemetry)

    assert run.status is RunStatus.FINISHED
    assert on_ray.lines == alone.lines
    assert len([line for line in on_ray.lines if line.startswith("chat judge in ('case', ")]) == 3
    assert on_ray.traces == alone.traces == 1
    assert said == sorted(record.getMessage() for record in caplog.records if record.name == "shop")
    assert said == [f"asked: Question {number}?" for number in range(4)]


@pytest.mark.usefixtures("cluster")
def test_a_command_shows_workers_and_nodes_and_that_the_provider_is_the_limit(
    suite: Suite, provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = {"model": "vllm/judge", "base_url": provider.url}
    path = suite(40, judge=judge, evaluators=[{"name": "quality", "type": "llm_judge"}])
    monkeypatch.chdir(path.parent)
    shown = progress.line
    provider.most = 4  # until somebody has read that it is waited for

    def line(state: Progress) -> str:
        words = shown(state)
        if "limited by the provider" in words:
            provider.most = None
        return words

    monkeypatch.setattr(progress, "line", line)
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 1.0)
    done = CliRunner().invoke(
        app, ["run", path.name, "--on", "ray", "--workers", "2", "--concurrency", "4", "--db", "runs.db"]
    )

    assert "on Ray: 2 workers on 1 node" in done.stderr
    assert provider.most is None
    assert len(provider.calls) == 40
