"""Cases of a comparison, each titled by its question: all of a cell of the table, and those of a run's targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evenhand.domain.comparison import Comparison
from evenhand.domain.run import RunRecord
from evenhand.engine.comparison import Side, cases_of_cells
from evenhand.reports.html.case_sides import CaseSide, CaseSidesView
from evenhand.server.runs.baseline import MOST_CHANGES, ChangeFilter
from evenhand.server.runs.summaries import SummaryCache
from evenhand.store.results import case_ids
from evenhand.store.store import Store

# Among how many targets those of the first are looked for.
MOST_TARGETS: Final = 20


def sides_of(store: Store, comparison: Comparison) -> tuple[Side, Side]:
    """Return both runs, with what is compared of each."""
    return (
        Side(store=store, run=comparison.a, model=comparison.model_a),
        Side(store=store, run=comparison.b, model=comparison.model_b),
    )


def cell_cases(
    store: Store, summaries: SummaryCache, comparison: Comparison, change_filter: ChangeFilter, seconds: float
) -> list[tuple[str, str]]:
    """Return the first cases of some cells, with their titles; raise ``TimeoutError`` if that takes longer."""
    a, b = sides_of(store, comparison)
    cells, evaluator = change_filter.cells, comparison.evaluator
    how = (str(sorted(cells)), str(evaluator), str(comparison.model_a), str(comparison.model_b))
    names = summaries.cell(
        store,
        (comparison.a, comparison.b),
        lambda: cases_of_cells(a, b, cells, evaluator=evaluator, most=MOST_CHANGES),
        seconds,
        *how,
    )
    return _titled(b, names)


def answered_cases(store: Store, run: RunRecord, target: str) -> list[tuple[str, str]]:
    """Return the first test cases of a run of several targets, with their titles.

    Each case has the name of its target in its id.
    """
    ending = f" {target}"
    stored = case_ids(store, run, MOST_CHANGES * MOST_TARGETS)
    names = [name.removesuffix(ending) for name in stored if name.endswith(ending)][:MOST_CHANGES]
    return _titled(Side(store=store, run=run, model=target), names)


def _titled(side: Side, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return cases with their questions, or with their ids where they have none."""
    found = side.results(names)
    titles = {name: CaseSidesView(id=name, sides=(CaseSide(name="", result=found[name]),)).title for name in found}
    return [(name, titles.get(name) or name) for name in names]
