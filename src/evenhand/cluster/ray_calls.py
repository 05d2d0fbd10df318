"""Calls to actors of Ray: how they are waited for, and what is said of those that fail."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from typing import Any


async def answer(called: concurrent.futures.Future[Any]) -> Any:
    """Wait for a call. Whoever gives up waiting does not cancel it, which Ray's client could not take."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def wake(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
            loop.call_soon_threadsafe(ended.set)

    called.add_done_callback(wake)
    await ended.wait()
    return called.result()


def first_line(error: BaseException) -> str:
    """Return the first words of an error of Ray, which may have many lines."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
