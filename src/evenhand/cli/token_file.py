"""The file with the token that opens the server: made when it is missing, and for its owner's eyes only."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from evenhand.domain.errors import ConfigError
from evenhand.store.sqlite import FOLDER


def token_of(path: str) -> str:
    """Read the token, or make one that nobody can guess."""
    file = Path(path)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if file.parent.name == FOLDER:  # the database, which sees to this too, may be elsewhere
            with contextlib.suppress(FileExistsError), (file.parent / ".gitignore").open("x") as ignored:
                ignored.write("*\n")
        try:
            made = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return _read(file)
        token = secrets.token_urlsafe(32)
        with os.fdopen(made, "w", encoding="ascii") as written:
            written.write(f"{token}\n")
    except OSError as error:
        raise ConfigError(f"{path}: the token cannot be kept there: {error.strerror}; see --token-file") from None
    return token


def _read(file: Path) -> str:
    if os.name == "posix" and file.stat().st_mode & 0o077:
        raise ConfigError(f"{file}: others can read the token; let only its owner: chmod 600 {file}")
    token = file.read_text(encoding="utf-8", errors="replace").strip()
    if not token:
        raise ConfigError(f"{file} is empty; delete it, and a token is made")
    return token
