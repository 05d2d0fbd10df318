"""All runs in progress in one stream: those of this process, and those of others as the store has them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from evenhand.domain.errors import StoreError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.job import Pace
from evenhand.engine.plan import plan
from evenhand.engine.run import Progress
from evenhand.engine.runner import Runner
from evenhand.server.pages.live import events
from evenhand.server.runs import live_runs, manager
from evenhand.server.runs.live_runs import LiveRuns, LiveState
from evenhand.server.runs.manager import RunManager
from evenhand.server.runs.progress import live_progress
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import Trial


async def first(found: AsyncIterator[LiveState], wanted: Any) -> LiveState:
    """Return the first state of which something is true."""
    async for state in found:
        if wanted(state):
            return state
    raise AssertionError("the stream ended")


def test_runs_of_this_process_and_of_another_are_in_one_stream_until_they_end(
    store: Store, trial: Trial, settings: ServerSettings, models: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_runs, "POLL_SECONDS", 0.0)
    models.may_answer.clear()

    async def watched() -> tuple[set[str], LiveState, LiveState, list[LiveState]]:
        running = RunManager(store, settings)
        live = LiveRuns(store, running)
        elsewhere = plan(store, trial.job(store), trial.scope)
        driven = asyncio.create_task(Runner(store, elsewhere, trial.job(store), Pace(concurrency=1)).run())
        here, _ = await running.start(lambda: trial.job(store), trial.scope, Pace(concurrency=1, use_cache=False))
        both = await first(live.watch(), lambda found: len(found.runs) == 2)
        one = await first(live.watch(here.id), lambda found: found.runs)
        models.may_answer.set()
        none = await first(live.watch(), lambda found: not found.state)
        await driven
        rest: list[LiveState] = []
        open_stream = live.watch()
        rest.append(await anext(open_stream))
        await running.close()
        rest += [state async for state in open_stream]
        assert set(both.runs) == {here.id, elsewhere.id}
        assert [both.runs[run.id]["here"] for run in (here, elsewhere)] == [True, False]
        return set(one.runs) - {here.id}, both, none, rest

    others, both, none, rest = asyncio.run(watched())

    assert others == set()
    assert sorted(word.partition(":")[2] for word in both.state.split()) == ["running", "running"]
    assert none.runs == {}
    assert rest == [LiveState()]  # it ends with the server, though nothing has changed


def test_the_rate_of_a_run_elsewhere_is_measured_while_it_is_watched(
    store: Store, trial: Trial, settings: ServerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = store.runs.mark(plan(store, trial.job(store), trial.scope), RunStatus.RUNNING)
    seconds = itertools.count(0.0, 2.0)
    done = iter([(3, 0), (3, 1)])

    async def watched() -> list[dict[str, Any]]:
        live = LiveRuns(store, RunManager(store, settings), clock=lambda: next(seconds))
        monkeypatch.setattr(store, "extent", lambda _: next(done))
        return [(await live.now()).runs[run.id] for _ in range(2)]

    before, after = asyncio.run(watched())

    assert (before["rate"], before["eta"], before["cost"]) == (None, None, None)
    assert after["rate"] > 0
    assert after["eta"] == pytest.approx(2 / after["rate"], rel=0.1)


def test_however_many_watch_the_store_is_read_once(
    store: Store, trial: Trial, settings: ServerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    found = store.runs.in_progress

    def counted() -> list[RunRecord]:
        read.append(1)
        return found()

    monkeypatch.setattr(store.runs, "in_progress", counted)

    async def watched() -> None:
        live = LiveRuns(store, RunManager(store, settings), clock=lambda: 0.0)
        await asyncio.gather(*(live.now() for _ in range(20)))

    asyncio.run(watched())

    assert read == [1]


def test_a_run_of_this_process_is_in_the_stream_at_once_however_lately_the_store_was_read(
    store: Store, trial: Trial, settings: ServerSettings, models: Any
) -> None:
    models.may_answer.clear()

    async def watched() -> tuple[LiveState, LiveState, str]:
        running = RunManager(store, settings)
        live = LiveRuns(store, running, clock=lambda: 0.0)
        before = await live.now()
        run, _ = await running.start(lambda: trial.job(store), trial.scope, Pace(concurrency=1, use_cache=False))
        after = await live.now()
        models.may_answer.set()
        await running.close()
        return before, after, run.id

    before, after, run_id = asyncio.run(watched())

    assert before.runs == {}
    assert set(after.runs) == {run_id}


def test_a_store_that_cannot_be_read_is_told_and_no_stream_is_left_counted(
    store: Store, settings: ServerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost() -> Any:
        raise StoreError("the database is gone")

    monkeypatch.setattr(store.runs, "in_progress", lost)
    monkeypatch.setattr(manager, "MOST_STREAMS", 1)

    async def watched() -> tuple[list[bytes], bool]:
        running = RunManager(store, settings)
        said = [event async for event in events(LiveRuns(store, running), None)]
        return said, running.is_crowded

    said, is_crowded = asyncio.run(watched())

    assert said[-1] == b'event: trouble\ndata: "the database is gone"\n\n'
    assert not is_crowded


def test_verdicts_from_before_a_run_was_resumed_count_and_errors_that_were_judged_again_count_once(
    store: Store, trial: Trial
) -> None:
    run = store.runs.mark(plan(store, trial.job(store), trial.scope), RunStatus.RUNNING)
    progress = Progress(total=10, done=6)
    progress.scored = progress.passed = 3
    progress.done += 2  # of the three, one had been an error before

    told = live_progress(run, progress, {"pass": 4, "error": 2})

    assert (told["passed"], told["errors"], told["done"]) == (7, 1, 8)
