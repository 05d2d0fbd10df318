"""The tables of batches: what was submitted to a provider, and the answers that no evaluation has yet."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from evenhand.domain.run import RunRecord
from evenhand.store.database import Database, atomic
from evenhand.store.records import refuse_damage
from evenhand.store.rows import dumps, loads
from evenhand.store.summaries import kept_checksum

# About to be submitted: the provider may or may not have it. Submitted. Cancelled, and to be read. Over, and read.
INTENDED: Final = "intended"
SUBMITTED: Final = "submitted"
CANCELLED: Final = "cancelled"
OVER: Final = "over"

_COLUMNS: Final = "key, model, id, state, requests, created"


class StoredBatch(NamedTuple):
    """A batch: our key for it, the model, the provider's id if it is known, its state, and how many requests."""

    key: str
    model: str
    id: str | None
    state: str
    requests: int
    created: float

    @property
    def words(self) -> str:
        """The batch in words: what it is called, and how many requests it has for which model."""
        name = f"batch {self.id}" if self.id else f"batch {self.key}, which the provider has not confirmed"
        state = "was cancelled, and is still to be read" if self.state == CANCELLED else "is pending"
        return f"{name} ({self.requests:,} {'request' if self.requests == 1 else 'requests'} to {self.model}) {state}"


class Batches:
    """The batches of runs, and their requests."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @atomic
    def intend(self, run: RunRecord, key: str, model: str, items: Sequence[str]) -> None:
        """Store that requests are about to be submitted under a key, before anybody hears of it."""
        self._db.execute(
            f"INSERT INTO batches (run, {_COLUMNS}) VALUES (?, ?, ?, NULL, ?, ?, ?)",  # noqa: S608 - our own names
            [run.number, key, model, INTENDED, len(items), time.time()],
        )
        self._db.execute_many(
            "INSERT INTO batch_requests (run, item, batch, number) VALUES (?, ?, ?, ?)",
            [(run.number, item, key, number) for number, item in enumerate(items)],
        )

    @atomic
    def name(self, key: str, identity: str) -> None:
        """Store the id that the provider gave a batch."""
        self._db.execute("UPDATE batches SET id = ?, state = ? WHERE key = ?", [identity, SUBMITTED, key])

    @atomic
    def cancelled(self, key: str, identity: str) -> None:
        """Store that the provider was asked to end a batch; what it answered until then is still to be read."""
        self._db.execute(
            "UPDATE batches SET id = ?, state = ? WHERE key = ? AND state != ?", [identity, CANCELLED, key, OVER]
        )

    @atomic
    def drop(self, key: str) -> None:
        """Forget a batch that does not exist: its requests are still to be submitted."""
        self._db.execute("DELETE FROM batch_requests WHERE batch = ? AND content IS NULL", [key])
        self._db.execute("DELETE FROM batches WHERE key = ?", [key])

    @atomic
    def end(self, key: str) -> None:
        """Store that a batch is over and read; requests without an answer are still to be submitted."""
        self._db.execute("DELETE FROM batch_requests WHERE batch = ? AND content IS NULL", [key])
        self._db.execute("UPDATE batches SET state = ? WHERE key = ?", [OVER, key])

    @atomic
    def answer(self, run: RunRecord, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """Store answers by their items; the first one to each stays."""
        rows = []
        for item, answer in answers.items():
            content = dumps(answer)
            rows.append((content, kept_checksum(run, item, content), run.number, item))
        self._db.execute_many(
            "UPDATE batch_requests SET content = ?, checksum = ? WHERE run = ? AND item = ? AND content IS NULL", rows
        )

    def answer_to(self, run: RunRecord, item: str) -> Mapping[str, Any] | None:
        """Return the answer to a request, if there is one."""
        rows = self._db.rows(
            "SELECT content, checksum FROM batch_requests WHERE run = ? AND item = ?", [run.number, item]
        )
        if not rows or rows[0][0] is None:
            return None
        content, seal = rows[0]
        if not isinstance(content, str) or kept_checksum(run, item, content) != seal:
            refuse_damage(run, f"the answer {item} from a batch does not match its checksum")
        answer: Mapping[str, Any] = loads(content)
        return answer

    def items(self, run: RunRecord) -> dict[str, str]:
        """Return the requests whose evaluations are not committed, each with the key of its batch."""
        rows = self._db.rows("SELECT item, batch FROM batch_requests WHERE run = ?", [run.number])
        return dict(rows)

    def has_requests(self, run: RunRecord) -> bool:
        """Return whether there are requests whose evaluations are not committed."""
        return bool(self._db.rows("SELECT 1 FROM batch_requests WHERE run = ? LIMIT 1", [run.number]))

    def unanswered(self, key: str) -> dict[int, str]:
        """Return the requests of a batch that have no answer yet, by their numbers."""
        rows = self._db.rows("SELECT number, item FROM batch_requests WHERE batch = ? AND content IS NULL", [key])
        return {int(number): item for number, item in rows}

    def of(self, run: RunRecord, *, pending: bool = False) -> list[StoredBatch]:
        """Return the batches of a run, the first one first; with ``pending`` those that are not over."""
        rows = self._db.rows(f"SELECT {_COLUMNS} FROM batches WHERE run = ? ORDER BY created", [run.number])  # noqa: S608
        batches = [StoredBatch(*row) for row in rows]
        return [batch for batch in batches if batch.state != OVER] if pending else batches

    def in_work(self, run: RunRecord) -> list[StoredBatch]:
        """Return the batches of a run that a provider works on and will be paid for: those nobody cancelled."""
        return [batch for batch in self.of(run) if batch.state in (INTENDED, SUBMITTED)]

    def forget(self, requests: Sequence[tuple[int, str]]) -> None:
        """Forget requests, by run and item, whose evaluations are committed in the same transaction."""
        if requests:
            self._db.execute_many("DELETE FROM batch_requests WHERE run = ? AND item = ?", requests)
