"""A cache of values that take long to compute: each is computed once, in the background."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

from evenhand.domain.errors import ConfigError

Value = TypeVar("Value")


class BackgroundCache(Generic[Value]):
    """The last values that were requested, and those that are being computed.

    >>> BackgroundCache(2).get("answer", lambda: 42)
    42
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._mine = threading.Lock()
        self._known: OrderedDict[Hashable, Future[Value]] = OrderedDict()

    def has(self, key: Hashable) -> bool:
        """Return whether a value is available."""
        with self._mine:
            found = self._known.get(key)
        return found is not None and found.done() and found.exception() is None

    def get(self, key: Hashable, make: Callable[[], Value], seconds: float | None = None) -> Value:
        """Return a value; raise ``TimeoutError`` if that takes longer, and compute it in the background."""
        with self._mine:
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = Future()
                # A daemon: shutdown does not wait for numbers.
                threading.Thread(target=self._work, args=(key, make, found), daemon=True).start()
                while len(self._known) > self._most:
                    self._known.popitem(last=False)
            else:
                self._known.move_to_end(key)
        return found.result(seconds)

    def _work(self, key: Hashable, make: Callable[[], Value], found: Future[Value]) -> None:
        try:
            found.set_result(make())
        except ConfigError as error:  # a refusal is a result
            found.set_exception(error)
        except Exception as error:
            with self._mine:
                self._known.pop(key, None)
            found.set_exception(error)
