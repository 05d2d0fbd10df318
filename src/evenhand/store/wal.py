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
from typing import Final

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


def unread_commits(log: Path, *, last: int, page_size: int) -> int:
    """Count the commits that stand in a log after the last frame that was read."""
    step = _FRAME.size + page_size
    count = 0
    try:
        with log.open("rb") as file:
            first, second = _HEAD.unpack(file.read(_HEAD.size))
            for number in range(max(last, 0), (os.fstat(file.fileno()).st_size - _HEAD.size) // step):
                file.seek(_HEAD.size + number * step)
                pages, one, other = _FRAME.unpack(file.read(_FRAME.size))
                # Either will do: both change from log to log, and one of them may be what is damaged.
                count += bool(pages) and (one == first or other == second)
    except (OSError, struct.error):  # it was folded into the database meanwhile
        return 0
    return count
