"""Models that are made but not asked, for estimates: they need no keys."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_unasked: ContextVar[bool] = ContextVar("unasked", default=False)


@contextlib.contextmanager
def unasked(so: bool = True) -> Iterator[None]:
    """Let models be made without their keys meanwhile; whoever asks such a one is refused by its provider."""
    before = _unasked.set(so)
    try:
        yield
    finally:
        _unasked.reset(before)


def is_unasked() -> bool:
    """Tell whether models that are made now will not be asked."""
    return _unasked.get()
