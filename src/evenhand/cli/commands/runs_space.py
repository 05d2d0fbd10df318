"""`evenhand runs prune` and `evenhand runs vacuum`: delete old runs, and return the space they took to the disk."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from evenhand.cli.console import Console, confirm
from evenhand.cli.options import DB, Db, DryRun, Yes
from evenhand.domain.errors import ConfigError, RunBusyError
from evenhand.domain.run import RunRecord
from evenhand.engine.store_location import StoreLocation, db_option
from evenhand.reports.phrases import counted, moment_text
from evenhand.reports.safe_text import plain
from evenhand.store.store import Store
from evenhand.store.transfer import BASELINE

_DAY_SECONDS: Final = 86_400
_MEGABYTE: Final = 1_000_000


def prune_runs(
    *,
    keep: Annotated[
        int | None, typer.Option("--keep", metavar="N", min=0, help="Keep the newest N runs of each suite or prompt.")
    ] = None,
    older_than: Annotated[
        float | None, typer.Option("--older-than", metavar="DAYS", min=0, help="Delete only runs older than this.")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    db: Db = DB,
) -> None:
    """Delete old runs and report the space freed.

    Baselines and runs in progress, with tags, a label or pending batches are kept.
    """
    if keep is None and older_than is None:
        raise ConfigError("nothing says which runs are old; give --keep N, --older-than DAYS, or both")
    console = Console()
    with StoreLocation(db).opened(to_read=True) as store:
        old, kept = _old_runs(store, keep or 0, older_than or 0.0)
        for why, count in sorted(kept.items()):
            console.note(f"kept {counted(count, 'old run')} {why}")
        for run in old:
            console.result(f"{run.id}  {moment_text(run.created)}  {run.cases:>9,} cases  {plain(run.name)}")
        if not old or dry_run:
            console.note(f"{counted(len(old), 'run')} would be deleted" if old else "there is nothing to delete")
            return
        store.require_writable()
        if not yes:
            confirm(
                console, f"Delete {counted(len(old), 'run')} and everything in {'it' if len(old) == 1 else 'them'}?"
            )
        before = store.space()
        for run in old:
            store.runs.delete(run)
        after = store.space()
        vacuum = f"evenhand runs vacuum{db_option(store.address) or ''}"
        deleted = f"deleted {counted(len(old), 'run')} with {counted(sum(run.cases for run in old), 'case')}"
    if before.free is None or after.free is None:
        console.note(f"{deleted}; their space is reused, and {vacuum} returns it to the disk")
        return
    freed = f"{_megabytes(after.free - before.free)} are free for new runs ({_megabytes(after.free)} in all)"
    console.note(f"{deleted}: {freed}; {vacuum} returns them to the disk")


def vacuum_runs(*, db: Db = DB) -> None:
    """Return the space of deleted runs to the disk, and say how much. Nothing else can use the database meanwhile."""
    with StoreLocation(db).opened(to_read=True) as store:
        store.require_writable()
        if busy := next((run for run in store.runs.in_progress() if store.runs.in_hand(run)), None):
            raise RunBusyError(f"run {busy.id} is in progress; wait until it has ended, or stop it first")
        before = store.space().taken
        store.vacuum()
        after = store.space().taken
        sizes = f"{_megabytes(before)} before, {_megabytes(after)} now"
        Console().note(f"{plain(store.where)}: {sizes}; {_megabytes(before - after)} freed")


def _old_runs(store: Store, keep: int, days: float) -> tuple[list[RunRecord], Counter[str]]:
    """Return the runs to delete, the newest first, and how many others are as old and kept, by the reason why."""
    latest = time.time() - days * _DAY_SECONDS
    newer: Counter[tuple[str, str]] = Counter()
    old: list[RunRecord] = []
    kept: Counter[str] = Counter()
    for run in store.runs.newest():
        suite = (run.source or "", run.name)
        newer[suite] += 1
        if newer[suite] <= keep or run.created > latest:
            continue
        if why := _reason_to_keep(store, run):
            kept[why] += 1
        else:
            old.append(run)
    return old, kept


def _reason_to_keep(store: Store, run: RunRecord) -> str | None:
    reasons: Sequence[tuple[bool, str]] = (
        (store.runs.in_hand(run), "in progress"),
        (run.options.get(BASELINE) is True, "that others are compared with (baseline)"),
        (bool(run.tags), "with tags"),
        (bool(run.label), "with a label"),
        (bool(store.provider_batches.in_work(run)), "with pending batches"),
        (store.labels.state(run) is not None, "with labels by people"),
    )
    return next((why for holds, why in reasons if holds), None)


def _megabytes(size: int) -> str:
    return f"{max(size, 0) / _MEGABYTE:,.1f} MB"
