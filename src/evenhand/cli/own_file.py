"""Files that say where keys go: read only if nobody else could have written them."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Final, NamedTuple

NAME: Final = "evenhand"
_ROOT: Final = 0


class OwnFile(NamedTuple):
    """What is in a file, and what keeps it from being the user's own; None where it is that."""

    content: bytes
    problem: str | None


def user_folder() -> Path | None:
    """Give the folder of the user's own settings; None where there is no home."""
    if sys.platform == "win32":
        base = os.environ.get("APPDATA") or "~/AppData/Roaming"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        # One that is not absolute is to be passed over, says the specification.
        base = os.environ.get("XDG_CONFIG_HOME", "")
        base = base if Path(base).is_absolute() else "~/.config"
    try:
        return Path(base).expanduser() / NAME
    except RuntimeError:
        return None


def read_own_file(path: Path) -> OwnFile:
    """Read a file, and look whose it is: at the file that was opened, which may not be at that path any more."""
    with path.open("rb") as file:
        return OwnFile(file.read(), problem_of(os.fstat(file.fileno()), path))


def problem_of(about: os.stat_result, path: Path) -> str | None:
    """Say what keeps a file from being the user's own, and how to mend it; None where it is that."""
    if sys.platform == "win32":
        return None
    # Who is root can write anything anyhow.
    if about.st_uid not in (os.getuid(), _ROOT):
        return (
            f"it belongs to another user (number {about.st_uid}), and could send your keys elsewhere; if you trust "
            f"what is in it, make it yours: sudo chown {os.getuid()} {path}"
        )
    everybody = bool(about.st_mode & stat.S_IWOTH)
    if everybody or (about.st_mode & stat.S_IWGRP and not _is_alone_in(about.st_gid)):
        who = "everybody" if everybody else "a whole group"
        return f"{who} can write to it, and could send your keys elsewhere; look at it, then: chmod go-w {path}"
    return None


def _is_alone_in(group: int) -> bool:
    """Tell whether a group is the user's own, as many systems make one for each user."""
    if sys.platform == "win32":
        return True
    import grp
    import pwd

    try:
        known, me = grp.getgrgid(group), pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return me.pw_gid == group and set(known.gr_mem) <= {me.pw_name} and known.gr_name == me.pw_name
