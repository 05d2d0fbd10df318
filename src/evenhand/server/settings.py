"""How a server is set up: where it listens, what it keeps, and who may use it."""

from __future__ import annotations

import functools
import hmac
import ipaddress
from dataclasses import dataclass, field

from evenhand.domain.errors import ConfigError
from evenhand.domain.secret import Secret

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8642


@dataclass(frozen=True, kw_only=True)  # without slots: what it works out once is kept
class ServerSettings:
    """Settings of a server. ``token`` opens it: whoever changes something shows it, and beyond this machine everybody.

    ``names`` are further names under which the server may be asked for, where it listens beyond this machine.
    ``judge`` and ``models`` are what the server offers; only here may a model be a file. ``changes_a_minute`` is how
    often one client may change something. ``page_wait_seconds`` is how long a page waits for numbers of a large run,
    which it shows later otherwise; ``result_wait_seconds`` is how long the API does where there is nothing else to
    return. A comparison of 100,000 cases takes about as long.
    """

    db: str
    token: Secret
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    names: tuple[str, ...] = ()
    judge: str | None = None
    models: tuple[str, ...] = field(default=())
    changes_a_minute: int = 600
    page_wait_seconds: float = 2.0
    result_wait_seconds: float = 20.0

    def __post_init__(self) -> None:
        if len(self.token.reveal()) < 16:
            raise ConfigError("the token has fewer than 16 characters; take a longer one, or let Evenhand make it")

    @property
    def is_public(self) -> bool:
        """Whether others than this machine can reach the server."""
        return not is_loopback(self.host)

    @property
    def address(self) -> str:
        """Where a browser finds the server."""
        name = "localhost" if self.host in ("0.0.0.0", "::") else _written(self.host)  # noqa: S104 - only compared
        return f"http://{name}:{self.port}"

    @functools.cached_property
    def hosts(self) -> frozenset[str]:
        """What the ``Host`` header may say: a name and the port; of ``names`` also without, as behind a proxy."""
        own = {"localhost", "127.0.0.1", "[::1]", _written(self.host).lower()}
        names = {name.lower() for name in self.names}
        bare = names | (own if self.port == 80 else set())
        return frozenset(f"{name}:{self.port}" for name in own | names) | bare

    @functools.cached_property
    def session(self) -> str:
        """What the cookie of somebody who logged in says: it opens the pages, and does not tell the token."""
        return hmac.new(self.token.reveal().encode(), b"evenhand session", "sha256").hexdigest()


def is_loopback(host: str) -> bool:
    """Tell whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host
