"""Which runs are of the same suite or prompt, and which of these the others are held against: the baseline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from evenhand.domain.errors import ConflictError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.profiles.undertaken import is_ranking
from evenhand.store.store import Store
from evenhand.store.transfer import BASELINE
from evenhand.suites.judging import judging_differences
from evenhand.workspace.trial import PROMPT

# How far back one looks for the run before.
_NEAR: Final = 200


def of_prompt(run: RunRecord) -> str | None:
    """Give the id of the prompt that a run tried, if it is such a run."""
    known = run.definition.get(PROMPT)
    return str(known.get("id")) if isinstance(known, dict) else None


def lineage(run: RunRecord) -> tuple[str, str]:
    """Say what a run is a run of: a prompt, a suite's file, or what a program calls by its name."""
    if (prompt := of_prompt(run)) is not None:
        return "prompt", prompt
    return ("suite", run.source) if run.source is not None else ("program", run.name)


def is_baseline(run: RunRecord) -> bool:
    """Tell whether others are held against a run."""
    return run.options.get(BASELINE) is True


def baseline_of(store: Store, run: RunRecord) -> RunRecord | None:
    """Find the run that this one is held against; None where there is none, or it is that itself."""
    return next((one for one in _pinned(store, run) if one.id != run.id), None) if not is_baseline(run) else None


def pin(store: Store, run: RunRecord) -> RunRecord:
    """Hold later runs of the same suite or prompt against this one, and no longer against another."""
    if run.status is not RunStatus.FINISHED:
        raise ConflictError(f"run {run.id} is not finished ({run.status.value}), and no baseline for others")
    if is_ranking(run.definition):
        raise ConflictError(f"run {run.id} is a ranking, whose scores are not compared, and no baseline for others")
    with store.database.transaction():
        store.database.lock()
        for one in _pinned(store, run):
            _mark(store, one, is_pinned=False)
        _mark(store, store.runs.find(run.id), is_pinned=True)
    return store.runs.find(run.id)


def unpin(store: Store, run: RunRecord) -> None:
    """Hold no run against this one any more."""
    with store.database.transaction():
        store.database.lock()
        _mark(store, store.runs.find(run.id), is_pinned=False)


def run_before(store: Store, run: RunRecord) -> RunRecord | None:
    """Find the last finished run of the same suite or prompt before this one; scores of rankings are not compared."""
    if is_ranking(run.definition):
        return None
    near = store.runs.newest(_NEAR)
    earlier = (one for one in near if one.number < run.number and one.status is RunStatus.FINISHED)
    return next((one for one in earlier if lineage(one) == lineage(run)), None)


def newest_pair(newest_first: Iterable[RunRecord]) -> tuple[str, str] | None:
    """Find the two newest runs that can be compared, and give their ids: A, then the newer B."""
    seen: dict[tuple[str, str], list[RunRecord]] = {}
    for run in newest_first:
        if run.status is RunStatus.FINISHED and not is_ranking(run.definition):
            later = seen.setdefault(lineage(run), [])
            for one in later:
                if not judging_differences(run.definition, one.definition):
                    return run.id, one.id
            later.append(run)
    return None


def _pinned(store: Store, run: RunRecord) -> list[RunRecord]:
    # Whatever else has the word in its options is looked at, and left alone.
    rows = store.database.rows("SELECT id FROM runs WHERE options LIKE ? ORDER BY number DESC", [f'%"{BASELINE}"%'])
    found = [store.runs.find(identity) for (identity,) in rows]
    return [one for one in found if is_baseline(one) and lineage(one) == lineage(run)]


def _mark(store: Store, run: RunRecord, *, is_pinned: bool) -> None:
    options = {name: value for name, value in run.options.items() if name != BASELINE}
    options |= {BASELINE: True} if is_pinned else {}
    store.runs.set_options(run, options)
