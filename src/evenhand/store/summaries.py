"""The numbers of runs as they were worked out: shown only while they are those of the rows, and whole."""

from __future__ import annotations

import contextlib
import hashlib

from evenhand.domain.errors import StoreError
from evenhand.domain.run import RunRecord
from evenhand.store.database import Database
from evenhand.store.rows import dumps


class Summaries:
    """The table of summaries. What one says is text to it; ``format`` names the way in which it was written."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def coverage(self, run: RunRecord) -> str:
        """Say what the numbers of a run depend on, so that it differs once something was added.

        Rows are added to a run, and neither changed nor taken out; so their counts tell.
        """
        counts = {
            table: int(self._db.rows(f"SELECT COUNT(*) FROM {table} WHERE run = ?", [run.number])[0][0])  # noqa: S608
            for table in ("cases", "evaluations", "answers")
        }
        thresholds = [run.thresholds.pass_at, run.thresholds.borderline_at]
        return dumps({**counts, "repeat": run.repeat, "thresholds": thresholds})

    def find(self, run: RunRecord, coverage: str, *, format: str) -> str | None:  # noqa: A002 - what it is called
        """Return what is kept of a run; None where that is nothing, damaged, or of other rows than there are now."""
        rows = self._db.rows("SELECT format, covers, checksum, content FROM summaries WHERE run = ?", [run.number])
        for kept_format, covers, checksum, content in rows:
            if (kept_format, covers) == (format, coverage) and checksum == _checksum(run, format, covers, content):
                return str(content)
        return None

    def keep(self, run: RunRecord, coverage: str, content: str, *, format: str) -> None:  # noqa: A002 - as above
        """Keep what was worked out, if the store can be written to and the run is still there."""
        with contextlib.suppress(StoreError):
            self._db.execute(
                "INSERT INTO summaries (run, format, covers, checksum, content) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (run) DO UPDATE SET format = excluded.format, covers = excluded.covers, "
                "checksum = excluded.checksum, content = excluded.content",
                [run.number, format, coverage, _checksum(run, format, coverage, content), content],
            )


def _checksum(run: RunRecord, *parts: str) -> str:
    return hashlib.sha256(dumps([run.id, *parts]).encode()).hexdigest()
