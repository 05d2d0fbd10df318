"""Runs over HTTP: start, watch, cancel, resume, look at, delete (SPEC-M4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Annotated, Any, Final

import orjson
from fastapi import Query, Response
from fastapi.responses import StreamingResponse

from evenhand.domain.run import RunRecord
from evenhand.engine.budget import Limits
from evenhand.engine.job import Pace
from evenhand.server.api.bodies import ResumeBody, RunBody
from evenhand.server.api.parameters import BUSY, Cursor, Key, Limit, RunId, routes
from evenhand.server.api.schemas import EstimateShape, Page, ProgressShape, RunDetail, RunShape
from evenhand.server.dependencies import RunManagerDep, SettingsDep, StoreDep, SummaryCacheDep
from evenhand.server.problems import Problem
from evenhand.server.runs.baseline import pin, unpin
from evenhand.server.runs.manager import RunManager
from evenhand.server.runs.progress import as_it_is
from evenhand.server.runs.results import offset_in, offset_written
from evenhand.server.runs.views import run_as_planned, run_detail, run_listed
from evenhand.store.transfer import export_lines
from evenhand.workspace.trial import PROMPT

router = routes("runs")

EVENTS: Final = "text/event-stream"
LINES: Final = "application/jsonl"


def _stream(media: str, about: str, **item: Any) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {media: {"schema": {"type": "object", **item}}}, "description": about}}


_EVENT: Final = {"event": {"enum": ["progress", "end"]}, "data": {"type": "string", "description": "Progress as JSON."}}


@router.get("/runs", response_model=Page[RunShape])
def list_runs(
    store: StoreDep,
    summaries: SummaryCacheDep,
    limit: Limit = 50,
    cursor: Cursor = None,
    prompt: Annotated[
        str | None, Query(max_length=300, description="Only those of this prompt, by id or name.")
    ] = None,
) -> Any:
    """List the runs, the newest first. ``summary`` is null for a large run that nobody has looked at yet."""
    first = offset_in(cursor)
    if prompt is None:
        found = store.runs.newest(first + limit)
        total = store.runs.total()
    else:
        wanted = store.prompts.find(prompt).id
        found = [run for run in store.runs.newest() if (run.definition.get(PROMPT) or {}).get("id") == wanted]
        total = len(found)
    return {
        "items": [run_listed(store, run, summaries) for run in found[first : first + limit]],
        "total": total,
        "next": offset_written(first + limit) if first + limit < total else None,
    }


@router.post("/runs", response_model=RunDetail, status_code=201)
async def create_run(
    body: RunBody,
    *,
    store: StoreDep,
    settings: SettingsDep,
    manager: RunManagerDep,
    response: Response,
    key: Key = None,
) -> Any:
    """Start a run. With an ``Idempotency-Key``, the same body gives the same run, however often it is sent."""
    wanted = body.wanted
    run, is_new = await manager.start(
        lambda: wanted.job(store, settings), wanted.scope, wanted.pace, key=key, asked=["run", body.model_dump()]
    )
    response.headers["location"] = f"/api/runs/{run.id}"
    response.headers["idempotency-replayed"] = "false" if is_new else "true"
    return await asyncio.to_thread(run_as_planned, store, run)


@router.post("/runs/estimate", response_model=EstimateShape)
def estimate_run(body: RunBody, store: StoreDep, settings: SettingsDep) -> Any:
    """Tell what a run would take in calls, tokens and dollars; nobody is asked, no key is needed, nothing is kept."""
    wanted = body.wanted
    return wanted.estimate(store, wanted.job(store, settings, to_ask=False)).as_dict()


@router.get("/runs/{run}", response_model=RunDetail)
def get_run(run: RunId, store: StoreDep, settings: SettingsDep, summaries: SummaryCacheDep) -> Any:
    """Return a run with its numbers; of a very large one they are null until they are counted, so ask again."""
    return run_detail(store, store.runs.find(run), summaries, settings.page_wait_seconds)


@router.delete("/runs/{run}", status_code=204)
def delete_run(run: RunId, store: StoreDep) -> None:
    """Delete a run with everything in it; 409 while a process works on it."""
    store.runs.delete(store.runs.find(run))


@router.get("/runs/{run}/progress", response_model=ProgressShape)
def get_progress(run: RunId, store: StoreDep, manager: RunManagerDep) -> Any:
    """Tell how a run gets on."""
    return _progress(manager, store.runs.find(run))


@router.get(
    "/runs/{run}/events",
    response_class=StreamingResponse,
    responses=_stream(EVENTS, "Progress, live.", properties=_EVENT) | BUSY,
)
async def watch_run(run: RunId, store: StoreDep, manager: RunManagerDep) -> StreamingResponse:
    """Watch a run: server-sent events named ``progress``, at most two a second, and ``end`` when the run has ended.

    Where too many watch already, this is 503; ask for the progress instead.
    """
    found = await asyncio.to_thread(store.runs.find, run)
    if manager.is_crowded:
        wait = {"retry-after": "30"}
        raise Problem(503, "Too many watch", f"ask for /api/runs/{found.id}/progress instead", headers=wait)
    at_once = {"x-accel-buffering": "no"}  # a proxy would gather what is meant to be seen
    return StreamingResponse(_events(manager, found), media_type=EVENTS, headers=at_once)


@router.post("/runs/{run}/cancel", response_model=ProgressShape, status_code=202)
async def cancel_run(run: RunId, manager: RunManagerDep) -> Any:
    """Take no more work for a run: what is under way may end, and the run can be resumed."""
    found = await manager.cancel(run)
    return await asyncio.to_thread(_progress, manager, found)


@router.post("/runs/{run}/resume", response_model=RunDetail, status_code=202)
async def resume_run(run: RunId, store: StoreDep, manager: RunManagerDep, body: ResumeBody | None = None) -> Any:
    """Go on with a run: only what is missing is done."""
    found = await manager.resume(run, _changed(body))
    return await asyncio.to_thread(run_as_planned, store, found)


@router.put("/runs/{run}/baseline", response_model=RunDetail)
def pin_run(run: RunId, store: StoreDep, settings: SettingsDep, summaries: SummaryCacheDep) -> Any:
    """Hold later runs of the same suite or prompt against this one, and no longer against another."""
    return run_detail(store, pin(store, store.runs.find(run)), summaries, settings.page_wait_seconds)


@router.delete("/runs/{run}/baseline", status_code=204)
def unpin_run(run: RunId, store: StoreDep) -> None:
    """Hold no run against this one any more."""
    unpin(store, store.runs.find(run))


@router.get("/runs/{run}/export", response_class=StreamingResponse, responses=_stream(LINES, "The run, line by line."))
def export_run(run: RunId, store: StoreDep) -> StreamingResponse:
    """Return a run as JSON lines, which ``evenhand import`` reads."""
    found = as_it_is(store, store.runs.find(run))
    lines = export_lines(store, found)
    first = next(lines)  # what cannot be exported is refused before anything is sent
    name = {"content-disposition": f'attachment; filename="{found.id}.jsonl"'}
    return StreamingResponse(_all(first, lines), media_type=LINES, headers=name)


def _all(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _progress(manager: RunManager, run: RunRecord) -> dict[str, Any]:
    told = manager.progress(run.id)
    assert told is not None  # noqa: S101 - it was found just now
    return told


async def _events(manager: RunManager, run: RunRecord) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    last: dict[str, Any] | None = None
    async for told in manager.watch(run.id):
        last = told
        yield b"event: progress\ndata: " + orjson.dumps(told) + b"\n\n"
    if last is not None and last["status"] not in ("running", "planning"):
        yield b"event: end\ndata: " + orjson.dumps(last) + b"\n\n"


def _changed(body: ResumeBody | None) -> Callable[[Pace], Pace]:
    """Change the pace at which a run would go on, by what was asked for."""
    given = ResumeBody() if body is None else body
    limits = Limits(max_calls=given.max_calls, max_cost=given.max_cost)

    def change(usual: Pace) -> Pace:
        return replace(
            usual,
            concurrency=given.concurrency or usual.concurrency,
            limits=limits,
            retry_errors=given.retry_errors,
            outage_timeout=usual.outage_timeout if given.outage_timeout is None else given.outage_timeout,
        )

    return change
