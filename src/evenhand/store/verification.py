"""Check a whole run for what is damaged or missing, and the write-ahead log for commits that were lost.

All frames of a log share its salts. One after the last that SQLite read which has them, and is a commit, was kept once,
and is lost now. A log that breaks off says nothing of what was there: that is as if the machine had gone down before.
See https://sqlite.org/walformat.html.

The log may be opened here. The database and the index beside it may not: closing a file lets go of all locks that this
process has on it, SQLite's included.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from evenhand.domain.errors import StoreError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.store import shared_texts
from evenhand.store.records import ANSWERS, CASES, DRAWS, EVALUATIONS, LABELS, Row, Table
from evenhand.store.rows import loads
from evenhand.store.store import Store

_HEAD: Final = struct.Struct(">16x4s4s8x")
# Of a frame: how many pages the database has after a commit, otherwise 0, and the salts.
_FRAME: Final = struct.Struct(">4xI4s4s8x")


def log_of(database: str) -> Path:
    """Return the path of a database's log."""
    return Path(f"{database}-wal")


def has_frames(log: Path) -> bool:
    """Return whether there is anything in a log."""
    try:
        return log.stat().st_size > _HEAD.size
    except OSError:
        return False


class Commits(NamedTuple):
    """The commits of a log after some frame, by the numbers of their frames, and the salts by which it is known."""

    salts: bytes
    frames: tuple[int, ...]

    def after(self, last: int) -> int:
        """Count those after a frame."""
        return sum(number >= last for number in self.frames)


def commits_after(log: Path, *, last: int, page_size: int) -> Commits:
    """Find the commits that are in a log after a frame."""
    step = _FRAME.size + page_size
    frames = []
    try:
        with log.open("rb") as file:
            head = file.read(_HEAD.size)
            first, second = _HEAD.unpack(head)
            for number in range(last, (os.fstat(file.fileno()).st_size - _HEAD.size) // step):
                file.seek(_HEAD.size + number * step)
                pages, frame_first, frame_second = _FRAME.unpack(file.read(_FRAME.size))
                # Either will do: both change from log to log, and one of them may be what is damaged.
                if pages and (frame_first == first or frame_second == second):
                    frames.append(number)
    except (OSError, struct.error):  # it was folded into the database meanwhile
        return Commits(b"", ())
    return Commits(head, tuple(frames))


_PAGE: Final = 256
# How many problems of a run are listed; the rest is counted.
_MOST_LISTED: Final = 20
_OF_RUNS: Final = ("cases", "answers", "evaluations", "labels", "label_draws", "replies", "shared_texts")


@dataclass(slots=True, kw_only=True)
class Verified:
    """The verification of a run: how many rows it has, how many have no checksum, and what is wrong."""

    id: str
    rows: int = 0
    uncovered: int = 0
    damages: int = 0
    told: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether no damage was found."""
        return not self.damages

    def add(self, damage: str) -> None:
        """Add something that is wrong."""
        self.damages += 1
        if len(self.told) < _MOST_LISTED:
            self.told.append(damage)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "id": self.id,
            "status": "ok" if self.is_sound else "damaged",
            "rows": self.rows,
            "uncovered": self.uncovered,
            "damages": self.damages,
            "told": self.told,
        }


def verify_database(store: Store) -> list[str]:
    """Return what is wrong with a database as a whole: its own check, and rows that belong to no run."""
    problems = []
    try:
        store.database.check()
    except StoreError as error:
        problems.append(str(error))
    for table in _OF_RUNS:
        sql = f"SELECT COUNT(*) FROM {table} WHERE run NOT IN (SELECT number FROM runs)"  # noqa: S608 - our own names
        try:
            ((count,),) = store.database.rows(sql)
        except StoreError as error:
            problems.append(str(error))
        else:
            if count:
                problems.append(f"{count:,} rows of {table} belong to no run")
    return problems


def verify_run(store: Store, run_id: str) -> Verified:
    """Verify the checksum of every row of a run, and the counts."""
    run = store.runs.find(run_id, verify=False)
    verified = Verified(id=run.id)
    store.database.shared_texts.clear()  # what is kept of them says nothing of what is stored
    try:
        _verify_record(store, run, verified)
        cases = _verify_cases(store, run, verified)
        counts = {table.name: _verify_rows(store, run, table, cases, verified) for table in (ANSWERS, EVALUATIONS)}
        _verify_rows(store, run, LABELS, cases, verified)
        for row in _rows(store, DRAWS, run, "number"):
            _verify_row(DRAWS, run, row, verified)
        _verify_shared_texts(store, run, verified)
        _verify_counts(store, run, counts, verified)
        _verify_replies(store, run, verified)
    except StoreError as error:
        verified.add(str(error))
    return verified


def _verify_record(store: Store, run: RunRecord, verified: Verified) -> None:
    verified.rows += 1
    is_sound = store.runs.is_sound(run)
    verified.uncovered += is_sound is None
    if is_sound is False:
        verified.add("its row in the table of runs does not match its checksum")


def _verify_cases(store: Store, run: RunRecord, verified: Verified) -> int:
    count = 0
    for row in _rows(store, CASES, run, "position"):
        if row[0] != count:
            verified.add(f"its case at position {row[0]!r:.20} is where {count} should be")
        count += 1
        _verify_row(CASES, run, row, verified)
    if run.status is not RunStatus.PLANNING and count != run.cases:
        verified.add(f"of its {run.cases:,} cases, there are {count:,}")
    return count


def _verify_rows(store: Store, run: RunRecord, table: Table, cases: int, verified: Verified) -> int:
    """Verify the answers, the evaluations or the labels of a run, and return how many there are."""
    count = 0
    before: Row = ()
    keys = {ANSWERS.name: 3, EVALUATIONS.name: 4, LABELS.name: 2}[table.name]
    for row in _rows(store, table, run, ", ".join(table.columns[:keys])):
        count += 1
        if _verify_row(table, run, row, verified) and table is EVALUATIONS:
            _verify_sharing(store, run, row, verified)
        if not isinstance(row[0], int) or not 0 <= row[0] < cases:
            verified.add(f"the {table.row} of {table.place_of(row)} belongs to no case")
        if row[:keys] == before:
            verified.add(f"duplicate {table.row}: {table.place_of(row)}")
        before = row[:keys]
    return count


def _verify_row(table: Table, run: RunRecord, row: Row, verified: Verified) -> bool:
    """Verify a row by itself, and return whether it is sound."""
    verified.rows += 1
    damages = verified.damages
    *columns, content, stored_checksum = row
    if stored_checksum is None and not run.covered:
        verified.uncovered += 1
        try:
            loads(content)
        except (StoreError, AttributeError, TypeError):
            verified.add(f"the {table.row} of {table.place_of(row)} cannot be read")
    elif not isinstance(content, str) or not table.is_sound(run.number, tuple(columns), stored_checksum, content):
        verified.add(f"the {table.row} of {table.place_of(row)} does not match its checksum")
    return verified.damages == damages


def _verify_sharing(store: Store, run: RunRecord, row: Row, verified: Verified) -> None:
    """Verify that the texts are there that an evaluation shares."""
    try:
        shared_texts.whole(store.database, run.number, [row[-2]])
    except (StoreError, ValueError) as error:
        verified.add(f"the evaluation of {EVALUATIONS.place_of(row)} cannot be read: {error}")


def _verify_shared_texts(store: Store, run: RunRecord, verified: Verified) -> None:
    for name, text in shared_texts.all_of(store.database, run.number):
        verified.rows += 1
        if not shared_texts.is_sound(name, text):
            verified.add(f"the text {name:.40}, which evaluations share, does not match its hash")


def _verify_counts(store: Store, run: RunRecord, counts: dict[str, int], verified: Verified) -> None:
    if run.status is not RunStatus.FINISHED:
        return
    for name, recorded in (("evaluations", run.evaluations), ("answers", run.answers)):
        if recorded is not None and counts[name] != recorded:
            verified.add(f"of its {recorded:,} {name}, there are {counts[name]:,}")
    expected, judged = store.extent(run)
    if run.evaluations is None and judged < expected:
        verified.add(f"of the {expected:,} evaluations that it should have, there are {judged:,}")


def _verify_replies(store: Store, run: RunRecord, verified: Verified) -> None:
    for key in store.replies.keys(run):
        verified.rows += 1
        try:
            store.replies.find(key)
        except StoreError as error:
            verified.add(f"in the cache: {error}")


def _rows(store: Store, table: Table, run: RunRecord, order: str) -> Iterator[Row]:
    """Read the rows of a run as they are, page by page, by what identifies them."""
    keys = order.split(", ")
    names = ", ".join((*table.columns, "content", "checksum"))
    marks = ", ".join("?" * len(keys))
    after: Row = (-1,) * len(keys)
    while True:
        page = store.database.rows(
            f"SELECT {names} FROM {table.name} WHERE run = ? AND ({order}) > ({marks}) "  # noqa: S608 - our own names
            f"ORDER BY {order} LIMIT {_PAGE}",
            [run.number, *after],
        )
        yield from page
        if not page or page[-1][: len(keys)] <= after:
            return
        after = page[-1][: len(keys)]
