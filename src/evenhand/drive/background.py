"""The package's own event loop, in a thread of its own, on which the sync forms run.

It is made when first needed, again after a fork, and closed when the interpreter ends, so that the sync forms work
repeatedly, from any thread, inside a running loop and in a forked child.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from evenhand.domain.errors import EvenhandError

Outcome = TypeVar("Outcome")

_THREADS_FOR_FUNCTIONS = 64
_CLOSING_SECONDS = 5.0


class BackgroundLoop:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._functions = ThreadPoolExecutor(_THREADS_FOR_FUNCTIONS, thread_name_prefix="evenhand-function")
        self.loop.set_default_executor(self._functions)
        self.thread = threading.Thread(target=self._serve, name="evenhand-loop", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run(self, coroutine: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Run a coroutine to its end and wait for it."""
        if threading.current_thread() is self.thread:
            coroutine.close()
            raise EvenhandError("a sync form was called from the loop it would wait for; await its async form instead")
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End the loop, after closing what lives on it (model clients keep their connections in async generators)."""
        if self.process != os.getpid() or self.loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self.loop.shutdown_asyncgens(), self.loop).result(_CLOSING_SECONDS)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(_CLOSING_SECONDS)
        self._functions.shutdown(wait=False, cancel_futures=True)
        if not self.thread.is_alive():
            self.loop.close()


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
    if found is not None and found.process == os.getpid():
        return found
    with _making:
        if _current is None or _current.process != os.getpid():
            _current = BackgroundLoop()
        return _current


def _forget_after_fork() -> None:
    global _making  # noqa: PLW0603 - the parent may have held it
    _making = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
atexit.register(close)
