"""Batches from Python: a program that is started again gets what its batches brought."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evenhand import Case, ConfigError, PromptEvaluator, Run, aevaluate, evaluate
from evenhand.cli.main import app
from evenhand.store.store import open_store

CASES = [
    Case(id=f"c{number}", question="Why?", candidate_answer=f"{number}.", expected_outcome="A number")
    for number in range(4)
]


def judge_at(provider: Any) -> dict[str, Any]:
    return {"model": "openai/gpt-4o-mini", "base_url": f"http://127.0.0.1:{provider.port}/v1", "backoff": 0.005}


async def interrupted_while_waiting(provider: Any, *args: Any, **options: Any) -> None:
    """Begin an evaluation, and end it as Ctrl-C would once the provider has a batch that it has been asked about."""
    provider.finished.clear()
    watched = asyncio.Event()

    def watch(progress: Any) -> None:
        if progress.batches and provider.batches and provider.batches[0].polls:
            watched.set()

    task = asyncio.create_task(aevaluate(*args, **options, batch=True, progress=watch))
    await asyncio.wait([task, waiting := asyncio.create_task(watched.wait())], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    provider.finished.set()


def test_a_program_that_is_started_again_continues_the_run_that_waits_for_batches(
    provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    evaluator = PromptEvaluator(judge=judge_at(provider))
    asyncio.run(interrupted_while_waiting(provider, iter(CASES), evaluator, name="numbers"))
    waiting = Run.open()

    other = evaluate(CASES[:3], evaluator, name="numbers", batch=True)
    run = evaluate(iter(CASES), evaluator, name="numbers", batch=True)

    assert waiting.status == "interrupted"
    assert (run.id, run.status, run.summary.cases.scored) == (waiting.id, "finished", 4)
    assert (other.id != run.id, [len(batch.requests) for batch in provider.batches]) == (True, [4, 3])
    with contextlib.closing(open_store()) as store:
        assert [stored.id for stored in store.runs.newest()] == [other.id, run.id]
        assert store.provider_batches.items(run.record) == {}
    assert evaluate(CASES, evaluator, name="numbers", batch=True).id != run.id  # it is finished


def test_batches_are_not_paid_for_twice_since_a_function_beside_them_has_changed(
    provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.syspath_prepend(Path.cwd())
    Path("own_checks.py").write_text("def short(case):\n    return len(case.candidate_answer) < 9\n")
    judge = PromptEvaluator(judge=judge_at(provider))
    evaluators = [judge, importlib.import_module("own_checks").short]
    asyncio.run(interrupted_while_waiting(provider, CASES, evaluators, name="numbers"))
    waiting = Run.open()
    Path("own_checks.py").write_text("def short(case):\n    return len(case.candidate_answer) < 2\n")

    with pytest.raises(ConfigError, match="waits for batches, and cannot go on: evaluator 'short': the source of"):
        evaluate(CASES, evaluators, name="numbers", batch=True)
    other = evaluate(CASES, evaluators, name="others", batch=True)
    Path("own_checks.py").write_text("def short(case):\n    return len(case.candidate_answer) < 9  # as it was\n")
    run = evaluate(CASES, evaluators, name="numbers", batch=True)

    assert other.id != run.id == waiting.id
    assert [stored.id for stored in open_store().runs.newest()] == [other.id, run.id]


def test_the_batches_of_a_program_can_be_cancelled_on_the_command_line(
    provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{provider.port}/v1")
    evaluator = PromptEvaluator(judge="openai/gpt-4o-mini")
    asyncio.run(interrupted_while_waiting(provider, CASES, evaluator))
    provider.finished.clear()

    done = CliRunner().invoke(app, ["runs", "cancel-batches", "last", "--yes"], prog_name="evenhand")

    assert (done.exit_code, provider.batches[0].is_cancelled) == (0, True), done.stderr
    assert "cancelled batch batch_0: 4 requests to openai/gpt-4o-mini" in done.stderr
    with contextlib.closing(open_store()) as store:
        (batch,) = store.provider_batches.of(Run.open().record, pending=True)
    assert batch.words.endswith("was cancelled, and is still to be read")


def test_batches_from_python_are_refused_where_they_would_be_lost(
    provider: Any, suite: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    suite("openai")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"store": None}, "would be lost"),
        ({"on": "ray"}, "one process"),
        ({"until_decided": True, "gates": {"min_mean": 0.5}}, "until_decided"),
        ({"judge": "ollama/qwen2.5:7b"}, "ollama/qwen2.5:7b cannot be asked in batches"),
        (
            {"target": "ollama/qwen2.5:7b", "judge": "openai/gpt-4o-mini", "cases": [{"id": "a", "input": "Why?"}]},
            "ollama/qwen2.5:7b cannot",
        ),
        (
            {
                "target": "openai/gpt-4o-mini",
                "judge": "ollama/qwen2.5:7b",
                "cases": [{"id": "a", "input": "Why?", "expected_outcome": "So"}],
            },
            "ollama/qwen2.5:7b cannot",
        ),
    ]
    for options, why in refused:
        with pytest.raises(ConfigError, match=why):
            evaluate(**{"cases": "suite.yaml", **options}, evaluators=[{"type": "llm_judge"}], batch=True)

    assert provider.requests == []
    with contextlib.closing(open_store()) as store:
        assert store.runs.newest() == []
