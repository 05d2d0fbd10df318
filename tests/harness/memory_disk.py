"""Where the files of tests lie: in memory where there is room for them.

Databases write through to the disk at each commit, and tests make thousands of both, to be thrown away.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

# What all tests leave takes a gigabyte; Ray shares its objects there too.
_ROOM_BYTES: Final = 8 * 2**30
_SHARED_MEMORY: Final = Path("/dev/shm")


def use() -> None:
    """Have temporary files made in memory, here and in what is started from here, unless told otherwise.

    Programs are among these files, so they must be allowed to run there.
    """
    if "TMPDIR" in os.environ or not _SHARED_MEMORY.is_dir():
        return
    found = os.statvfs(_SHARED_MEMORY)
    if found.f_bavail * found.f_frsize >= _ROOM_BYTES and not found.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = str(_SHARED_MEMORY)
        tempfile.tempdir = None  # whoever has asked before is told anew
