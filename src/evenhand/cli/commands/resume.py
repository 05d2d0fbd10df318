"""`evenhand resume [RUN]`: resume a run."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.options import Fork, Judge, RetryOptions, RunOrLast, Target
from evenhand.cli.runs.overrides import Overrides
from evenhand.cli.runs.resume import is_imported, require_trust, resume_run
from evenhand.cli.runs.session import open_session
from evenhand.domain.gates import ExitCode
from evenhand.domain.run import RunStatus
from evenhand.engine.store_location import StoreLocation


def resume(
    ctx: typer.Context,
    run: RunOrLast = "last",
    *,
    fork: Fork = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="Let an imported run run programs and use its own addresses.")
    ] = False,
    judge: Judge = None,
    target: Target = None,
    options: RetryOptions,
) -> ExitCode:
    """Resume a run and complete it.

    The result is that of a run that was never interrupted. If the suite has changed since, nothing is done and the
    changes are listed. With --fork they are accepted: a new run keeps what is still valid, and judges the rest again.

    The exit codes are those of `evenhand run`.
    """
    with open_session(ctx, options) as session, StoreLocation(options.db).opened(to_read=True) as store:
        record = store.runs.find(run)
        if record.status is RunStatus.FINISHED and not (fork or options.retry_errors):
            session.console.note(f"run {record.id} is finished; --retry-errors retries its errors")
            return session.end(store, record)
        store.require_writable()
        if is_imported(record) and not trust:
            require_trust(store, record)
        return resume_run(store, record, session, options, typed=Overrides.typed(ctx, judge, target), fork=fork)
