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
from concurrent.futures import Future, wait
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

    def run(self, coroutine: Coroutine[Any, Any, Outcome], *, patience: float = 0.0) -> Outcome:
        """Run a coroutine to its end and wait for it.

        On Ctrl-C it is cancelled, and may take so many seconds of ``patience`` to end; a second one does not wait.
        """
        if threading.current_thread() is self.thread:
            coroutine.close()
            raise EvenhandError("a sync form was called from the loop it would wait for; await its async form instead")
        ended: Future[tuple[Outcome | None, BaseException | None]] = Future()
        tasks: list[asyncio.Task[tuple[Outcome | None, BaseException | None]]] = []

        def begin() -> None:
            task = self.loop.create_task(_catch_exit(coroutine))
            task.add_done_callback(end)
            tasks.append(task)

        def end(task: asyncio.Task[tuple[Outcome | None, BaseException | None]]) -> None:
            coroutine.close()  # of one that was cancelled before its first step
            _hand_over(task, ended)

        def give_up() -> None:
            for task in tasks:
                task.cancel()
            if not tasks:
                coroutine.close()
                _cancel(ended)

        try:
            self.loop.call_soon_threadsafe(begin)
            outcome, error = ended.result()
        except BaseException:
            if not ended.done():
                # On the loop, which knows what was begun: Ctrl-C comes at any moment.
                self.loop.call_soon_threadsafe(give_up)
                wait([ended], patience)
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


async def _catch_exit(coroutine: Coroutine[Any, Any, Outcome]) -> tuple[Outcome | None, BaseException | None]:
    """Carry what would end the loop, such as ``SystemExit``, over to the caller whose it is."""
    try:
        return await coroutine, None
    except (SystemExit, KeyboardInterrupt) as stop:
        return None, stop


def _hand_over(task: asyncio.Task[Any], ended: Future[Any]) -> None:
    """Pass to a thread how a task ended."""
    if task.cancelled():
        _cancel(ended)
    elif (error := task.exception()) is not None:
        ended.set_exception(error)
    else:
        ended.set_result(task.result())


def _cancel(ended: Future[Any]) -> None:
    ended.cancel()
    ended.set_running_or_notify_cancel()  # only this wakes those who wait for several


_current: BackgroundLoop | None = None
_making = threading.Lock()


def run(coroutine: Coroutine[Any, Any, Outcome], *, patience: float = 0.0) -> Outcome:
    """Run a coroutine on the background loop and wait for its result; see ``BackgroundLoop.run``."""
    return _loop().run(coroutine, patience=patience)


def close() -> None:
    """Close the background loop; the next sync call makes a new one."""
    global _current  # noqa: PLW0603 - the one loop of this process
    with _making:
        if _current is not None:
            _current.close()
            _current = None


def _loop() -> BackgroundLoop:
    global _current  # noqa: PLW0603 - the one loop of this process
    current = _current
    if current is not None and current.alive:
        return current
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
