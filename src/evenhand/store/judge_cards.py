"""The table of judge cards, so that a run is not read again for one that was worked out before."""

from __future__ import annotations

from evenhand.domain.run import RunRecord
from evenhand.store.database import Database, atomic
from evenhand.store.rows import column
from evenhand.store.summaries import kept_checksum


class JudgeCards:
    """The table of cards. Their content is opaque text; ``format`` names how it was written."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def find(self, run: RunRecord, evaluator: str | None, coverage: str, *, format: str) -> str | None:  # noqa: A002 - what it is called
        """Return the card of an evaluator, or of whole cases; None if there is none that is sound and up to date."""
        rows = self._db.rows(
            "SELECT format, covers, checksum, content FROM judge_cards WHERE run = ? AND evaluator = ?",
            [run.number, column(evaluator or "")],
        )
        for kept_format, covers, written, content in rows:
            if (kept_format, covers) != (format, coverage):
                continue
            if written == kept_checksum(run, evaluator or "", format, covers, content):
                return str(content)
        return None

    @atomic
    def keep(self, run: RunRecord, evaluator: str | None, coverage: str, content: str, *, format: str) -> None:  # noqa: A002 - as above
        """Store a card; raises ``StoreError`` where the store cannot be written to."""
        seal = kept_checksum(run, evaluator or "", format, coverage, content)
        self._db.execute(
            "INSERT INTO judge_cards (run, evaluator, format, covers, checksum, content) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (run, evaluator) DO UPDATE SET format = excluded.format, covers = excluded.covers, "
            "checksum = excluded.checksum, content = excluded.content",
            [run.number, column(evaluator or ""), format, coverage, seal, content],
        )
