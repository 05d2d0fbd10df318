"""Models of embedded judges on real Ray: loaded once for all workers of a node, started again when they die."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.cluster import ray_cluster as place
from evenhand.cluster.runner import ClusterRunner
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Status
from evenhand.domain.run import CaseResult, RunRecord, RunStatus
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.models.embedded.runtime import runtime_of
from evenhand.store.store import open_store
from evenhand.suites.suite import job_of, read_suite

from . import stand_in_model

Suite = Callable[..., Path]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("ray"),  # which is started once
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a stand-in for the library that runs models, which all processes of the tests find first."""
    folder = tmp_path_factory.mktemp("library")
    shutil.copy(stand_in_model.__file__, folder / "xllamacpp.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        patch.setenv(stand_in_model.NOTES, str(folder))
        patch.delenv("RAY_ADDRESS", raising=False)
        patch.syspath_prepend(folder)
        patch.delitem(sys.modules, "xllamacpp", raising=False)
        yield folder
    sys.modules.pop("xllamacpp", None)
    runtime_of.cache_clear()


@pytest.fixture(scope="module")
def cluster(library: Path) -> Iterator[place.RayCluster]:
    with place.ray_cluster("ray", workers=2) as cluster:
        yield cluster


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


def judged(path: Path, cluster: place.RayCluster | None, db: str) -> tuple[RunRecord, list[CaseResult]]:
    store = open_store(str(path.parent / db))
    job = job_of(read_suite(path))
    run = plan(store, job, Scope())
    pace = Pace(concurrency=4)
    made = Runner(store, run, job, pace) if cluster is None else ClusterRunner(store, run, job, pace, cluster=cluster)
    ended = asyncio.run(made.run())
    return ended, list(store.results(ended))


def loads(notes: Path) -> list[list[int]]:
    """Return of each load its process, the size of the context, and the numbers of slots and threads."""
    return [[int(each) for each in line.split()] for line in (notes / "loads").read_text().splitlines()]


def found(results: list[CaseResult]) -> list[tuple[str, float | None, str | None]]:
    return [
        (result.id, each.evaluation.score, each.evaluation.reasoning) for result in results for each in result.judgments
    ]


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
