"""Batches from Python: a program that is started again gets what its batches brought."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, ConfigError, PromptEvaluator, Run, aevaluate, evaluate
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
