"""The texts of cases that are searched, kept without their JSON and in small letters: made once a run is searched.

To look for a text in the JSON of a run takes the database several times as long, and then each row that it is found in
has to be parsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evenhand.domain.run import RunRecord
from evenhand.store.case_reader import CaseReader
from evenhand.store.list_query import Listed, Where
from evenhand.store.listed_words import candidates
from evenhand.store.records import Row
from evenhand.store.rows import column, loads
from evenhand.store.store import Store
from evenhand.store.text_search import TABLES, searched_texts

_PAGE: Final = 512
# Stands between two texts, and in none.
_BREAK: Final = "\x1e"


def keep_texts(source: Store, reader: CaseReader, run: RunRecord, listed: Listed) -> None:
    """Keep the texts of the next page of cases."""
    database, first = listed.database, listed.texts
    upto = min(first + _PAGE, listed.cases)
    rows = _rows(source, reader, run, first, upto - 1)
    with database.transaction():
        sql = f"SELECT covers, texts FROM listings WHERE run = ?{database.for_update}"  # noqa: S608 - our own words
        if database.rows(sql, [run.number]) == [(listed.covers, first)]:  # no other process was quicker
            database.add_rows("listed_texts", ("run", "position", "text"), rows)
            database.execute("UPDATE listings SET texts = ? WHERE run = ?", [upto, run.number])


def _rows(source: Store, reader: CaseReader, run: RunRecord, first: int, last: int) -> list[Row]:
    texts: dict[int, list[str]] = {}
    for table in TABLES:
        found = source.database.rows(
            f"SELECT position, content FROM {table} WHERE run = ? AND position BETWEEN ? AND ?",  # noqa: S608 - our own names
            [run.number, first, last],
        )
        for position, content in found:
            texts.setdefault(position, []).extend(searched_texts(reader, run, table, loads(content)))
    return [(run.number, position, _folded(_BREAK.join(those))) for position, those in sorted(texts.items())]


def positions_with_kept_text(listed: Listed, text: str) -> Sequence[int]:
    """Return the positions of the cases that have a text, in capitals or not, in their order."""
    folded = _folded(text)
    where = Where(["run = ?"], [listed.run])
    where.add(*listed.database.containing("text", folded))
    if listed.has_words and (found := candidates(listed, folded)) is not None:
        positions = found.positions
        if found.is_certain or not positions:
            return positions
        where.add(*listed.database.among("position", positions))
    sql = f"SELECT position FROM listed_texts WHERE {where.sql} ORDER BY position"  # noqa: S608 - as above
    return [row[0] for row in listed.database.rows(sql, where.values)]


def _folded(text: str) -> str:
    return column(text.casefold())
