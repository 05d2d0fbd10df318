"""The run manager: a few runs at once, the others wait, and all of them end in good order."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from evenhand.domain.errors import ConflictError, RunBusyError, StoreError
from evenhand.domain.prompt import FieldError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.job import Pace
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.server.problems import Problem
from evenhand.server.runs.manager import MOST_AT_ONCE, RunManager
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import Trial


async def start(manager: RunManager, store: Store, trial: Trial, **pace: Any) -> RunRecord:
    run, _ = await manager.start(lambda: trial.job(store), trial.scope, Pace(concurrency=1, use_cache=False, **pace))
    return run


async def last_of(manager: RunManager, run: RunRecord) -> dict[str, Any]:
    return [told async for told in manager.watch(run.id)][-1]


def test_more_runs_than_places_wait_for_their_turn(
    store: Store, trial: Trial, settings: ServerSettings, models: Any
) -> None:
    models.may_answer.clear()

    async def several() -> tuple[list[bool], list[dict[str, Any]]]:
        manager = RunManager(store, settings)
        runs = [await start(manager, store, trial) for _ in range(MOST_AT_ONCE + 2)]
        await asyncio.sleep(0)
        waiting = [bool((manager.progress(run.id) or {})["waiting"]) for run in runs]
        models.may_answer.set()
        ended = [await last_of(manager, run) for run in runs]
        await manager.close()
        return waiting, ended

    waiting, ended = asyncio.run(several())

    assert waiting == [False] * MOST_AT_ONCE + [True] * 2
    assert [(one["status"], one["done"], one["total"]) for one in ended] == [("finished", 3, 3)] * (MOST_AT_ONCE + 2)


def test_closing_interrupts_what_is_driven_and_what_waits(
    store: Store, trial: Trial, settings: ServerSettings, models: Any
) -> None:
    models.may_answer.clear()

    async def closed() -> list[RunRecord]:
        manager = RunManager(store, settings)
        runs = [await start(manager, store, trial) for _ in range(MOST_AT_ONCE + 1)]
        watching = asyncio.create_task(last_of(manager, runs[0]))
        await asyncio.sleep(0.05)
        await asyncio.wait_for(manager.close(), 60)
        await asyncio.wait_for(watching, 60)
        with pytest.raises(Problem) as refused:
            await start(manager, store, trial)
        assert (refused.value.status, refused.value.title) == (503, "The server is shutting down")
        return [store.runs.find(run.id) for run in runs]

    runs = asyncio.run(closed())

    assert {run.status for run in runs} == {RunStatus.INTERRUPTED}
    assert [run.reason for run in runs] == [
        f"the server was stopped; resume the run here or with: evenhand resume {run.id}" for run in runs
    ]


def test_a_waiting_run_is_cancelled_and_resumed_by_one_only(
    store: Store, trial: Trial, settings: ServerSettings, models: Any
) -> None:
    models.may_answer.clear()

    async def resumed() -> dict[str, Any]:
        manager = RunManager(store, settings)
        runs = [await start(manager, store, trial) for _ in range(MOST_AT_ONCE + 1)]
        await manager.cancel(runs[-1].id)
        cancelled = await last_of(manager, runs[-1])
        assert (cancelled["status"], cancelled["done"]) == ("interrupted", 0)
        models.may_answer.set()
        twice = await asyncio.gather(*(manager.resume(runs[-1].id) for _ in range(2)), return_exceptions=True)
        assert [type(one) for one in twice if isinstance(one, Exception)] == [RunBusyError]
        ended = await last_of(manager, runs[-1])
        await manager.close()
        return ended

    ended = asyncio.run(resumed())

    assert (ended["status"], ended["done"]) == ("finished", 3)


def test_who_takes_a_run_up_is_the_only_one_until_it_is_driven(
    store: Store, trial: Trial, settings: ServerSettings
) -> None:
    run = store.runs.mark(plan(store, trial.job(store), trial.scope), RunStatus.INTERRUPTED)
    began, may_go_on = threading.Event(), threading.Event()

    def slowly(usual: Pace) -> Pace:
        began.set()
        may_go_on.wait(60)
        return usual

    async def resumed() -> dict[str, Any]:
        manager = RunManager(store, settings)
        first = asyncio.create_task(manager.resume(run.id, slowly))
        await asyncio.to_thread(began.wait, 60)
        with pytest.raises(RunBusyError):
            await manager.resume(run.id)
        may_go_on.set()
        ended = await last_of(manager, await first)
        await manager.close()
        return ended

    ended = asyncio.run(resumed())

    assert (ended["status"], ended["done"]) == ("finished", 3)


@pytest.mark.slow
def test_a_run_of_another_process_is_watched_in_the_store(
    store: Store, trial: Trial, settings: ServerSettings, models: Any
) -> None:
    models.may_answer.clear()

    async def watched() -> list[dict[str, Any]]:
        manager = RunManager(store, settings)
        job = trial.job(store)
        run = plan(store, job, trial.scope)
        driven = asyncio.create_task(Runner(store, run, job, Pace(concurrency=1)).run())
        told = []
        async for one in manager.watch(run.id):
            told.append(one)
            models.may_answer.set()
        await driven
        with pytest.raises(ConflictError, match="nothing to cancel"):
            await manager.cancel(run.id)
        return told

    told = asyncio.run(watched())

    assert (told[0]["status"], told[0]["here"], told[0]["rate"]) == ("running", False, None)
    assert (told[-1]["status"], told[-1]["done"], told[-1]["not_evaluated"]) == ("finished", 3, 3)
    assert (told[-1]["eta"], told[-1]["errors"], told[-1]["calls"], told[-1]["retries"]) == (0.0, 0, 3, 0)


def test_nobody_starts_a_run_with_a_model_that_is_a_file(store: Store, trial: Trial, settings: ServerSettings) -> None:
    async def started() -> None:
        manager = RunManager(store, settings)
        job = trial.job(store)
        of_a_file = replace(job, definition={"target": {"models": ["recorded/x.jsonl"]}})
        await manager.start(lambda: of_a_file, trial.scope, Pace())

    with pytest.raises(FieldError, match="recorded"):
        asyncio.run(started())
    assert store.runs.newest() == []


def test_a_run_whose_runner_could_not_begin_is_not_left_at_work(
    store: Store, trial: Trial, settings: ServerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def locked(_runner: Runner) -> RunRecord:
        raise StoreError("the database is locked")

    async def broken() -> dict[str, Any]:
        manager = RunManager(store, settings)
        return await last_of(manager, await start(manager, store, trial))

    monkeypatch.setattr(Runner, "run", locked)
    ended = asyncio.run(broken())

    (run,) = store.runs.newest()
    assert (ended["status"], run.status, run.reason) == ("interrupted", RunStatus.INTERRUPTED, "it failed")
    assert not store.runs.in_hand(run)


def test_there_is_no_progress_of_a_run_that_is_not_there(store: Store, settings: ServerSettings) -> None:
    async def asked() -> Any:
        manager = RunManager(store, settings)
        return manager.progress("nobody"), [one async for one in manager.watch("nobody")]

    assert asyncio.run(asked()) == (None, [])
