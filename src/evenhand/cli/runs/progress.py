"""The progress of a run: a line that is rewritten on a terminal, or now and then a new one elsewhere."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable

from evenhand.cli.console import Console
from evenhand.engine.run import Progress
from evenhand.reports.phrases import cost_text, counted, duration_text
from evenhand.reports.safe_text import plain

LIVE_SECONDS = 0.25
# Without a terminal: a line after so many seconds or another tenth of the work, at most once a second.
PLAIN_SECONDS = 10.0
PARTS = 10
LEAST_SECONDS = 1.0
LONGEST_ERROR = 120


async def show(progress: Callable[[], Progress], console: Console) -> None:
    """Show the progress until this is cancelled; ``progress`` returns the current counts."""
    plain_lines = PlainLines()
    while True:
        await asyncio.sleep(LIVE_SECONDS)
        if console.is_asking:
            continue
        now = progress()
        if console.is_live:
            console.live(line(now))
        elif plain_lines.is_due(now):
            console.note(line(now))


class PlainLines:
    """Decides when a line is due."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._shown_at = clock()
        self._tenths: int | None = None

    def is_due(self, progress: Progress) -> bool:
        """Return whether enough has happened since the last line; the end is left to the report."""
        tenths = PARTS * progress.done // max(progress.total, 1)
        if self._tenths is None:
            self._tenths = tenths
        since = self._clock() - self._shown_at
        if since < LEAST_SECONDS or progress.done >= progress.total:
            return False
        if since < PLAIN_SECONDS and tenths == self._tenths:
            return False
        self._shown_at, self._tenths = self._clock(), tenths
        return True


def line(progress: Progress) -> str:
    """Return the progress, speed, remaining time and cost so far as one line.

    >>> line(Progress(total=1000, done=250))
    '250 of 1,000 evaluations, 25 %, $0.00'
    """
    share = progress.done / max(progress.total, 1)
    parts = [f"{progress.done:,} of {counted(progress.total, 'evaluation')}", f"{int(share * 100)} %"]
    if progress.done > progress.done_before:
        parts.append(f"{progress.rate:.1f}/s")
        if progress.seconds_left is not None and progress.done < progress.total:
            parts.append(f"{_time(progress.seconds_left)} left")
    parts.append("cost unknown" if progress.cost is None else cost_text(progress.cost))
    if (ahead := progress.forecast) is not None:
        low, high = cost_text(ahead.spent + ahead.low), cost_text(ahead.spent + ahead.high)
        parts[-1] += f" of about {cost_text(ahead.spent + ahead.rest)} [{low} to {high}]"
    parts += [counted(progress.errors, "error")] if progress.errors else []
    parts += [counted(progress.retries, "retry", "retries")] if progress.retries else []
    parts += [counted(progress.faults, "failed call")] if progress.faults else []
    parts += [f"{progress.cached:,} from the cache"] if progress.cached else []
    parts += ["paused"] if progress.paused else []
    parts += [f"waiting for {counted(len(progress.batches), 'batch', 'batches')}"] if progress.batches else []
    parts += ["limited by the provider"] if progress.waits_for_provider and not progress.paused else []
    parts += [f"latest error: {plain(progress.latest_error, LONGEST_ERROR)}"] if progress.latest_error else []
    return ", ".join(parts)


def _time(seconds: float) -> str:
    return f"{math.ceil(seconds)} s" if seconds < 60 else duration_text(seconds)
