"""How a run gets on, in plain JSON values: from the run itself, or counted in the store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.progress import Progress
from evenhand.store.store import Store

AT_WORK = (RunStatus.PLANNING, RunStatus.RUNNING)
_LEFT = "the process that worked on it is gone; it can be resumed"
_ONLY_LIVE = (
    "rate", "eta", "errors", "not_evaluated", "passed", "borderline", "failed", "retries", "calls", "cached", "cost",
)  # fmt: skip


def live_progress(run: RunRecord, progress: Progress) -> dict[str, Any]:
    """Tell how a run gets on that this process works on.

    What it counts beside ``done`` and ``total`` is of this process: not what was done before the run was resumed.
    """
    at_work = run.status in AT_WORK
    left = progress.seconds_left if at_work else None
    return {
        "run": run.id,
        "status": run.status.value,
        "reason": run.reason,
        "done": progress.done,
        "total": progress.total or run.cases * run.repeat,
        "rate": round(progress.rate, 3),
        "eta": None if left is None else round(left, 1),
        "errors": progress.errors,
        "not_evaluated": progress.not_evaluated,
        "passed": progress.passed,
        "borderline": progress.borderline,
        "failed": progress.failed,
        "retries": progress.retries,
        "calls": progress.calls,
        "cached": progress.cached,
        "cost": progress.cost,
        "waiting": False,
        "stopping": False,
        "here": at_work,
    }


def progress_in(store: Store, run: RunRecord) -> dict[str, Any]:
    """Tell how far a run has come that this process does not work on; what only its process knows is null."""
    run = as_it_is(store, run)
    total, done = store.extent(run)
    known = {"run": run.id, "status": run.status.value, "reason": run.reason, "done": done, "total": total}
    return known | dict.fromkeys(_ONLY_LIVE) | {"waiting": False, "stopping": False, "here": False}


def as_it_is(store: Store, run: RunRecord) -> RunRecord:
    """Give a run whose process is gone as interrupted, which it is, though nobody was left to say so."""
    if run.status in AT_WORK and not store.runs.in_hand(run):
        return replace(run, status=RunStatus.INTERRUPTED, reason=_LEFT)
    return run
