"""One HTTP session for each event loop, shared by all clients on it and closed when the loop ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from evenhand.models.alarm import Watch
from evenhand.models.endpoint import USUAL_HEADERS

if TYPE_CHECKING:
    from aiohttp import ClientSession

# To one host: a judge that hangs must not keep the others waiting.
_AT_ONCE = 256


class Connections:
    """What the clients on one loop share: the session, the turns at each host, and the watch over their time."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session
        self.watch = Watch()
        self._turns: dict[str, asyncio.Semaphore] = {}

    def turns_at(self, host: str) -> asyncio.Semaphore:
        """Give the turns at a host, one of which a request takes."""
        turns = self._turns.get(host)
        if turns is None:
            turns = self._turns[host] = asyncio.Semaphore(_AT_ONCE)
        return turns


# What a loop has, and the generator that closes it.
_kept: dict[asyncio.AbstractEventLoop, tuple[Connections, AsyncGenerator[Connections, None]]] = {}
# Those of the parent, in a forked child. They are kept so that nobody closes them.
_inherited: list[object] = []


def current_connections() -> Connections | None:
    """Give the connections of the running loop, once they are opened."""
    kept = _kept.get(asyncio.get_running_loop())
    return None if kept is None else kept[0]


async def open_connections() -> Connections:
    """Open a session for the running loop."""
    loop = asyncio.get_running_loop()
    _drop_closed()
    # Started on this loop, so that its end (``shutdown_asyncgens``) closes the generator, and that the session.
    keeper = _session_until_the_end(loop)
    connections, _ = _kept[loop] = (await anext(keeper), keeper)
    return connections


async def _session_until_the_end(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[Connections, None]:
    import aiohttp  # noqa: PLC0415 - loaded by the first request

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),  # the turns are the limit; time spent waiting for one is nobody's
        headers=USUAL_HEADERS,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,  # how far a body may be unpacked is the reader's to say
        # Proxies are worked out when a model is made. Here this would also send logins from ~/.netrc.
        trust_env=False,
    )
    try:
        yield Connections(session)
    finally:
        _kept.pop(loop, None)
        await session.close()


def _drop_closed() -> None:
    """Let go of loops that were closed without ``shutdown_asyncgens``, as those who make loops by hand may do."""
    for loop in list(_kept):  # a copy: other threads have loops too
        if loop.is_closed() and (kept := _kept.pop(loop, None)) is not None:
            closing = kept[0].session.close()
            # Without its loop there is nothing to wait for: the first step is the last.
            with contextlib.suppress(StopIteration):
                closing.send(None)


def _leave_to_the_parent() -> None:
    """Set the sessions of the parent aside: closing them in the child would disturb it."""
    _inherited.extend(_kept.items())
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)
