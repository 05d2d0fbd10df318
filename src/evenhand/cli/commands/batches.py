"""`evenhand runs cancel-batches`: end what providers are still working on for a run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from evenhand.cli.console import Console, confirm
from evenhand.cli.options import DB, Db, RunId, Yes
from evenhand.cli.runs.overrides import Overrides
from evenhand.cli.runs.resume import suite_job
from evenhand.domain.ask import ModelClient
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode
from evenhand.domain.run import RunRecord
from evenhand.engine.batch_submission import BatchAtProvider
from evenhand.engine.batchable import models_of
from evenhand.engine.store_location import StoreLocation
from evenhand.models.batches.catalogue import batch_protocol_of
from evenhand.models.retry import TransportFault
from evenhand.reports.phrases import counted
from evenhand.reports.safe_text import plain
from evenhand.store.batches import StoredBatch
from evenhand.store.store import Store


def cancel_batches(run: RunId, *, yes: Yes = False, db: Db = DB) -> ExitCode:
    """Cancel the batches of a run that are pending.

    What was answered by then is paid for, and kept when the run is resumed; the rest is not asked until then.
    """
    console = Console()
    with StoreLocation(db).opened(to_read=True) as store:
        record = store.runs.find(run)
        store.require_writable()
        if store.runs.in_hand(record):
            raise ConfigError(f"run {record.id} is being worked on; interrupt it first, with Ctrl-C")
        pending = store.provider_batches.of(record, pending=True)
        if not pending:
            console.note(f"run {record.id} has no pending batches")
            return ExitCode.OK
        if not yes:
            confirm(console, f"Cancel {counted(len(pending), 'batch', 'batches')} of run {record.id}?")
        models = _models(store, record, {batch.model for batch in pending}, console)
        return asyncio.run(_cancel(pending, models, console))


def _models(store: Store, run: RunRecord, names: set[str], console: Console) -> dict[str, ModelClient]:
    """Return the models of a run that batches are pending for, by name."""
    job = suite_job(store, run, Overrides.of(run), console)
    found: dict[str, ModelClient] = {}
    for page in store.planned(run):
        for client in models_of(job, page):
            if client.name in names:
                found.setdefault(client.name, client)
        if len(found) == len(names):
            break
    if missing := sorted(names - found.keys()):
        raise ConfigError(
            f"run {run.id} has batches of {', '.join(missing)}, which nothing in it asks; cancel them there"
        )
    return found


async def _cancel(pending: Sequence[StoredBatch], models: dict[str, ModelClient], console: Console) -> ExitCode:
    code = ExitCode.OK
    for batch in pending:
        provider = BatchAtProvider(*batch_protocol_of(models[batch.model]))
        try:
            identity = batch.id or await provider.find(batch.key, since=batch.created, requests=batch.requests)
            if identity is None:
                console.note(f"batch {batch.key} was never submitted")
                continue
            await provider.cancel(identity)
            console.note(f"cancelled batch {plain(identity)}: {batch.requests:,} requests to {batch.model}")
        except TransportFault as fault:
            console.error(f"batch {plain(batch.id or batch.key)} could not be cancelled: {plain(str(fault), None)}")
            code = ExitCode.ERROR
    return code
