"""Which run is meant by ``last`` where labels by people are given or used: the latest of a suite or a prompt."""

from __future__ import annotations

from typing import Final, NamedTuple

from evenhand.domain.run import RunRecord
from evenhand.domain.run_kind import is_doctor, is_tuning, mode_of
from evenhand.engine.run import Run
from evenhand.engine.store_location import PlaceLike, StoreLocation
from evenhand.store.store import Store
from evenhand.suites.drift import drift_of

LAST: Final = "last"


class RunToLabel(NamedTuple):
    """A run, and a sentence if it is not the newest one; else empty."""

    record: RunRecord
    note: str = ""


def run_to_label(store: Store, wanted: str) -> RunToLabel:
    """Find a run whose answers people label; ``last`` is the latest of a suite or a prompt.

    Where there is none of these, it is the last of all, and whoever wants it says why it will not do.
    """
    newest = store.runs.find(wanted)
    other = _other_kind(newest)
    if wanted != LAST or not other:
        return RunToLabel(newest)
    for run_id in store.runs.ids():
        record = store.runs.find(run_id)
        if not _other_kind(record):
            return RunToLabel(record, f"last is run {record.id}, {record.name}: {newest.id} is newer, but {other}")
    return RunToLabel(newest)


def opened_to_label(run: Run | str, store: PlaceLike) -> Run:
    """Open a run whose answers people label, if it is not open yet."""
    if not isinstance(run, str):
        return run
    place = StoreLocation.of(store)
    with place.opened(to_read=True) as there:
        return Run(run_to_label(there, run).record, place)


def _other_kind(run: RunRecord) -> str:
    """Say what a run does that judges no answers of a suite or a prompt; "" if it does judge them."""
    if is_doctor(run.definition):
        return "examines a judge"
    if is_tuning(run.definition):
        return "tunes a prompt"
    if mode_of(run.definition) is not None:
        return "is of profiles"
    return "" if drift_of(run) is None else "judges answers of another run again"
