"""`evenhand runs cancel-batches`: end what providers are still working on for a run."""

from __future__ import annotations

import asyncio

from evenhand.cli.console import Console, confirm
from evenhand.cli.options import DB, Db, RunId, Yes
from evenhand.cli.runs.overrides import Overrides
from evenhand.cli.runs.resume import is_of_program, job_to_resume
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode
from evenhand.engine.batch_cancellation import cancel_batches as cancel
from evenhand.engine.store_location import StoreLocation
from evenhand.reports.phrases import counted
from evenhand.reports.safe_text import plain


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
        job = None if is_of_program(record) else job_to_resume(store, record, Overrides.of(record), console)
        code = ExitCode.OK
        for each in asyncio.run(cancel(store, record, job)):
            if each.error:
                code = ExitCode.ERROR
                console.error(plain(each.words, None))
            else:
                console.note(plain(each.words, None))
        return code
