"""One HTTP session for each event loop, shared by all clients on it and closed when the loop ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import ClientSession

# To one host: a judge that hangs must not keep the others waiting.
_CONNECTIONS = 256

# The session, and the generator that closes it.
_kept: dict[asyncio.AbstractEventLoop, tuple[ClientSession, AsyncGenerator[ClientSession, None]]] = {}
# Those of the parent, in a forked child. They are kept so that nobody closes them.
_inherited: list[object] = []


async def current_session() -> ClientSession:
    """Give the session of the running loop, and open it when there is none."""
    loop = asyncio.get_running_loop()
    kept = _kept.get(loop)
    if kept is None:
        _drop_closed()
        # Started on this loop, so that its end (``shutdown_asyncgens``) closes the generator, and that the session.
        keeper = _session_until_the_end(loop)
        kept = _kept[loop] = (await anext(keeper), keeper)
    return kept[0]


async def _session_until_the_end(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[ClientSession, None]:
    import aiohttp  # noqa: PLC0415 - loaded by the first request

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, limit_per_host=_CONNECTIONS),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,  # how far a body may be unpacked is the reader's to say
        # Proxies are worked out when a model is made. Here this would also send logins from ~/.netrc.
        trust_env=False,
    )
    try:
        yield session
    finally:
        _kept.pop(loop, None)
        await session.close()


def _drop_closed() -> None:
    """Let go of loops that were closed without ``shutdown_asyncgens``, as those who make loops by hand may do."""
    for loop in list(_kept):  # a copy: other threads have loops too
        if loop.is_closed() and (kept := _kept.pop(loop, None)) is not None:
            closing = kept[0].close()
            # Without its loop there is nothing to wait for: the first step is the last.
            with contextlib.suppress(StopIteration):
                closing.send(None)


def _leave_to_the_parent() -> None:
    """Set the sessions of the parent aside: closing them in the child would disturb it."""
    _inherited.extend(_kept.items())
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)
