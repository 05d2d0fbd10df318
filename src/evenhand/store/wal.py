"""Commits that a write-ahead log has lost: SQLite reads a log up to the first thing wrong in it, and says nothing.

All frames of a log share its salts. One after the last that SQLite read which has them, and is a commit, was kept once,
and is lost now. A log that breaks off says nothing of what stood there: that is as if the machine had gone down before.
See https://sqlite.org/walformat.html.

The log may be opened here. The database and the index beside it may not: closing a file lets go of all locks that this
process has on it, SQLite's included.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Final, NamedTuple

_HEAD: Final = struct.Struct(">16x4s4s8x")
# Of a frame: how many pages the database has after a commit, otherwise 0, and the salts.
_FRAME: Final = struct.Struct(">4xI4s4s8x")


def log_of(database: str) -> Path:
    """Return the path of a database's log."""
    return Path(f"{database}-wal")


def has_frames(log: Path) -> bool:
    """Tell whether there is anything in a log."""
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
    """Find the commits that stand in a log after a frame."""
    step = _FRAME.size + page_size
    frames = []
    try:
        with log.open("rb") as file:
            head = file.read(_HEAD.size)
            first, second = _HEAD.unpack(head)
            for number in range(last, (os.fstat(file.fileno()).st_size - _HEAD.size) // step):
                file.seek(_HEAD.size + number * step)
                pages, one, other = _FRAME.unpack(file.read(_FRAME.size))
                # Either will do: both change from log to log, and one of them may be what is damaged.
                if pages and (one == first or other == second):
                    frames.append(number)
    except (OSError, struct.error):  # it was folded into the database meanwhile
        return Commits(b"", ())
    return Commits(head, tuple(frames))
