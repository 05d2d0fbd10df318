"""Looking for words in the cases of a run and in what was answered to them."""

from __future__ import annotations

from typing import Any, Final

from evenhand.domain.run import RunRecord
from evenhand.store.rows import dumps, loads
from evenhand.store.sqlite import SQLite
from evenhand.store.store import Store

_PAGE: Final = 4096
_OF_A_CASE: Final = ("id", "question", "candidate_answer", "reference_answer", "expected_outcome")


def positions_with(store: Store, run: RunRecord, text: str) -> list[int]:
    """Give the positions of the cases that have a text in their id, question, reference or answer, in any case."""
    pattern, wanted = _pattern(text), text.casefold()
    like = "LIKE" if isinstance(store.database, SQLite) else "ILIKE"
    found: set[int] = set()
    for table, texts_of in (("cases", _of_case), ("answers", _of_answer)):
        for first in range(0, run.cases, _PAGE):  # a common word is in all of them, which memory need not hold
            rows = store.database.rows(
                f"SELECT position, content FROM {table} WHERE run = ? AND position BETWEEN ? AND ? "  # noqa: S608 - our own names
                f"AND content {like} ? ESCAPE '!'",
                [run.number, first, first + _PAGE - 1, pattern],
            )
            found.update(
                position
                for position, content in rows
                if any(wanted in one.casefold() for one in texts_of(loads(content)))
            )
    return sorted(found)


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


def _of_answer(content: Any) -> list[str]:
    return [content["text"]] if isinstance(content.get("text"), str) else []
