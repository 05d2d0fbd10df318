"""Cancelling the batches of a run that providers still work on."""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from evenhand import registry
from evenhand.domain.ask import ModelClient
from evenhand.domain.errors import ConfigError, EvenhandError
from evenhand.domain.run import RunRecord
from evenhand.engine.batch_submission import BatchAtProvider
from evenhand.engine.batchable import ModelsAsked
from evenhand.engine.job import Job
from evenhand.models.batches.catalogue import batch_protocol_of
from evenhand.models.retry import TransportFault
from evenhand.reports.phrases import counted
from evenhand.store.batches import StoredBatch
from evenhand.store.store import Store


class Cancelled(NamedTuple):
    """What became of the wish to cancel a batch; ``id`` is None for one that the provider never had."""

    batch: StoredBatch
    id: str | None = None
    error: str = ""

    @property
    def words(self) -> str:
        """What happened, in a sentence."""
        name = self.id or self.batch.id or self.batch.key
        if self.error:
            return f"batch {name} could not be cancelled: {self.error}"
        if self.id is None:
            return f"batch {name} was never submitted"
        return f"cancelled batch {name}: {counted(self.batch.requests, 'request')} to {self.batch.model}"


async def cancel_batches(store: Store, run: RunRecord, job: Job | None) -> list[Cancelled]:
    """Ask the providers to end the pending batches of a run that nobody works on.

    What was answered by then is paid for, and used when the run is resumed; only then is the rest asked again. Without
    a ``job``, which only the program has that started the run, the models are those of the same names.
    """
    pending = await asyncio.to_thread(store.provider_batches.of, run, pending=True)
    models = await asyncio.to_thread(_models_of, store, run, job, {batch.model for batch in pending})
    return [await _cancel(store, batch, models[batch.model]) for batch in pending]


def _models_of(store: Store, run: RunRecord, job: Job | None, names: AbstractSet[str]) -> dict[str, ModelClient]:
    """Return the models of a run that batches are pending for, by name."""
    if job is None:
        return {name: registry.judge(name) for name in names}
    found: dict[str, ModelClient] = {}
    asked = ModelsAsked(job)
    for planned in (planned for page in store.planned(run) for planned in page):
        for client in asked.first_asked_for(planned):
            if client.name in names:
                found.setdefault(client.name, client)
        if len(found) == len(names):
            return found
    missing = ", ".join(sorted(names - found.keys()))
    raise ConfigError(f"run {run.id} has batches of {missing}, which nothing in it asks; cancel them there")


async def _cancel(store: Store, batch: StoredBatch, model: ModelClient) -> Cancelled:
    provider = BatchAtProvider(*batch_protocol_of(model))
    try:
        identity = batch.id or await provider.find(batch.key, since=batch.created, requests=batch.requests)
        if identity is None:
            await asyncio.to_thread(store.provider_batches.drop, batch.key)
            return Cancelled(batch)
        await provider.cancel(identity)
    except (TransportFault, EvenhandError) as error:
        return Cancelled(batch, error=str(error))
    await asyncio.to_thread(store.provider_batches.cancelled, batch.key, identity)
    return Cancelled(batch, identity)
