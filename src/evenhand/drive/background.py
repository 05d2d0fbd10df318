"""The package's own event loop, in a thread of its own, on which the sync forms run.

It is made when first needed, again after a fork, and closed when the interpreter ends, so that the sync forms work
repeatedly, from any thread, inside a running loop and in a forked child.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

from evenhand.domain.errors import EvenhandError

Outcome = TypeVar("Outcome")

_CLOSING_SECONDS = 5.0


class BackgroundLoop:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._serve, name="evenhand-loop", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    @property
    def alive(self) -> bool:
        """Whether the loop runs, in this process: a forked child has the object and not the thread."""
        return self.process == os.getpid() and self.thread.is_alive()

    def run(self, coroutine: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Run a coroutine to its end and wait for it."""
        if threading.current_thread() is self.thread:
            coroutine.close()
            raise EvenhandError("a sync form was called from the loop it would wait for; await its async form instead")
        future = asyncio.run_coroutine_threadsafe(_carried(coroutine), self.loop)
        try:
            outcome, error = future.result()
        except BaseException:
            future.cancel()
            raise
        if error is not None:
            raise error
        return cast("Outcome", outcome)

    def close(self) -> None:
        """End the loop, after closing what lives on it (model clients keep their connections in async generators)."""
        if not self.alive:
            return
        with contextlib.suppress(TimeoutError):  # a loop that somebody blocks is left behind
            asyncio.run_coroutine_threadsafe(self.loop.shutdown_asyncgens(), self.loop).result(_CLOSING_SECONDS)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(_CLOSING_SECONDS)
        if not self.thread.is_alive():
            self.loop.close()


async def _carried(coroutine: Coroutine[Any, Any, Outcome]) -> tuple[Outcome | None, BaseException | None]:
    """Carry what would end the loop, such as ``SystemExit``, over to the caller whose it is."""
    try:
        return await coroutine, None
    except (SystemExit, KeyboardInterrupt) as stop:
        return None, stop


_current: BackgroundLoop | None = None
_making = threading.Lock()


def run(coroutine: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run a coroutine on the background loop and wait for its result."""
    return _loop().run(coroutine)


def close() -> None:
    """Close the background loop; the next sync call makes a new one."""
    global _current  # noqa: PLW0603 - the one loop of this process
    with _making:
        if _current is not None:
            _current.close()
            _current = None


def _loop() -> BackgroundLoop:
    global _current  # noqa: PLW0603 - the one loop of this process
    found = _current
    if found is not None and found.alive:
        return found
    with _making:
        if _current is None or not _current.alive:
            _current = BackgroundLoop()
        return _current


def _forget_after_fork() -> None:
    global _making  # noqa: PLW0603 - the parent may have held it
    _making = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
atexit.register(close)
