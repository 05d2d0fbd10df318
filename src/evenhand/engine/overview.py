"""The overview of a stored run: as it was kept, or worked out from the rows, and kept then."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from evenhand.domain.errors import StoreError
from evenhand.domain.gates import GateResult
from evenhand.domain.run import CaseResult, RunRecord, RunStatus
from evenhand.reports.overview import FORMAT, Overview, survey
from evenhand.reports.report import Report
from evenhand.store.rows import dumps, loads
from evenhand.store.runs import Summaries
from evenhand.store.store import Store


def overview_of(store: Store, run: RunRecord) -> Overview:
    """Return the overview of a run as it stands.

    It is kept with what it covers, which is looked at before the rows are read and again after: one that was worked
    out while rows were added, or before, is not shown. A run that somebody works on is counted and not kept.
    """
    kept = Summaries(store.database)
    coverage = kept.coverage(run)
    if (found := _kept(kept, run, coverage)) is not None:
        return found
    overview = survey(store.results(run))
    if not _is_at_work(store, run) and kept.coverage(run) == coverage:
        kept.keep(run, coverage, dumps(overview.as_dict()), format=FORMAT)
    return overview


def kept_overview(store: Store, run: RunRecord) -> Overview | None:
    """Return the overview of a run where it is known without reading the run."""
    kept = Summaries(store.database)
    return _kept(kept, run, kept.coverage(run))


def report_from(store: Store, run: RunRecord, overview: Overview, gates: tuple[GateResult, ...]) -> Report:
    """Return what the writers of reports need."""
    return Report(
        run=run,
        summary=overview.summary,
        gates=gates,
        results=lambda: store.results(run),
        overview=overview,
        at=functools.partial(results_at, store, run),
    )


def results_at(store: Store, run: RunRecord, positions: Sequence[int]) -> Iterator[CaseResult]:
    """Yield the cases of some positions, in that order; one that is not there is left out."""
    for position in positions:
        yield from store.results(run, first=position, last=position)


def _kept(kept: Summaries, run: RunRecord, coverage: str) -> Overview | None:
    content = kept.find(run, coverage, format=FORMAT)
    if content is None:
        return None
    try:
        return Overview.from_dict(loads(content))
    except (KeyError, TypeError, ValueError, AttributeError, StoreError):  # whole, and not what this version writes
        return None


def _is_at_work(store: Store, run: RunRecord) -> bool:
    """Tell whether rows may be added to a run at any moment: its cases, too, if it was never planned to the end."""
    return run.status is RunStatus.PLANNING or (run.status is RunStatus.RUNNING and store.runs.in_hand(run))
