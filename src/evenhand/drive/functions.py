"""Calling somebody's function, whichever kind it is."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any


async def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function, sync or async; a sync one in a thread, so that others need not wait for it.

    What would end the whole program comes back as a ``RuntimeError``.
    """
    try:
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
            return await function(*args, **kwargs)
        value = await _in_thread(functools.partial(function, *args, **kwargs))
        return await value if inspect.isawaitable(value) else value
    except (SystemExit, KeyboardInterrupt) as stop:
        raise RuntimeError(f"the function raised {type(stop).__name__} ({stop})") from stop


async def _in_thread(function: Callable[[], Any]) -> Any:
    """Run a function in a thread that nobody waits for when the program ends: it may never come back."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(result: tuple[Any, BaseException | None]) -> None:
        if not outcome.done():
            outcome.set_result(result)

    def work() -> None:
        try:
            result: tuple[Any, BaseException | None] = (context.run(function), None)
        except BaseException as error:  # raised again where it is awaited
            result = (None, error)
        with contextlib.suppress(RuntimeError):  # the loop may be gone by now
            loop.call_soon_threadsafe(deliver, result)

    threading.Thread(target=work, name="evenhand-function", daemon=True).start()
    value, error = await outcome
    if error is not None:
        raise error
    return value
