"""Variables that the environment of every worker must have: their names are sent, and never their values."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from evenhand.domain.errors import ConfigError


def check_names(names: Sequence[str]) -> None:
    """Refuse what is no name of a variable."""
    for name in names:
        if not isinstance(name, str) or not (name.isascii() and name.isidentifier()):
            shown = str(name).split("=")[0]  # what follows may be a secret
            raise ConfigError(
                f"--worker-env {shown!r:.80} is not the name of a variable; give the name alone, such as "
                "OPENAI_API_KEY: values are never sent to workers"
            )


def require_variables(names: Sequence[str], *, of_nodes: bool = True) -> None:
    """Refuse an environment that lacks one of these variables: that of a node, or of who starts a Ray of its own."""
    missing = [name for name in names if name not in os.environ]
    if missing:
        are, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        if not of_nodes:
            raise ConfigError(f"{', '.join(missing)} {are} not set; set {them} here before the run is started")
        raise ConfigError(
            f"{', '.join(missing)} {are} not set on {socket.gethostname()}; set {them} in the environment of all nodes "
            "before Ray is started there"
        )
