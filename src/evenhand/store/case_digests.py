"""The table of hashes of what the cases of each run ask: computed once, from rows that never change."""

from __future__ import annotations

from evenhand.domain.run import RunRecord
from evenhand.store.database import Database, atomic


class CaseDigests:
    """The hashes of the cases of runs; ``format`` names how they were computed."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def find(self, run: RunRecord, *, format: str) -> str | None:  # noqa: A002 - what it is called
        """Return the hash of a run's cases; None if there is none, or it is of fewer cases or another format."""
        rows = self._db.rows(
            "SELECT digest FROM case_digests WHERE run = ? AND cases = ? AND format = ?",
            [run.number, run.cases, format],
        )
        return str(rows[0][0]) if rows else None

    @atomic
    def keep(self, run: RunRecord, digest: str, *, format: str) -> None:  # noqa: A002 - as above
        """Store the hash of a run's cases; raises ``StoreError`` where the store cannot be written to."""
        self._db.execute(
            "INSERT INTO case_digests (run, cases, format, digest) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (run) DO UPDATE SET cases = excluded.cases, format = excluded.format, "
            "digest = excluded.digest",
            [run.number, run.cases, format, digest],
        )
