"""Processes that can be told from others by a mark in their environment, which those they start inherit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


def marked(mark: str, name: bytes = b"") -> Iterator[int]:
    """Yield the processes with a mark whose command begins so."""
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            is_marked = folder.name.isdecimal() and mark.encode() in (folder / "environ").read_bytes()
            if is_marked and (folder / "cmdline").read_bytes().startswith(name):
                yield int(folder.name)
