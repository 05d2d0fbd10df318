"""Looking for words in the cases of a run and in what was answered to them, and for profiles by their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from evenhand.domain.run import RunRecord
from evenhand.profiles.undertaken import is_ranking
from evenhand.server.groups_shown import members_of
from evenhand.store.rows import dumps, loads
from evenhand.store.sqlite import SQLite
from evenhand.store.store import Store

_PAGE: Final = 4096
_OF_A_CASE: Final = ("id", "question", "candidate_answer", "reference_answer", "expected_outcome")


def positions_with(store: Store, run: RunRecord, text: str) -> list[int]:
    """Give the positions of the cases that have a text in their id, question, reference or answer, in any case.

    Of a group, the ids and texts of its profiles count as well.
    """
    wanted = text.casefold()
    found: set[int] = set()
    for table, texts_of in (("cases", _of_group if is_ranking(run.definition) else _of_case), ("answers", _of_answer)):
        found.update(
            position
            for position, content in _likely(store, run, table, text)
            if any(wanted in one.casefold() for one in texts_of(content))
        )
    return sorted(found)


def positions_of_profile(store: Store, run: RunRecord, profile: str) -> list[int]:
    """Give the positions of the cases that are about a profile, by its exact id; of a ranking, those of its groups."""
    ids_of: Callable[[Any], list[str]] = (
        (lambda case: [one["id"] for one in members_of(case.get("metadata", {}))])
        if is_ranking(run.definition)
        else (lambda case: [case.get("id")])
    )
    likely = _likely(store, run, "cases", profile)
    return [position for position, content in likely if profile in ids_of(content["case"])]


def _likely(store: Store, run: RunRecord, table: str, text: str) -> Iterator[tuple[int, Any]]:
    """Give what the database finds a text in, piece by piece: a common word is in all, which memory need not hold."""
    like = "LIKE" if isinstance(store.database, SQLite) else "ILIKE"
    for first in range(0, run.cases, _PAGE):
        rows = store.database.rows(
            f"SELECT position, content FROM {table} WHERE run = ? AND position BETWEEN ? AND ? "  # noqa: S608 - our own names
            f"AND content {like} ? ESCAPE '!' ORDER BY position",
            [run.number, first, first + _PAGE - 1, _pattern(text)],
        )
        yield from ((position, loads(content)) for position, content in rows)


def _pattern(text: str) -> str:
    """Write a text as the database looks for it, so that it finds too much rather than too little.

    What stands in the column is JSON: names of fields are found too. SQLite knows capitals in ASCII only, so any other
    letter stands for anything. Each case that was found is looked at again.
    """
    written = dumps(text)[1:-1].replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{''.join(letter if letter.isascii() else '%' for letter in written)}%"


def _of_case(content: Any) -> list[str]:
    case = content["case"]
    messages = [one for one in case.get("input_messages", ()) if isinstance(one, dict)]
    texts = [case.get(name) for name in _OF_A_CASE] + [one.get("content") for one in messages]
    return [one for one in texts if isinstance(one, str)]


def _of_group(content: Any) -> list[str]:
    members = members_of(content["case"].get("metadata", {}))
    return [*_of_case(content), *(str(one[name]) for one in members for name in ("id", "text") if name in one)]


def _of_answer(content: Any) -> list[str]:
    return [content["text"]] if isinstance(content.get("text"), str) else []
