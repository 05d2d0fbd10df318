"""Search of the cases of a run for a text, or for the profiles that they are about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from evenhand.domain.run import RunRecord
from evenhand.store.case_reader import CaseReader
from evenhand.store.records import Row
from evenhand.store.rows import dumps, loads
from evenhand.store.sqlite import SQLite
from evenhand.store.store import Store

_CASES_AT_ONCE: Final = 4096
TABLES: Final = ("cases", "answers", "evaluations")
# What is searched in an evaluation.
_REASONS: Final = ("reasoning", "error")


def positions_with_text(store: Store, reader: CaseReader, run: RunRecord, text: str) -> list[int]:
    """Return the positions of the cases that have a text, in capitals or not, in their order.

    It is looked for in their id, question and reference, in their answers, and in what judges reasoned and which errors
    they made.
    """
    needle = text.casefold()
    positions = list[int]()
    for first in range(0, run.cases, _CASES_AT_ONCE):
        found = set[int]()
        for table in TABLES:
            if len(found) == min(_CASES_AT_ONCE, run.cases - first):
                break  # a common word: the rest need not be looked at
            for position, content in _candidates(store, run, table, text, first=first, found=found):
                texts: Iterable[str] = () if position in found else searched_texts(reader, run, table, loads(content))
                if any(needle in searched.casefold() for searched in texts):
                    found.add(position)
        positions += sorted(found)
    return positions


def positions_of_profile(store: Store, reader: CaseReader, run: RunRecord, profile: str) -> list[int]:
    """Return the positions of the cases about a profile, by its exact id; of a ranking, those of its groups."""
    return [
        position
        for first in range(0, run.cases, _CASES_AT_ONCE)
        for position, content in _candidates(store, run, "cases", profile, first=first)
        if profile in reader.profile_ids(run, loads(content)["case"])
    ]


def searched_texts(reader: CaseReader, run: RunRecord, table: str, fields: Mapping[str, Any]) -> Iterator[str]:
    """Return what is searched of a row of a table."""
    if table == "cases":
        return reader.texts(run, fields["case"])
    texts = (fields.get(name) for name in (("text",) if table == "answers" else _REASONS))
    return (text for text in texts if isinstance(text, str))


def _candidates(
    store: Store, run: RunRecord, table: str, text: str, *, first: int, found: Collection[int] = ()
) -> list[Row]:
    """Return what the database finds a text in, of a page of positions: a common word is in all of them."""
    like = "LIKE" if isinstance(store.database, SQLite) else "ILIKE"
    others, positions = store.database.among("position", sorted(found))
    return store.database.rows(
        f"SELECT position, content FROM {table} WHERE run = ? AND position BETWEEN ? AND ? "  # noqa: S608 - our own names
        f"AND NOT {others} AND content {like} ? ESCAPE '!' ORDER BY position",
        [run.number, first, first + _CASES_AT_ONCE - 1, positions, _pattern(text)],
    )


def _pattern(text: str) -> str:
    """Return a pattern for LIKE that matches too much rather than too little.

    The column is JSON, so names of fields match too. SQLite ignores the case of ASCII letters only, so every other
    letter becomes a wildcard. Each row that matches is checked again.
    """
    escaped = dumps(text)[1:-1].replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{''.join(letter if letter.isascii() else '%' for letter in escaped)}%"
