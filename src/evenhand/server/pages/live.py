"""What pages of runs in progress listen to: one stream for a page, however many runs it shows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import orjson
from fastapi import Request
from fastapi.responses import Response, StreamingResponse

from evenhand.domain.errors import EvenhandError
from evenhand.server.dependencies import LiveRunsDep, RunManagerDep
from evenhand.server.pages import run_view
from evenhand.server.pages.base import page_routes
from evenhand.server.problems import Problem
from evenhand.server.runs.live_runs import LiveRuns, LiveState, only

router = page_routes()

EVENTS: Final = "text/event-stream"


@router.get("/live")
async def watch(request: Request, live_runs: LiveRunsDep, manager: RunManagerDep, run: str | None = None) -> Response:
    """Return the runs in progress, or one of them: as events to who asks for events, to others once, as JSON."""
    if EVENTS not in request.headers.get("accept", ""):
        return Response(_data(only(await live_runs.now(), run)), media_type="application/json")
    if manager.is_crowded:
        why = "ask for the same address without event-stream, every few seconds"
        raise Problem(503, "Too many event streams", why, headers={"retry-after": "30"})
    at_once = {"x-accel-buffering": "no"}  # a proxy would gather what is meant to be seen
    return StreamingResponse(events(live_runs, run), media_type=EVENTS, headers=at_once)


async def events(live_runs: LiveRuns, run: str | None) -> AsyncIterator[bytes]:
    """Yield the events of a stream. If the store cannot be read, the last one says why, and the browser tries again."""
    yield b"retry: 2000\n\n"
    try:
        async for found in live_runs.watch(run):
            yield b"event: runs\ndata: " + _data(found) + b"\n\n"
    except EvenhandError as error:
        yield b"event: trouble\ndata: " + orjson.dumps(str(error)) + b"\n\n"


def _data(found: LiveState) -> bytes:
    return orjson.dumps(
        {"state": found.state, "runs": {name: run_view.live(progress) for name, progress in found.runs.items()}}
    )
