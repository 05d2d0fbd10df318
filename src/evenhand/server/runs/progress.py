"""The progress of a run in plain JSON values: from the run itself, or counted in the store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.run import Progress
from evenhand.server.runs.summaries import SummaryCache
from evenhand.store.results import count_standings
from evenhand.store.store import Store

AT_WORK = (RunStatus.PLANNING, RunStatus.RUNNING)
_LEFT = "the process that ran it is gone; it can be resumed"
_UNPLANNED = "its process ended while it was being planned; delete it and start it again"
_UNPLANNED_SUITE = "its process ended while it was being planned; continue with: evenhand resume {}"
_EFFORT = ("retries", "calls", "cached", "cost")
_ONLY_LIVE = ("rate", "eta", "errors", "not_evaluated", "passed", "borderline", "failed", *_EFFORT)


def live_progress(run: RunRecord, progress: Progress) -> dict[str, Any]:
    """Return the progress of a run in this process.

    Counts other than ``done`` and ``total`` are those of this process, not from before the run was resumed.
    """
    at_work = run.status in AT_WORK
    left = progress.seconds_left if at_work else None
    return {
        "run": run.id,
        "status": run.status.value,
        "reason": run.reason,
        "done": progress.done,
        "total": progress.total or run.cases * run.repeat,
        "rate": round(progress.rate, 3) if at_work else 0.0,
        "eta": (None if left is None else round(left, 1)) if at_work else 0.0,
        "errors": progress.errors,
        "not_evaluated": progress.not_evaluated,
        "passed": progress.passed,
        "borderline": progress.borderline,
        "failed": progress.failed,
        "retries": progress.retries,
        "calls": progress.calls,
        "cached": progress.cached,
        "cost": progress.cost,
        "paused": (progress.paused or "") if at_work else "",
        "waiting": False,
        "stopping": False,
        "here": at_work,
    }


def progress_in(store: Store, run: RunRecord, summaries: SummaryCache, seconds: float) -> dict[str, Any]:
    """Return the progress of a run that is not in this process.

    What only the process that runs it knows is null. If a run has ended, its outcome is counted; for a very large run,
    what takes long to count is null at first.
    """
    run = with_actual_status(store, run)
    total, done = store.extent(run)
    counted = {"run": run.id, "status": run.status.value, "reason": run.reason, "done": done, "total": total}
    more = dict.fromkeys(_ONLY_LIVE) if run.status in AT_WORK else _outcome(store, run, summaries, seconds)
    return counted | more | {"paused": "", "waiting": False, "stopping": False, "here": False}


def _outcome(store: Store, run: RunRecord, summaries: SummaryCache, seconds: float) -> dict[str, Any]:
    standings = count_standings(store, run)
    try:
        summary = summaries.of(store, run, seconds).summary
    except TimeoutError:  # it is counted all the same, for who asks again
        effort: dict[str, Any] = dict.fromkeys(_EFFORT)
    else:
        effort = {name: getattr(summary, name) for name in _EFFORT}
    return effort | {
        "rate": 0.0,
        "eta": 0.0,
        "errors": standings["error"],
        "not_evaluated": standings["not_evaluated"],
        "passed": standings["pass"],
        "borderline": standings["borderline"],
        "failed": standings["fail"],
    }


def with_actual_status(store: Store, run: RunRecord) -> RunRecord:
    """Return a run as interrupted if its process is gone without having marked it."""
    if run.status not in AT_WORK or store.runs.in_hand(run):
        return run
    reason = _LEFT
    if run.status is RunStatus.PLANNING:
        reason = _UNPLANNED if run.source is None else _UNPLANNED_SUITE.format(run.id)
    return replace(run, status=RunStatus.INTERRUPTED, reason=reason)
