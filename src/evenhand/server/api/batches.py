"""The batches of a run over HTTP: look at them, and cancel them."""

from __future__ import annotations

import asyncio
from typing import Any

from evenhand.server.api.bodies import RunId, routes
from evenhand.server.api.progress_schemas import BatchShape
from evenhand.server.api.schemas import Page
from evenhand.server.dependencies import RunManagerDep, StoreDep
from evenhand.server.runs.batches import batch_row, cancel

router = routes("runs")


@router.get("/runs/{run}/batches", response_model=Page[BatchShape], response_model_exclude_unset=True)
def list_batches(run: RunId, store: StoreDep) -> Any:
    """List the batches of a run, the first one first; those that are not over are pending."""
    rows = [batch_row(batch) for batch in store.provider_batches.of(store.runs.find(run))]
    return {"items": rows, "total": len(rows), "next": None}


@router.post("/runs/{run}/batches/cancel", response_model=Page[BatchShape], response_model_exclude_unset=True)
async def cancel_batches(run: RunId, store: StoreDep, manager: RunManagerDep) -> Any:
    """Cancel the pending batches of a run, which stops it if it is in progress.

    What was answered by then is paid for, and used when the run is resumed; the rest is not asked until then.
    """
    record = await asyncio.to_thread(store.runs.find, run)
    cancelled = {each.batch.key: each.error for each in await cancel(store, manager, record)}
    batches = await asyncio.to_thread(store.provider_batches.of, record)
    rows = [batch_row(batch) | {"error": cancelled[batch.key]} for batch in batches if batch.key in cancelled]
    return {"items": rows, "total": len(rows), "next": None}
