"""One pool of connections for each event loop, shared by all clients on it and closed when the loop ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.models.wire.pool import Pool

# To one host: a judge that hangs must not keep the others waiting.
_AT_ONCE = 256

# What a loop has, and the generator that closes it.
_kept: dict[asyncio.AbstractEventLoop, tuple[Pool, AsyncGenerator[Pool, None]]] = {}
# Those of the parent, in a forked child. They are kept so that nobody closes them.
_inherited: list[object] = []


def current_pool() -> Pool | None:
    """Give the pool of the running loop, once it is opened."""
    kept = _kept.get(asyncio.get_running_loop())
    return None if kept is None else kept[0]


async def open_pool() -> Pool:
    """Open a pool for the running loop."""
    loop = asyncio.get_running_loop()
    _drop_closed()
    # Started on this loop, so that its end (``shutdown_asyncgens``) closes the generator, and that the pool.
    keeper = _pool_until_the_end(loop)
    pool, _ = _kept[loop] = (await anext(keeper), keeper)
    return pool


async def _pool_until_the_end(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[Pool, None]:
    from evenhand.models.wire.pool import Pool  # noqa: PLC0415 - loaded by the first request

    pool = Pool(_AT_ONCE)
    try:
        yield pool
    finally:
        _kept.pop(loop, None)
        await pool.close()


def _drop_closed() -> None:
    """Let go of loops that were closed without ``shutdown_asyncgens``, as those who make loops by hand may do."""
    for loop in list(_kept):  # a copy: other threads have loops too
        if loop.is_closed():
            _kept.pop(loop, None)


def _leave_to_the_parent() -> None:
    """Set the pools of the parent aside: closing their connections in the child would disturb it."""
    _inherited.extend(_kept.items())
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)
