"""How often each client may change something: a bucket that fills again (REL-W7)."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_MOST_CLIENTS: Final = 10_000


class ClientPace:
    """Counts the changes of each client; all of a minute may come at once.

    >>> pace = ClientPace(60, clock=lambda: 0.0)
    >>> [pace.seconds_to_wait("a") for _ in range(61)][-2:]
    [0, 1]
    """

    def __init__(self, changes_a_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = changes_a_minute
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def seconds_to_wait(self, client: str) -> int:
        """Count a change and give 0, or say how many seconds the client has to wait."""
        now = self._clock()
        left, since = self._left.pop(client, (float(self._most), now))
        left = min(self._most, left + (now - since) * self._most / 60)
        wait = 0 if left >= 1 else max(1, math.ceil((1 - left) * 60 / self._most))
        self._left[client] = (left if wait else left - 1, now)
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        return wait
