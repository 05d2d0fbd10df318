"""Variables that the environment of every worker must have: their names are sent, and never their values."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Sequence
from typing import Final

from evenhand.domain.errors import ConfigError

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_names(names: Sequence[str]) -> None:
    """Refuse what is no name of a variable."""
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            shown = str(name).partition("=")[0]  # what follows may be a secret
            raise ConfigError(
                f"--worker-env {shown!r:.80} is not the name of a variable; give the name alone, such as "
                "OPENAI_API_KEY: values are never sent to workers"
            )


def require_variables(names: Sequence[str]) -> None:
    """Refuse an environment that lacks one of these variables."""
    missing = [name for name in names if name not in os.environ]
    if missing:
        are, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise ConfigError(
            f"{', '.join(missing)} {are} not set on {socket.gethostname()}; set {them} in the environment of all nodes "
            "before Ray is started there"
        )
