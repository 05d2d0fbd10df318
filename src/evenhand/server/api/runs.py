"""Runs over HTTP: start, watch, cancel, resume, look at, delete (SPEC-M4)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Annotated, Any, Final

import orjson
from fastapi import Query, Response
from fastapi.responses import StreamingResponse

from evenhand.domain.prompt import FieldError
from evenhand.domain.run import MOST_TAGS, NOT_A_LABEL, NOT_A_TAG, TAGS, RunRecord, is_label, is_tag
from evenhand.engine.budget import Limits
from evenhand.engine.job import Pace
from evenhand.server.api.bodies import Cursor, Key, Limit, ResumeBody, RunBody, RunChange, RunId, routes
from evenhand.server.api.progress_schemas import EstimateShape, ProgressShape
from evenhand.server.api.schemas import Page, RunDetail, RunShape
from evenhand.server.dependencies import RunManagerDep, SettingsDep, StoreDep, SummaryCacheDep
from evenhand.server.problems import Problem
from evenhand.server.runs.baseline import of_prompt, pin, unpin
from evenhand.server.runs.manager import RunManager
from evenhand.server.runs.progress import with_actual_status
from evenhand.server.runs.results import cursor_offset, offset_cursor
from evenhand.server.runs.views import run_as_planned, run_detail, run_listed
from evenhand.store.transfer import export_lines

router = routes("runs")

EVENTS: Final = "text/event-stream"
LINES: Final = "application/jsonl"


def _stream(media: str, about: str, **item: Any) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {media: {"schema": {"type": "object", **item}}}, "description": about}}


_EVENT: Final = {"event": {"enum": ["progress", "end"]}, "data": {"type": "string", "description": "Progress as JSON."}}


@router.get("/runs", response_model=Page[RunShape], response_model_exclude_unset=True)
def list_runs(
    store: StoreDep,
    summaries: SummaryCacheDep,
    *,
    limit: Limit = 50,
    cursor: Cursor = None,
    prompt: Annotated[str | None, Query(max_length=300, description="Only runs of this prompt, by id or name.")] = None,
    tag: Annotated[
        list[str] | None, Query(max_length=MOST_TAGS, description="Only runs that have all of these tags.")
    ] = None,
) -> Any:
    """List the runs, the newest first. ``summary`` is null for a large run that nobody has opened yet."""
    first = cursor_offset(cursor)
    if prompt is None and not tag:
        runs = store.runs.newest(first + limit)
        total = store.runs.total()
    else:
        prompt_id = None if prompt is None else store.prompts.find(prompt).id
        among = store.runs.with_option(TAGS) if tag else store.runs.newest()
        runs = [run for run in among if prompt_id in (None, of_prompt(run)) and set(tag or ()) <= set(run.tags)]
        total = len(runs)
    return {
        "items": [run_listed(store, run, summaries) for run in runs[first : first + limit]],
        "total": total,
        "next": offset_cursor(first + limit) if first + limit < total else None,
    }


@router.post("/runs", response_model=RunDetail, status_code=201, response_model_exclude_unset=True)
async def create_run(
    body: RunBody,
    *,
    store: StoreDep,
    settings: SettingsDep,
    manager: RunManagerDep,
    response: Response,
    key: Key = None,
) -> Any:
    """Start a run. With an ``Idempotency-Key``, sending the same body again returns the same run."""
    request = body.run_request
    run, is_new = await manager.start(
        lambda: request.job(store, settings), request.scope, request.pace, key=key, asked=["run", body.model_dump()]
    )
    response.headers["location"] = f"/api/runs/{run.id}"
    response.headers["idempotency-replayed"] = "false" if is_new else "true"
    return await asyncio.to_thread(run_as_planned, store, run)


@router.post("/runs/estimate", response_model=EstimateShape)
def estimate_run(body: RunBody, store: StoreDep, settings: SettingsDep) -> Any:
    """Estimate the calls, tokens and dollars of a run; no model is called, no key needed, nothing stored."""
    request = body.run_request
    return request.estimate(store, request.job(store, settings, to_ask=False)).as_dict()


@router.get("/runs/{run}", response_model=RunDetail, response_model_exclude_unset=True)
def get_run(run: RunId, store: StoreDep, settings: SettingsDep, summaries: SummaryCacheDep) -> Any:
    """Return a run with its summary; for a very large run that is null until it is computed, so try again."""
    return run_detail(store, store.runs.find(run), summaries, settings.page_wait_seconds)


@router.patch("/runs/{run}", response_model=RunDetail, response_model_exclude_unset=True)
def change_run(run: RunId, body: RunChange, store: StoreDep, settings: SettingsDep, summaries: SummaryCacheDep) -> Any:
    """Change the label or the tags of a run, also while it is in progress; what is left out stays as it is."""
    sent, label, tags = body.model_fields_set, (body.label or "").strip(), body.tags or []
    if not sent:
        raise FieldError("label", "there is nothing to change; send a label, or tags")
    if label and not is_label(label):
        raise FieldError("label", NOT_A_LABEL)
    if not all(map(is_tag, tags)):
        raise FieldError("tags", NOT_A_TAG)
    changed = store.runs.find(run)
    if "label" in sent:
        changed = store.runs.set_label(changed, label)
    if "tags" in sent:
        changed = store.runs.change_tags(changed, add=tags, remove=None)
    return run_detail(store, changed, summaries, settings.page_wait_seconds)


@router.delete("/runs/{run}", status_code=204)
def delete_run(run: RunId, store: StoreDep) -> None:
    """Delete a run with everything in it; 409 while it is in progress, or a provider works on its batches."""
    store.runs.delete(store.runs.find(run))


@router.get("/runs/{run}/progress", response_model=ProgressShape)
def get_progress(run: RunId, store: StoreDep, manager: RunManagerDep) -> Any:
    """Return the progress of a run."""
    return _progress(manager, store.runs.find(run))


@router.get(
    "/runs/{run}/events",
    response_class=StreamingResponse,
    responses=_stream(EVENTS, "Live progress.", properties=_EVENT),
)
async def watch_run(run: RunId, store: StoreDep, manager: RunManagerDep) -> StreamingResponse:
    """Watch a run: server-sent events named ``progress``, at most two a second, and ``end`` when the run has ended.

    If there are too many streams already, this returns 503; poll the progress instead.
    """
    record = await asyncio.to_thread(store.runs.find, run)
    if manager.is_crowded:
        wait = {"retry-after": "30"}
        raise Problem(503, "Too many event streams", f"poll /api/runs/{record.id}/progress instead", headers=wait)
    at_once = {"x-accel-buffering": "no"}  # a proxy would gather what is meant to be seen
    return StreamingResponse(_events(manager, record), media_type=EVENTS, headers=at_once)


@router.post("/runs/{run}/cancel", response_model=ProgressShape, status_code=202)
async def cancel_run(run: RunId, manager: RunManagerDep) -> Any:
    """Cancel a run: evaluations in flight may finish, nothing new starts, and the run can be resumed."""
    record = await manager.cancel(run)
    return await asyncio.to_thread(_progress, manager, record)


@router.post("/runs/{run}/resume", response_model=RunDetail, status_code=202, response_model_exclude_unset=True)
async def resume_run(run: RunId, store: StoreDep, manager: RunManagerDep, body: ResumeBody | None = None) -> Any:
    """Resume a run: only what is missing is done."""
    record = await manager.resume(run, _pace_change(body))
    return await asyncio.to_thread(run_as_planned, store, record)


@router.put("/runs/{run}/baseline", response_model=RunDetail, response_model_exclude_unset=True)
def pin_run(
    run: RunId,
    store: StoreDep,
    settings: SettingsDep,
    summaries: SummaryCacheDep,
    *,
    anyway: Annotated[bool, Query(description="Pin it even if nothing was scored in it.")] = False,
) -> Any:
    """Make a run the baseline of its suite or prompt, in place of any other.

    A run in which every case ended in an error is refused unless `anyway` is set.
    """
    pinned = pin(store, store.runs.find(run), anyway=anyway)
    return run_detail(store, pinned, summaries, settings.page_wait_seconds)


@router.delete("/runs/{run}/baseline", status_code=204)
def unpin_run(run: RunId, store: StoreDep) -> None:
    """Stop using a run as the baseline."""
    unpin(store, store.runs.find(run))


@router.get("/runs/{run}/export", response_class=StreamingResponse, responses=_stream(LINES, "The run, line by line."))
def export_run(run: RunId, store: StoreDep) -> StreamingResponse:
    """Return a run as JSON lines, which ``evenhand import`` reads."""
    record = with_actual_status(store, store.runs.find(run))
    lines = export_lines(store, record)
    first = next(lines)  # what cannot be exported is refused before anything is sent
    name = {"content-disposition": f'attachment; filename="{record.id}.jsonl"'}
    return StreamingResponse(itertools.chain([first], lines), media_type=LINES, headers=name)


def _progress(manager: RunManager, run: RunRecord) -> dict[str, Any]:
    progress = manager.progress(run.id)
    assert progress is not None  # noqa: S101 - it was found just now
    return progress


async def _events(manager: RunManager, run: RunRecord) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    last: dict[str, Any] | None = None
    async for progress in manager.watch(run.id):
        last = progress
        yield b"event: progress\ndata: " + orjson.dumps(progress) + b"\n\n"
    if last is not None and last["status"] not in ("running", "planning"):
        yield b"event: end\ndata: " + orjson.dumps(last) + b"\n\n"


def _pace_change(body: ResumeBody | None) -> Callable[[Pace], Pace]:
    """Return how the request changes the pace at which a run is resumed."""
    options = ResumeBody() if body is None else body
    limits = Limits(max_calls=options.max_calls, max_cost=options.max_cost)

    def change(usual: Pace) -> Pace:
        usual = usual.one_by_one if options.batch is False else usual
        return replace(
            usual,
            concurrency=options.concurrency or usual.concurrency,
            slow_start=options.concurrency is None and usual.slow_start,
            limits=limits,
            retry_errors=options.retry_errors,
            batch=usual.batch or options.batch is True,
            outage_timeout=usual.outage_timeout if options.outage_timeout is None else options.outage_timeout,
            max_consecutive_errors=(
                usual.max_consecutive_errors
                if options.max_consecutive_errors is None
                else options.max_consecutive_errors
            ),
        )

    return change
