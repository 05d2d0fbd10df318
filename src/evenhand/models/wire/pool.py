"""The connections of one event loop: those that wait for the next request, and the turns of those who wait for one."""

from __future__ import annotations

import asyncio

from evenhand.models.timeouts import Watch
from evenhand.models.wire.connection import Connection
from evenhand.models.wire.dial import dial
from evenhand.models.wire.route import Route

# Servers close connections that idle, some after as few as 5 seconds, and a request that crosses this is lost.
_LONGEST_IDLE = 15.0
# A loop that stalled for longer, on a machine that slept perhaps, may not know yet that a connection was closed.
_UNSEEN = 1.0


class Pool:
    """What all requests on one loop share: the places that they go to, and the watch over their time."""

    def __init__(self, at_once: int) -> None:
        self.watch = Watch()
        self._at_once = at_once
        self._places: dict[Route, Slot] = {}

    def place(self, route: Route) -> Slot:
        """Return the place that a route leads to."""
        place = self._places.get(route)
        if place is None:
            place = self._places[route] = Slot(route, self._at_once)
        return place

    async def close(self) -> None:
        """Close the connections that wait."""
        for place in self._places.values():
            place.close_idle()
        # A transport is gone after the next round of the loop; an encrypted one has another inside.
        await asyncio.sleep(0)
        await asyncio.sleep(0)


class Slot:
    """The connections over one route, and the turns at it, one of which each request takes."""

    def __init__(self, route: Route, at_once: int) -> None:
        self.turns = asyncio.Semaphore(at_once)
        self._route = route
        self._idle: list[Connection] = []
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    async def connection(self) -> Connection:
        """Return the connection that was used last, if it is still good, or else a new one."""
        while self._idle:
            connection = self._idle.pop()
            waited, is_open = self._loop.time() - connection.idle_since, connection.is_open
            # What came unasked, and lies there unread, would be taken for the answer to the next request.
            if waited >= _UNSEEN or (is_open and connection.has_unread):
                await self._read(connection)
                is_open = connection.is_open
            if is_open and waited < _LONGEST_IDLE:
                return connection
            connection.close()
        connection = await dial(self._route)
        if connection.is_open and connection.has_unread:
            await self._read(connection)  # if it is words, nobody asked for them, and the next request is told so
        return connection

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next request, or close it if anything about the last one was odd."""
        if connection.is_clean:
            connection.idle_since = self._loop.time()
            self._idle.append(connection)
            if self._timer is None:
                self._timer = self._loop.call_later(_LONGEST_IDLE, self._close_old)
            return
        connection.close()
        if connection.was_stale:
            self.close_idle()  # they have waited longer than this one: a second try must not fall into the same hole

    def close_idle(self) -> None:
        """Close the connections that wait."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @staticmethod
    async def _read(connection: Connection) -> None:
        """Let a connection that waited read what came in the meantime."""
        try:
            # Two rounds of the loop: the first looks at the network, and by the second it is read what there was.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        except BaseException:
            connection.close()
            raise

    def _close_old(self) -> None:
        """Close the connections that have waited for too long; the oldest are first."""
        self._timer = None
        last = self._loop.time() - _LONGEST_IDLE
        while self._idle and (self._idle[0].idle_since <= last or not self._idle[0].is_open):
            self._idle.pop(0).close()
        if self._idle:
            self._timer = self._loop.call_at(self._idle[0].idle_since + _LONGEST_IDLE, self._close_old)
