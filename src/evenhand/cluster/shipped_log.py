"""The logs of workers, which appear in the driver's as if it had judged itself."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from evenhand.cluster.messages import LogLine

# So many records wait for the next report at most, with so many characters each.
MOST_LINES: Final = 200
_LONGEST: Final = 10_000
# Ray has its own logs, in its own files.
_RAYS: Final = "ray"


class ShippedLog(logging.Handler):
    """Keeps what a worker logs until its next report."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._lines: list[LogLine] = []
        self._dropped = 0
        self._tracebacks = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record, if there is room for it."""
        if record.name.partition(".")[0] == _RAYS:
            return
        if len(self._lines) >= MOST_LINES:
            self._dropped += 1
            return
        try:
            message = record.getMessage()[:_LONGEST]
        except Exception:  # a mistake of whoever logs; what ends no program must end no worker
            message = str(record.msg)[:_LONGEST]
        trace = None if not record.exc_info else self._tracebacks.formatException(record.exc_info)[-_LONGEST:]
        self._lines.append(LogLine(record.name, record.levelno, record.created, message, trace))

    def taken(self) -> list[LogLine]:
        """Return what was kept, and keep it no longer."""
        lines, dropped = self._lines, self._dropped
        self._lines, self._dropped = [], 0
        if dropped:
            words = f"{dropped:,} more records of a worker's log were dropped"
            lines.append(LogLine(__name__, logging.WARNING, lines[-1].created, words, None))
        return lines


def install_log(level: int) -> ShippedLog:
    """Keep what is logged in this process from now on."""
    root, log = logging.getLogger(), ShippedLog(level)
    for each in [each for each in root.handlers if isinstance(each, ShippedLog)]:
        root.removeHandler(each)
    root.setLevel(level)
    root.addHandler(log)
    return log


def log_again(lines: Iterable[LogLine]) -> None:
    """Log what a worker has logged."""
    for line in lines:
        logger = logging.getLogger(line.name)
        if logger.isEnabledFor(line.level):
            record = logger.makeRecord(line.name, line.level, "worker", 0, line.message, (), None)
            record.created, record.exc_text = line.created, line.trace
            logger.handle(record)
