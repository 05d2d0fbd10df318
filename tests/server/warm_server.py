"""The warm process of `tests.harness`, with the server loaded too: that takes longer than all others.

python -m tests.server.warm_server SOCKET
"""

from __future__ import annotations

import importlib
from typing import Final

from tests.harness import warm_process

_SERVER: Final = (
    "evenhand.cli.commands.serve", "evenhand.server.app", "uvicorn.lifespan.on", "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
)  # fmt: skip


if __name__ == "__main__":
    for name in _SERVER:
        importlib.import_module(name)
    warm_process.main()
