"""One heap for all threads of the command.

The C library of Linux gives each thread a heap of its own, and what one thread has freed, another cannot use. The fits
of a ranking, each in whichever thread is idle, took a quarter more memory that way. Python runs one thread at a time,
so they hardly ever wait for each other.
"""

from __future__ import annotations

import os
import sys
from typing import Final

_MOST_HEAPS: Final = -8  # M_ARENA_MAX of mallopt
# Whoever sets this knows better.
_VARIABLE: Final = "MALLOC_ARENA_MAX"


def share_heap() -> None:
    """Let all threads that are going to be started use one heap, where the C library can be told so."""
    if not sys.platform.startswith("linux") or _VARIABLE in os.environ:
        return
    try:
        import ctypes  # noqa: PLC0415 - some builds of Python have none
    except ImportError:
        return
    if set_option := getattr(ctypes.CDLL(None), "mallopt", None):
        set_option(_MOST_HEAPS, 1)
