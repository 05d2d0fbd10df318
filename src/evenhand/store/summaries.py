"""The table of the runs' summaries, so that finished runs are not counted again."""

from __future__ import annotations

import hashlib

from evenhand.domain.run import RunRecord
from evenhand.store.database import Database, atomic
from evenhand.store.rows import dumps


class Summaries:
    """The table of summaries. Their content is opaque text; ``format`` names how it was written."""

    def __init__(self, database: Database) -> None:
        self._db = database
        # What finished runs cover that were counted, and when they had finished.
        self._counted: dict[int, tuple[float, str]] = {}

    def coverage(self, run: RunRecord) -> str:
        """Count what the summary of a run depends on, which changes once something is added.

        Rows are only ever added to a run, so their counts suffice.
        """
        thresholds = [run.thresholds.pass_at, run.thresholds.borderline_at]
        return dumps({**self.counts(run), "repeat": run.repeat, "thresholds": thresholds})

    def counts(self, run: RunRecord) -> dict[str, int]:
        """Return how many cases, evaluations and answers a run has."""
        return {
            table: int(self._db.rows(f"SELECT COUNT(*) FROM {table} WHERE run = ?", [run.number])[0][0])  # noqa: S608
            for table in ("cases", "evaluations", "answers")
        }

    def known_coverage(self, run: RunRecord) -> str:
        """Return the same; a finished run is counted once.

        Before more is added to a run it is marked as running, and when it has finished again, that is at another time.
        """
        finished, covers = self._counted.get(run.number, (None, ""))
        if run.finished is None or finished != run.finished:
            covers = self.coverage(run)
            if run.finished is not None:
                self._counted[run.number] = run.finished, covers
        return covers

    def share_counts(self, other: Summaries) -> None:
        """Count finished runs together with another connection to the same database: what one counted, both know."""
        self._counted = other._counted

    def find(self, run: RunRecord, coverage: str, *, format: str) -> str | None:  # noqa: A002 - what it is called
        """Return the summary of a run; None if there is none, or it is damaged or out of date."""
        rows = self._db.rows("SELECT format, covers, checksum, content FROM summaries WHERE run = ?", [run.number])
        for kept_format, covers, written, content in rows:
            if (kept_format, covers) != (format, coverage):
                continue
            if written == kept_checksum(run, format, covers, content):
                return str(content)
        return None

    @atomic
    def keep(self, run: RunRecord, coverage: str, content: str, *, format: str) -> None:  # noqa: A002 - as above
        """Store the summary of a run; raises ``StoreError`` where the store cannot be written to."""
        self._db.execute(
            "INSERT INTO summaries (run, format, covers, checksum, content) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (run) DO UPDATE SET format = excluded.format, covers = excluded.covers, "
            "checksum = excluded.checksum, content = excluded.content",
            [run.number, format, coverage, kept_checksum(run, format, coverage, content), content],
        )


def kept_checksum(run: RunRecord, *parts: str) -> str:
    """Return the checksum of what is kept beside a run, by which a damaged copy is known."""
    return hashlib.sha256(dumps([run.id, *parts]).encode()).hexdigest()
