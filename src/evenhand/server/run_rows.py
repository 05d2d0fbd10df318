"""Runs in plain JSON values, with their numbers where these are counted or soon are."""

from __future__ import annotations

from typing import Any, Final

from evenhand.domain.run import RunRecord
from evenhand.reports.rows import run_row, summary_row
from evenhand.server.counting import Counted
from evenhand.server.lineage import is_baseline
from evenhand.server.named_models import judge_of, names_in
from evenhand.server.progress import AT_WORK, PATIENCE_SECONDS, as_it_is
from evenhand.store.store import Store
from evenhand.workspace.trial import PROMPT

# A larger run is not counted while it goes on, nor, if nobody has looked at it yet, while somebody waits for a list.
MOST_CASES_IN_LIST: Final = 5_000
_OF_DETAIL: Final = ("source", "definition", "options", "forked_from", "version", "abandoned_calls", "abandoned_cost")


def run_listed(store: Store, run: RunRecord, counts: Counted) -> dict[str, Any]:
    """Give a run for a list, without what only a few ask for."""
    run = as_it_is(store, run)
    quick = run.status not in AT_WORK and (run.cases <= MOST_CASES_IN_LIST or counts.has(store, run))
    row = _row(run)
    return {name: row[name] for name in row if name not in _OF_DETAIL} | {
        "summary": summary_row(counts.of(store, run).summary) if quick else None
    }


def run_detail(store: Store, run: RunRecord, counts: Counted | None) -> dict[str, Any]:
    """Give a run with what defines it; its numbers too, unless ``counts`` is None or it is large and goes on."""
    run = as_it_is(store, run)
    row = _row(run)
    # Where the suite lies is the server's business.
    del row["source"]
    if counts is None or (run.status in AT_WORK and run.cases > MOST_CASES_IN_LIST):
        return row | {"summary": None, "gates": None}
    try:
        numbers = counts.of(store, run, PATIENCE_SECONDS)
    except TimeoutError:  # they are there when somebody asks again
        return row | {"summary": None, "gates": None}
    return row | {"summary": summary_row(numbers.summary), "gates": [gate.as_dict() for gate in numbers.gates]}


def _row(run: RunRecord) -> dict[str, Any]:
    definition = run.definition
    return run_row(run) | {
        "prompt": definition.get(PROMPT),
        "models": names_in(definition.get("target")),
        "judge": judge_of(run),
        "baseline": is_baseline(run),
    }
