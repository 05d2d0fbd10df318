"""The progress of a run in plain JSON values: from the run itself, or counted in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.run import Progress
from evenhand.reports.safe_text import plain
from evenhand.server.runs.summaries import SummaryCache
from evenhand.store.batches import StoredBatch
from evenhand.store.results import count_standings, last_error
from evenhand.store.store import Store

AT_WORK = (RunStatus.PLANNING, RunStatus.RUNNING)
_LEFT = "the process that ran it is gone; it can be resumed"
_UNPLANNED = "its process ended while it was being planned; delete it and start it again"
_UNPLANNED_SUITE = "its process ended while it was being planned; continue with: evenhand resume {}"
_EFFORT = ("retries", "calls", "cached", "cost")
_ONLY_LIVE = ("rate", "eta", *_EFFORT)
LONGEST_ERROR = 300


def _waiting_for(pending: Sequence[StoredBatch], saving: float | None = None) -> dict[str, Any] | None:
    """Return what is waited for of providers, and since when; None where nothing is."""
    if not pending:
        return None
    return {
        "pending": len(pending),
        "requests": sum(batch.requests for batch in pending),
        "since": datetime.fromtimestamp(min(batch.created for batch in pending), UTC).isoformat(timespec="seconds"),
        "saving": saving,
    }


def live_progress(run: RunRecord, progress: Progress, before: Mapping[str, int]) -> dict[str, Any]:
    """Return the progress of a run in this process; ``before`` are the verdicts that it had when it was resumed.

    Retries, calls and cost are those of this process, not from before the run was resumed.
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
        **_verdicts(progress, before),
        "latest_error": plain(progress.latest_error or "", LONGEST_ERROR),
        "retries": progress.retries,
        "calls": progress.calls,
        "cached": progress.cached,
        "cost": progress.cost,
        "expected_cost": progress.forecast.as_dict() if progress.forecast is not None and at_work else None,
        "paused": (progress.paused or "") if at_work else "",
        "batches": _waiting_for(progress.batches, progress.batch_saving),
        "waiting": False,
        "stopping": False,
        "here": at_work,
    }


def _verdicts(progress: Progress, before: Mapping[str, int]) -> dict[str, int]:
    """Add what was judged here to what was judged before; errors that were judged again count once."""
    counts = {
        "errors": progress.errors + before.get("error", 0),
        "not_evaluated": progress.not_evaluated + before.get("not_evaluated", 0),
        "passed": progress.passed + before.get("pass", 0),
        "borderline": progress.borderline + before.get("borderline", 0),
        "failed": progress.failed + before.get("fail", 0),
    }
    judged_again = sum(counts.values()) - progress.done
    return counts | {"errors": max(counts["errors"] - max(judged_again, 0), 0)}


def progress_in(store: Store, run: RunRecord, summaries: SummaryCache, seconds: float) -> dict[str, Any]:
    """Return the progress of a run that is not in this process.

    What only the process that runs it knows is null. If a run has ended, its effort is counted; for a very large run,
    what takes long to count is null at first.
    """
    run = with_actual_status(store, run)
    total, done = store.extent(run)
    standings = count_standings(store, run)
    more = dict.fromkeys(_ONLY_LIVE) if run.status in AT_WORK else _effort(store, run, summaries, seconds)
    return more | {
        "run": run.id,
        "status": run.status.value,
        "reason": run.reason,
        "done": done,
        "total": total,
        "errors": standings["error"],
        "not_evaluated": standings["not_evaluated"],
        "passed": standings["pass"],
        "borderline": standings["borderline"],
        "failed": standings["fail"],
        "latest_error": plain(last_error(store, run), LONGEST_ERROR) if standings["error"] else "",
        "expected_cost": None,
        "paused": "",
        "batches": _waiting_for(store.provider_batches.of(run, pending=True)),
        "waiting": False,
        "stopping": False,
        "here": False,
    }


def _effort(store: Store, run: RunRecord, summaries: SummaryCache, seconds: float) -> dict[str, Any]:
    try:
        summary = summaries.of(store, run, seconds).summary
    except TimeoutError:  # it is counted all the same, for who asks again
        effort: dict[str, Any] = dict.fromkeys(_EFFORT)
    else:
        effort = {name: getattr(summary, name) for name in _EFFORT}
    return effort | {"rate": 0.0, "eta": 0.0}


def with_actual_status(store: Store, run: RunRecord) -> RunRecord:
    """Return a run as interrupted if its process is gone without having marked it."""
    if run.status not in AT_WORK or store.runs.in_hand(run):
        return run
    reason = _LEFT
    if run.status is RunStatus.PLANNING:
        reason = _UNPLANNED if run.source is None else _UNPLANNED_SUITE.format(run.id)
    return replace(run, status=RunStatus.INTERRUPTED, reason=reason)
