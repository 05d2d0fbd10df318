"""The folder of a Ray that is started here, for this user only: gone with it, or with the next one.

Ray opens its own folder to everybody, so it is put into one that is not.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

_PREFIX: Final = "evenhand-ray-"
# Locked by the process whose Ray it is, for as long as that lives.
_OWNER: Final = "owner"
# Sockets are in it, whose paths may not be long.
_RAY: Final = "r"


@contextlib.contextmanager
def session_folder() -> Iterator[Path]:
    """Make the folder of a Ray, and remove it in the end; those of processes that are gone are removed first."""
    remove_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        with (folder / f"{_OWNER}.new").open("wb") as owner:
            _lock(owner)
            # Only now another process may find it: until here it could have been taken for abandoned.
            Path(owner.name).replace(folder / _OWNER)
            (folder / _RAY).mkdir()
            yield folder / _RAY
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned() -> None:
    """Remove folders of this user that no process has any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # it is not of this user, in use, or has just been removed
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with (folder / _OWNER).open("r+b") as owner:
                if _lock(owner):
                    shutil.rmtree(folder, ignore_errors=True)


def _lock(file: IO[bytes]) -> bool:
    """Lock a file for this process, False where that cannot be; raises ``BlockingIOError`` if another has locked it."""
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return False
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True
