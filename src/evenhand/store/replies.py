"""The cache: which replies there are, and where in the runs each of them is.

The text of a reply is kept once, in the evaluation or the answer that it led to; the cache has the place. Deleting
the run deletes its replies from the cache. Rows of older versions have the text themselves, and stay.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from evenhand.domain.errors import StoreError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.store import checksum
from evenhand.store.database import Database, atomic
from evenhand.store.records import ANSWERS, EVALUATIONS, NOT_AS_WRITTEN, refuse_damage
from evenhand.store.rows import answer_fields, dumps, loads

_ADD: Final = (
    "INSERT INTO replies (key, model, created, content, run, characters, checksum) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING"
)
_WHOLE: Final = 4
# So many keys are read at once.
_PAGE: Final = 4096
_TEXT: Final = "text"
# In the content, where the text is: position, place (none in an answer), sample, round, and number of the attempt.
_AT: Final = "at"
_WHERE: Final = ("position", "place", "sample", "round")


class FoundReply(NamedTuple):
    """A reply that the cache may keep: which attempt brought it, its length, and what is in no attempt."""

    key: str
    model: str
    attempt: int
    characters: int
    rest: Mapping[str, Any] | None = None

    def at(self, row: Sequence[Any], *, is_answer: bool) -> tuple[Any, ...]:
        """Write the reply for the cache, as part of a row of an answer or an evaluation."""
        key, model, attempt, characters, rest = self
        if is_answer:
            run, position, sample, number = row[:4]
            place = "null"
        else:
            run, position, place, sample, number = row[:5]
        content = f'{{"{_AT}":[{position},{place},{sample},{number},{attempt}]}}'
        if rest:
            content = dumps({**loads(content), **rest})
        seal = checksum.of_reply(key, model, run, characters, content)
        return (key, model, time.time(), content, run, characters, seal)


class Replies:
    """The replies of a store, by the hash of what was asked."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Keep replies; the first one to a question stays."""
        self._db.execute_many(_ADD, [_whole_row(row) if len(row) == _WHOLE else row for row in rows])

    def find(self, key: str) -> Mapping[str, Any] | None:
        """Look up a reply: its text, and the rest of it."""
        rows = self._db.rows("SELECT model, run, characters, content, checksum FROM replies WHERE key = ?", [key])
        if not rows:
            return None
        model, number, characters, content, stored_checksum = rows[0]
        if (stored_checksum is not None or number is not None) and not _is_sound(
            (key, model, number, characters, content), stored_checksum
        ):
            raise StoreError(f"the cache is damaged: the reply {key} does not match its checksum; {_MENDING}")
        fields: dict[str, Any] = loads(content)
        if number is None:
            return fields
        run = self._run(number)
        *where, place = fields.pop(_AT)
        attempt = self._attempt(run, where, place)
        if attempt.get("dropped"):  # of a reply beyond all measure, only the beginning was kept
            return None
        text = attempt.get("raw")
        if not isinstance(text, str) or len(text) != characters:
            if not self._db.rows("SELECT 1 FROM replies WHERE key = ?", [key]):
                return None  # its run was deleted just now
            refuse_damage(run, f"the reply {key} in the cache is not where it was written")
        return {_TEXT: text, "usage": attempt.get("usage"), "model": attempt.get("model"), **fields}

    def keys(self, run: RunRecord | None = None) -> Iterator[str]:
        """Yield the key of every reply, or of those whose text is in a run."""
        after = ""
        of_run, number = ("", []) if run is None else (" AND run = ?", [run.number])
        page = f"SELECT key FROM replies WHERE key > ?{of_run} ORDER BY key LIMIT {_PAGE}"  # noqa: S608 - our own words
        while rows := self._db.rows(page, [after, *number]):
            yield from (row[0] for row in rows)
            after = rows[-1][0]

    def by_model(self) -> list[tuple[str, int, int, float]]:
        """Return for each model how many replies there are, how many characters they have, and since when."""
        rows = self._db.rows(
            "SELECT model, COUNT(*), SUM(COALESCE(characters, LENGTH(content))), MIN(created) FROM replies "
            "GROUP BY model ORDER BY model"
        )
        return [(model, count, int(size), oldest) for model, count, size, oldest in rows]

    @atomic
    def forget(self, model: str | None = None) -> int:
        """Delete all replies, or those of one model, and return how many there were."""
        if model is None:
            return self._db.execute("DELETE FROM replies")
        return self._db.execute("DELETE FROM replies WHERE model = ?", [model])

    def _run(self, number: int) -> RunRecord:
        """Return as much of a run as is needed to read rows of it."""
        rows = self._db.rows("SELECT id FROM runs WHERE number = ?", [number])
        identity = rows[0][0] if rows else f"number {number}"
        # Where a reply points, its row was written together with it, and has a checksum.
        return RunRecord(number=number, id=identity, name="", status=RunStatus.RUNNING, covered=True)

    def _attempt(self, run: RunRecord, where: Sequence[int | None], number: int) -> Mapping[str, Any]:
        """Read the attempt that brought a reply, from where it is stored; empty where there is none."""
        is_answer = where[1] is None
        conditions = [(name, at) for name, at in zip(_WHERE, where, strict=True) if at is not None]
        table = ANSWERS if is_answer else EVALUATIONS
        rows = table.read(
            self._db, run, " AND ".join(f"{name} = ?" for name, _ in conditions), [at for _, at in conditions]
        )
        try:
            ((*_, content, _),) = rows
            attempt: Mapping[str, Any] = (answer_fields if is_answer else loads)(content)["attempts"][number]
        except (*NOT_AS_WRITTEN, IndexError):
            return {}
        return attempt


_MENDING: Final = "restore a backup, or forget what is kept with: evenhand cache clear"


def _whole_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    key, model, created, content = row
    return (key, model, created, content, None, None, checksum.of_reply(key, model, None, None, content))


def _is_sound(columns: tuple[Any, ...], stored_checksum: Any) -> bool:
    try:
        return bool(checksum.of_reply(*columns) == stored_checksum)
    except NOT_AS_WRITTEN:
        return False
