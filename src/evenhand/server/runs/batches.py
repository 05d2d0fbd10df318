"""The batches of a run: what is shown of them, and how they are cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from evenhand.domain.errors import ConfigError, ConflictError
from evenhand.domain.run import RunRecord
from evenhand.engine.batch_cancellation import Cancelled, cancel_batches
from evenhand.engine.store_location import run_command
from evenhand.models.resolve import provider_of
from evenhand.server.runs.manager import RunManager
from evenhand.server.runs.requests import job_to_resume
from evenhand.store.batches import StoredBatch
from evenhand.store.store import Store


def batch_row(batch: StoredBatch) -> dict[str, Any]:
    """Return a batch as plain JSON values."""
    return {
        "id": batch.id,
        "key": batch.key,
        "provider": provider_of(batch.model),
        "model": batch.model,
        "state": batch.state,
        "requests": batch.requests,
        "submitted": datetime.fromtimestamp(batch.created, UTC).isoformat(timespec="seconds"),
    }


async def cancel(store: Store, manager: RunManager, run: RunRecord) -> list[Cancelled]:
    """Cancel the pending batches of a run; one in progress here is stopped first: it would only ask again."""
    if not await asyncio.to_thread(store.provider_batches.of, run, pending=True):
        raise ConflictError(f"run {run.id} has no pending batches, so there is nothing to cancel")
    try:
        job = await asyncio.to_thread(job_to_resume, store, run)
    except ConfigError as error:
        cancelling = run_command("runs cancel-batches", run.id, store.address)
        raise ConfigError(f"{error}; to cancel its batches: {cancelling}") from None
    await manager.stopped(run)
    return await cancel_batches(store, run, job)


def require_cancelled(cancelled: Sequence[Cancelled]) -> None:
    """Raise an error that says which batches could not be cancelled, if any."""
    if failed := [each.words for each in cancelled if each.error]:
        raise ConflictError("; ".join(failed))
