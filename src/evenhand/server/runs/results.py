"""The evaluations of a run as a list: filtered, sorted, page by page, and as a file.

The table of evaluations has no index for this: each would have to be kept up with every commit of a run. So runs that
somebody looks at get a listing, whose narrow rows are cheap to go through as a whole. The first pages of a run, in its
own order, need none.
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
import itertools
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal, NoReturn, TypeAlias
from urllib.parse import urlencode

import orjson

from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.run_kind import is_ranking
from evenhand.domain.slices import MOST_VALUES, NONE
from evenhand.engine.targets.several import MODEL, TEST_CASE, targets_of
from evenhand.profiles.ranking.group_view import members_of
from evenhand.reports.csv import COLUMNS, cell, flat_rows
from evenhand.reports.safe_text import strict_json
from evenhand.server.problems import Problem
from evenhand.server.runs.case_rows import case_rows
from evenhand.server.runs.progress import AT_WORK
from evenhand.server.runs.views import evaluation_rows
from evenhand.store.listing import CaseFilter, CaseOrder, CaseReader, Filter, Listing, Order, SortedPlace
from evenhand.store.results import Place, cases_at, count_places, evaluator_names, places_after
from evenhand.store.store import Store


def encode_cursor(place: Any) -> str:
    """Encode a place in a list.

    >>> decode_cursor(encode_cursor([3, "score"]))
    [3, 'score']
    """
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def decode_cursor(cursor: str) -> Any:
    """Decode a place in a list, or refuse what was not encoded here."""
    try:
        return orjson.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError):
        refuse_cursor()


def refuse_cursor() -> NoReturn:
    """Refuse a cursor."""
    raise Problem(
        422, "Invalid request", "invalid cursor; use the next of the previous page of this list", field="cursor"
    )


def offset_cursor(offset: int) -> str:
    """Encode how many items come before."""
    return encode_cursor([offset])


def cursor_offset(cursor: str | None) -> int:
    """Decode how many items come before."""
    match [0] if cursor is None else decode_cursor(cursor):
        case [int(offset)] if 0 <= offset < 2**53 and not isinstance(offset, bool):
            return offset
        case _:
            refuse_cursor()


# Smaller runs are listed when that is needed, and not in advance.
_LARGE: Final = 2_000
_LARGEST: Final = 2**53
_MOST_NAMES: Final = 50
# Of all that match, so many places are in memory at once.
PLACES_AT_ONCE: Final = 50_000


_METADATA: Final = "metadata."
_MOST_METADATA_KEYS: Final = 5
_LONGEST_METADATA: Final = 1000


def metadata_filter(parameters: Iterable[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the filter by metadata in a query such as ``metadata.lang=de``: keys with the values that are asked for.

    >>> metadata_filter([("metadata.lang", "de"), ("text", "x"), ("metadata.lang", "fr")])
    (('lang', ('de', 'fr')),)
    """
    wanted: dict[str, list[str]] = {}
    for name, value in parameters:
        if not name.startswith(_METADATA):
            continue
        key = name.removeprefix(_METADATA)
        if not key:
            raise _refused("name a key of the cases' metadata, such as metadata.lang=de", name)
        if not value:
            raise _refused(f"it is empty; for the cases without a value, write {name:.100}={NONE}", name)
        if max(len(key), len(value)) > _LONGEST_METADATA:
            raise _refused(f"key and value must have at most {_LONGEST_METADATA:,} characters each", name)
        wanted.setdefault(key, []).append(value)
        if len(wanted) > _MOST_METADATA_KEYS or len(wanted[key]) > MOST_VALUES:
            raise _refused(
                f"at most {_MOST_METADATA_KEYS} keys of metadata with at most {MOST_VALUES} values each", name
            )
    return tuple((key, tuple(values)) for key, values in wanted.items())


def metadata_query(key: str, value: str) -> str:
    """Return the query that shows the cases of a slice; "" where it is too long to be one."""
    fits = 0 < len(key) <= _LONGEST_METADATA and len(value) <= _LONGEST_METADATA
    return urlencode({f"{_METADATA}{key}": value}) if fits else ""


def _refused(why: str, name: str) -> Problem:
    return Problem(422, "Invalid request", why, field=name[:100])


def _group_members(run: RunRecord, case: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    return members_of(case.get("metadata", {})) if is_ranking(run.definition) else None


def case_standings(verdicts: Sequence[str], statuses: Sequence[str]) -> tuple[str, ...]:
    """Return the standings of cases that have one of some verdicts and one of some statuses; none given is any.

    >>> case_standings(["fail"], []), case_standings([], ["scored", "error"])
    (('fail',), ('pass', 'borderline', 'fail', 'error'))
    """
    scored = tuple(verdicts) or ("pass", "borderline", "fail")
    if not statuses:
        return tuple(verdicts)
    return tuple(standing for status in statuses for standing in (scored if status == "scored" else (status,)))


CASE_READER: Final = CaseReader(model_key=MODEL, test_case_key=TEST_CASE, group_members=_group_members)


class Results:
    """The cases and evaluations of runs, page by page. Threads may share it."""

    def __init__(self, store: Store, reading: Store) -> None:
        self._store = store
        reading.summaries.share_counts(store.summaries)
        self._listing = Listing(reading, CASE_READER)
        self._background = ThreadPoolExecutor(1, thread_name_prefix="results")
        self._prepared: set[str] = set()
        self._mine = threading.Lock()

    def close(self) -> None:
        """Stop what is listed in the background."""
        self._background.shutdown(wait=False, cancel_futures=True)
        self._listing.close()
        self._background.shutdown(wait=True)

    def page(
        self,
        run: RunRecord,
        condition: Filter,
        order: Order,
        *,
        limit: int,
        cursor: str | None = None,
        offset: int = 0,
    ) -> dict[str, Any]:
        """Return a page of evaluations: its items, how many there are in all, and the cursor of the next one.

        It begins at a cursor, or after so many of them (``offset``).
        """
        if condition.is_empty and order == Order() and not offset:
            return self._in_order(run, limit, cursor)
        after = _place_in(cursor, order)
        keyed, total = self._listing.page(run, condition, order, limit=limit + 1, after=after, offset=offset)
        places = [place for _, place in keyed[:limit]]
        more = _cursor_after(order, *keyed[limit - 1]) if len(keyed) > limit else None
        return {
            "items": evaluation_rows(self._store, run, places),
            "total": total,
            "next": more,
        }

    def cases(
        self, run: RunRecord, condition: CaseFilter, order: CaseOrder, *, limit: int, offset: int, most_shown: int
    ) -> dict[str, Any]:
        """Return a page of cases: its items, how many rows and how many cases match, and the cursor of the next one.

        Texts are cut after ``most_shown`` characters.
        """
        if condition.is_empty and order == CaseOrder() and not targets_of(run):
            self.prepare(run)
            rows = {position: [position] for position in range(offset, min(offset + limit, run.cases))}
            total = matching = run.cases
        else:
            found = self._listing.case_page(run, condition, order, limit=limit, offset=offset)
            rows, total, matching = (
                self._listing.cases_in(run, [row for _, row in found.rows]),
                found.total,
                found.matching,
            )
        return {
            "items": case_rows(self._store, run, rows, most_shown),
            "total": total,
            "matching": matching,
            "next": offset_cursor(offset + limit) if offset + limit < total else None,
        }

    def targets_of_case(self, run: RunRecord, position: int) -> list[int]:
        """Return the positions of the answers of all targets to a case, given that of one of them."""
        found = self._listing.case_page(run, CaseFilter(positions=(position,)), CaseOrder(), limit=1)
        return [other for row in self._listing.cases_in(run, [row for _, row in found.rows]).values() for other in row]

    def places(self, run: RunRecord, condition: Filter, order: Order) -> Iterator[Place]:
        """Return the places of all evaluations that match: many at once, so that each page may be sorted anew."""
        first, _ = self._listing.page(run, condition, order, limit=PLACES_AT_ONCE)
        return self._following(run, condition, order, first)

    def _following(
        self, run: RunRecord, condition: Filter, order: Order, keyed: Sequence[SortedPlace]
    ) -> Iterator[Place]:
        while keyed:
            yield from (place for _, place in keyed)
            if len(keyed) < PLACES_AT_ONCE:
                return
            keyed, _ = self._listing.page(run, condition, order, limit=PLACES_AT_ONCE, after=keyed[-1])

    def evaluators(self, run: RunRecord) -> list[str]:
        """Return the names of the evaluators; of a large run, those of its first cases until it is listed."""
        if (names := self._listing.evaluators(run, _MOST_NAMES)) is not None:
            return names
        return evaluator_names(self._store, run, cases=_LARGE, limit=_MOST_NAMES)

    def _in_order(self, run: RunRecord, limit: int, cursor: str | None) -> dict[str, Any]:
        after = _place_in(cursor, Order())
        place = (-1, -1, -1) if after is None else after[1]
        following = places_after(self._store, run, place, limit + 1)
        places = following[:limit]
        listed = None if run.status in AT_WORK else self._listing.ready(run)
        total = count_places(self._store, run) if listed is None else listed.evaluations
        self.prepare(run)
        more = _cursor_after(Order(), places[-1][0], places[-1]) if len(following) > limit else None
        return {"items": evaluation_rows(self._store, run, places), "total": total, "next": more}

    def prepare(self, run: RunRecord) -> None:
        """List a large run in advance: whoever opens it will want to filter it."""
        with self._mine:
            if run.cases < _LARGE or run.id in self._prepared or run.status is RunStatus.RUNNING:
                return
            self._prepared.add(run.id)
        self._background.submit(self._listing.prepare, run)


def _cursor_after(order: Order, key: Any, place: Sequence[int]) -> str:
    return encode_cursor([order.by, order.descending, key, *place])


def _place_in(cursor: str | None, order: Order) -> tuple[Any, Place] | None:
    if cursor is None:
        return None
    match decode_cursor(cursor):
        case [order.by, order.descending, (int() | float() | str()) as key, int(position), int(place), int(sample)]:
            if all(0 <= number < _LARGEST for number in (position, place, sample)) and (
                isinstance(key, (float, str)) or abs(key) < _LARGEST
            ):
                return key, (position, place, sample)
    return refuse_cursor()


Kind: TypeAlias = Literal["csv", "jsonl"]
MEDIA: Final[dict[str, str]] = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
# Those of the report of a run, and which model answered, by which lists are filtered.
NAMES: Final = (*COLUMNS, MODEL)
_PAGE: Final = 200


def export_chunks(store: Store, run: RunRecord, places: Iterable[Place], kind: Kind) -> Iterator[bytes]:
    """Write evaluations by their places, in that order, chunk by chunk."""
    if kind == "csv":
        yield _as_csv([NAMES])
    rest = iter(places)
    while some := list(itertools.islice(rest, _PAGE)):
        rows = _rows(store, run, some)
        if kind == "csv":
            yield _as_csv([[cell(row.get(name)) for name in NAMES] for row in rows])
        else:
            yield "".join(f"{strict_json({name: row.get(name) for name in NAMES})}\n" for row in rows).encode()


def attachment(run: RunRecord, kind: Kind) -> dict[str, str]:
    """Return the header with the name of the file."""
    return {"content-disposition": f'attachment; filename="{run.id}-evaluations.{kind}"'}


def _rows(store: Store, run: RunRecord, places: Sequence[Place]) -> list[dict[str, Any]]:
    cases = cases_at(store, run, sorted({position for position, _, _ in places}))
    rows: dict[Place, dict[str, Any]] = {}
    for position, stored in cases.items():
        model = {MODEL: stored.result.case.metadata.get(MODEL)}
        flat = itertools.islice(flat_rows(stored.result), len(stored.places))
        for (place, sample), row in zip(stored.places, flat, strict=True):
            rows[position, place, sample] = row | model
    return [rows[place] for place in places if place in rows]  # a run may be deleted meanwhile


def _as_csv(rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_NONNUMERIC).writerows(rows)
    return text.getvalue().encode()
