"""Taking up a stored run in the server: what may be resumed here, and with what pace (REL-D4, SPEC-O2)."""

from __future__ import annotations

from collections.abc import Callable

from evenhand.domain.errors import ConfigError, ConflictError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.job import DEFAULT_CONCURRENCY, Job, Pace
from evenhand.profiles.undertaken import going_on, mode_of
from evenhand.store.store import Store
from evenhand.store.transfer import IMPORTED
from evenhand.suites.job import job_of_run
from evenhand.workspace.trial import is_trial

NO_CACHE = "no_cache"


def taken_up(store: Store, run: RunRecord, change: Callable[[Pace], Pace]) -> tuple[RunRecord, Job, Pace]:
    """Claim a run and make its job from what it stored, or say why it cannot go on here."""
    pace = change(
        Pace(
            concurrency=run.definition.get("concurrency") or DEFAULT_CONCURRENCY,
            use_cache=run.options.get(NO_CACHE) is not True,
        )
    )
    if run.status is RunStatus.FINISHED and not pace.retry_errors:
        raise ConflictError(f"run {run.id} is finished; with retry_errors its errors are done again")
    if run.options.get(IMPORTED):
        raise ConfigError(f"run {run.id} was imported; look at what it would use with: evenhand resume {run.id}")
    if run.status is RunStatus.PLANNING:
        raise ConfigError(f"the cases of run {run.id} were never all read; delete it, and start it again")
    if run.source is None and not (is_trial(run.definition) or mode_of(run.definition)):
        raise ConfigError(f"run {run.id} was started by a program, and only that can go on with it; run it again")
    job = going_on(job_of_run(store, run))
    store.runs.claim(run)
    return store.runs.mark(run, RunStatus.RUNNING), job, pace
