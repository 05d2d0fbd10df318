"""Paths as people give them: seen from the working folder."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def seen_from_here(path: str) -> str:
    """Return a path as seen from the working folder, if it is inside."""
    with contextlib.suppress(OSError):  # the folder may be gone
        return path.removeprefix(f"{Path.cwd()}{os.sep}")
    return path
