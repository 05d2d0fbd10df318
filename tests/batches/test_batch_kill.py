"""Killed at any moment, a run in batches is resumed by another process, and asks nothing twice."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.harness.warm import Started, WarmEvenhand
from typer.testing import CliRunner

from evenhand.cli.main import app
from evenhand.store.store import open_store

pytestmark = pytest.mark.slow


def command(*argv: str) -> Any:
    before = dict(os.environ)
    try:
        return CliRunner().invoke(app, argv, prog_name="evenhand")
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def start(warm: WarmEvenhand) -> Iterator[Callable[..., Started]]:
    """Start a command in a process of its own, which can be killed."""
    with ExitStack() as stack:
        yield lambda *argv: stack.enter_context(warm.start(*argv))


def until(holds: Callable[[], Any]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def require_all_judged_once(provider: Any, cases: int) -> None:
    assert (len(provider.asked), set(provider.asked.values())) == (cases, {1})
    store = open_store()
    (run,) = store.runs.newest(1)
    results = list(store.results(run))
    assert [result.judgments[0].evaluation.status.value for result in results] == ["scored"] * cases
    assert (store.provider_batches.items(run), store.provider_batches.of(run, pending=True)) == ({}, [])
    store.close()


@pytest.mark.parametrize(
    ("moment", "kind"),
    [
        ("while the batch is pending", "gemini"),
        ("before the id of the batch was heard", "openai"),
        ("before the id of the batch was heard", "anthropic"),
        ("in the middle of the results", "openai"),
    ],
)
def test_a_killed_run_is_resumed_and_nothing_is_asked_twice(
    moment: str, kind: str, provider: Any, suite: Callable[..., Path], start: Callable[..., Any]
) -> None:
    suite(kind, cases=5)
    match moment:
        case "while the batch is pending":
            provider.finished.clear()
        case "before the id of the batch was heard":
            provider.creation_answered.clear()
        case "in the middle of the results":
            provider.all_results.clear()

    run = start("run", "suite.yaml", "--batch")
    until(lambda: provider.batches)
    if moment == "while the batch is pending":
        until(lambda: provider.batches[0].polls)
    if moment == "in the middle of the results":
        until(lambda: provider.results_read)
    run.kill()
    run.communicate()
    for event in (provider.finished, provider.creation_answered, provider.all_results):
        event.set()
    resumed = command("resume", "last", "--json")

    assert resumed.exit_code == 0, resumed.stderr
    assert json.loads(resumed.stdout)["summary"]["cost"] > 0
    assert len(provider.batches) == 1
    require_all_judged_once(provider, 5)


def test_an_interrupted_run_names_its_batch_which_can_be_cancelled_or_waited_for(
    provider: Any, suite: Callable[..., Path], start: Callable[..., Any]
) -> None:
    provider.finished.clear()
    suite("openai", cases=3)

    run = start("run", "suite.yaml", "--batch")
    until(lambda: provider.batches and provider.batches[0].polls)
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=60)

    assert run.returncode == 130
    assert "batch batch_0 (3 requests to openai/gpt-4o-mini) is pending; resume with: evenhand resume" in told
    refused = command("resume", "last", "--fork")
    assert (refused.exit_code, "waits for batches" in refused.stderr) == (2, True)
    cancelled = command("runs", "cancel-batches", "last", "--yes")
    assert (cancelled.exit_code, "cancelled batch batch_0" in cancelled.stderr) == (0, True)
    resumed = command("resume", "last", "--no-batch", "--json")
    assert resumed.exit_code == 0, resumed.stderr
    assert (len(provider.batches), len(provider.single)) == (1, 3)
    assert json.loads(resumed.stdout)["summary"]["scored"] == 3


def test_a_run_whose_batch_is_pending_is_neither_deleted_nor_exported_until_it_is_cancelled(
    provider: Any, suite: Callable[..., Path], start: Callable[..., Any]
) -> None:
    provider.finished.clear()
    suite("openai", cases=3)
    run = start("run", "suite.yaml", "--batch", "--quiet", "--db", "kept.db")
    until(lambda: provider.batches and provider.batches[0].polls)
    run.send_signal(signal.SIGINT)
    identity = run.communicate(timeout=60)[0].strip()
    here = ("--db", "kept.db")

    would_prune = command("runs", "prune", "--keep", "0", "--dry-run", *here)
    pruned = command("runs", "prune", "--keep", "0", "--yes", *here)
    deleted = command("runs", "delete", "last", "--yes", *here)
    exported = command("export", "last", "-o", "run.jsonl", *here)

    for prune in (would_prune, pruned):
        assert "kept 1 old run with pending batches\n" in prune.stderr
        assert "nothing to delete" in prune.stderr
    assert deleted.exit_code == 2
    assert f"\nTo read them: evenhand resume {identity} --db kept.db\n" in deleted.stderr
    assert f"\nTo cancel them: evenhand runs cancel-batches {identity} --db kept.db\n" in deleted.stderr
    assert (exported.exit_code, Path("run.jsonl").exists()) == (2, False)
    assert "would be asked and paid for again" in exported.stderr

    command("runs", "cancel-batches", "last", "--yes", *here)
    after = command("runs", "delete", "last", "--yes", *here)

    assert provider.batches[0].is_cancelled
    assert (after.exit_code, f"deleted {identity}" in after.stderr) == (0, True)


def test_a_batch_that_the_provider_never_had_is_cancelled_so_that_its_run_can_be_deleted(
    provider: Any, suite: Callable[..., Path], start: Callable[..., Any]
) -> None:
    provider.creation_answered.clear()
    suite("openai", cases=3)
    run = start("run", "suite.yaml", "--batch")
    until(lambda: provider.batches)
    run.kill()
    run.communicate()
    provider.batches.clear()
    provider.creation_answered.set()

    refused = command("runs", "delete", "last", "--yes")
    cancelled = command("runs", "cancel-batches", "last", "--yes")
    deleted = command("runs", "delete", "last", "--yes")

    assert (refused.exit_code, cancelled.exit_code, deleted.exit_code) == (2, 0, 0)
    assert "was never submitted" in cancelled.stderr
