"""The evaluations that a filter leaves, as a file: a row for each, with whole texts, however many there are."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

from evenhand.domain.run import RunRecord
from evenhand.engine.targets.models import MODEL
from evenhand.reports.csv import COLUMNS, cell, flat_rows
from evenhand.reports.strict import strict_json
from evenhand.server.case_results import cases_at
from evenhand.server.results import Place
from evenhand.store.store import Store

Kind: TypeAlias = Literal["csv", "jsonl"]
MEDIA: Final[dict[str, str]] = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
# Those of the report of a run, and which model answered, by which lists are filtered.
NAMES: Final = (*COLUMNS, MODEL)
_PAGE: Final = 200


def exported(store: Store, run: RunRecord, places: Sequence[Place], kind: Kind) -> Iterator[bytes]:
    """Write evaluations by their places, in that order, piece by piece."""
    if kind == "csv":
        yield _as_csv([NAMES])
    for first in range(0, len(places), _PAGE):
        rows = _rows(store, run, places[first : first + _PAGE])
        if kind == "csv":
            yield _as_csv([[cell(row.get(name)) for name in NAMES] for row in rows])
        else:
            yield "".join(f"{strict_json({name: row.get(name) for name in NAMES})}\n" for row in rows).encode()


def attachment(run: RunRecord, kind: Kind) -> dict[str, str]:
    """Name the file for who saves it."""
    return {"content-disposition": f'attachment; filename="{run.id}-evaluations.{kind}"'}


def _rows(store: Store, run: RunRecord, places: Sequence[Place]) -> list[dict[str, Any]]:
    found = cases_at(store, run, sorted({position for position, _, _ in places}))
    rows: dict[Place, dict[str, Any]] = {}
    for position, stored in found.items():
        model = {MODEL: stored.result.case.metadata.get(MODEL)}
        flat = itertools.islice(flat_rows(stored.result), len(stored.places))
        for (place, sample), row in zip(stored.places, flat, strict=True):
            rows[position, place, sample] = row | model
    return [rows[place] for place in places if place in rows]  # a run may be deleted meanwhile


def _as_csv(rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_NONNUMERIC).writerows(rows)
    return text.getvalue().encode()
