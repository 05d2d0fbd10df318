"""How a run is getting on: a line that is rewritten, or now and then a plain one where nobody watches."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable

from evenhand.cli.console import Console
from evenhand.engine.run import Progress
from evenhand.reports.phrases import cost_text, counted, duration_text

LIVE_SECONDS = 0.2
# Where nobody watches: a line when so much time or another tenth of the work has passed, and not twice a second.
PLAIN_SECONDS = 10.0
PARTS = 10
LEAST_SECONDS = 1.0


async def show(progress: Callable[[], Progress], console: Console) -> None:
    """Tell how it goes, until this is cancelled; ``progress`` gives the counts of the moment."""
    plainly = PlainLines()
    while True:
        await asyncio.sleep(LIVE_SECONDS)
        now = progress()
        if console.is_live:
            console.live(line(now))
        elif plainly.is_due(now):
            console.note(line(now))


class PlainLines:
    """Decides when a line is due."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told_at = clock()
        self._told: int | None = None

    def is_due(self, progress: Progress) -> bool:
        """Tell whether enough has happened since the last line; the end is told by the report."""
        tenths = PARTS * progress.done // max(progress.total, 1)
        if self._told is None:
            self._told = tenths
        since = self._clock() - self._told_at
        if since < LEAST_SECONDS or progress.done >= progress.total:
            return False
        if since < PLAIN_SECONDS and tenths == self._told:
            return False
        self._told_at, self._told = self._clock(), tenths
        return True


def line(progress: Progress) -> str:
    """Say how far it is, how fast, how long it may still take, and what it took so far.

    >>> one = Progress(total=1000, done=250)
    >>> line(one)
    '250 of 1,000 evaluations, 25 %, $0.00'
    """
    share = progress.done / max(progress.total, 1)
    parts = [f"{progress.done:,} of {counted(progress.total, 'evaluation')}", f"{int(share * 100)} %"]
    if progress.done > progress.done_before:
        parts.append(f"{progress.rate:.1f}/s")
        if progress.seconds_left is not None and progress.done < progress.total:
            parts.append(f"{_time(progress.seconds_left)} left")
    parts.append("cost unknown" if progress.cost is None else cost_text(progress.cost))
    retries = progress.retries + progress.faults
    parts += [counted(progress.errors, "error")] if progress.errors else []
    parts += [f"{retries:,} {'retry' if retries == 1 else 'retries'}"] if retries else []
    parts += [f"{progress.cached:,} from the cache"] if progress.cached else []
    parts += ["paused"] if progress.paused else []
    return ", ".join(parts)


def _time(seconds: float) -> str:
    return f"{math.ceil(seconds)} s" if seconds < 60 else duration_text(seconds)
