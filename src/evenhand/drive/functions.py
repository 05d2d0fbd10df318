"""Calling somebody's function, whichever kind it is."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any


async def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function, sync or async; a sync one in a thread, so that others need not wait for it."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await function(*args, **kwargs)
    value = await asyncio.to_thread(_without_stop_iteration, function, *args, **kwargs)
    return await value if inspect.isawaitable(value) else value


def _without_stop_iteration(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except StopIteration as stop:
        # No future takes this exception: who awaits the thread would wait for ever.
        raise RuntimeError("StopIteration was raised: is this an iterator at its end?") from stop
