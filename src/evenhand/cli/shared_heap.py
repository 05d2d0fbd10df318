"""One heap for all threads of the command.

glibc gives each thread a heap of its own (an arena), and memory that one thread has freed cannot be used by another.
The fits of a ranking, each in whichever thread is idle, took a quarter more memory that way. Python runs one thread at
a time, so threads hardly ever wait for each other's allocations.
"""

from __future__ import annotations

import os
import sys
from typing import Final

_ARENA_MAX: Final = -8  # the number that mallopt knows the option by
# Whoever sets this has decided already.
_VARIABLE: Final = "MALLOC_ARENA_MAX"


def share_heap() -> None:
    """Let all threads that are started from now on use one heap, where the C library has that option."""
    if not sys.platform.startswith("linux") or _VARIABLE in os.environ:
        return
    try:
        import ctypes  # noqa: PLC0415 - some builds of Python have none
    except ImportError:
        return
    if set_option := getattr(ctypes.CDLL(None), "mallopt", None):
        set_option(_ARENA_MAX, 1)
