"""How a server is set up: where it listens, what it keeps, and who may use it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from evenhand.domain.errors import ConfigError
from evenhand.domain.secret import Secret

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8642


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Settings of a server. ``token`` opens it: whoever changes something shows it, and beyond this machine everybody.

    ``names`` are further names under which the server may be asked for, where it listens beyond this machine.
    """

    db: str
    token: Secret
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    names: tuple[str, ...] = ()
    judge: str | None = None
    models: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if len(self.token.reveal()) < 16:
            raise ConfigError("the token has fewer than 16 characters; take a longer one, or let Evenhand make it")

    @property
    def is_public(self) -> bool:
        """Whether others than this machine can reach the server."""
        return not is_loopback(self.host)

    @property
    def hosts(self) -> frozenset[str]:
        """What the ``Host`` header may say: a name and the port."""
        own = {"localhost", "127.0.0.1", "[::1]"} if not self.is_public else {_written(self.host), *self.names}
        return frozenset(f"{name}:{self.port}" for name in own) | (frozenset(own) if self.port == 80 else frozenset())


def is_loopback(host: str) -> bool:
    """Tell whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host
