"""The settings of a server: where it listens, what it offers, and who may use it."""

from __future__ import annotations

import functools
import hmac
import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenhand.domain.errors import ConfigError
from evenhand.domain.secret import Secret

if TYPE_CHECKING:
    from fastapi import Request

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8642


@dataclass(frozen=True, kw_only=True)  # without slots: what it works out once is kept
class ServerSettings:
    """Settings of a server. Changes need ``token``; requests from other machines always do.

    ``names`` are further names under which others reach the server.
    ``on`` is the place where runs are judged by ``workers``, such as ``ray``, each of which must have the variables
    ``worker_env``; None for this process.
    ``judge`` and ``models`` are what the server offers; only here may a model be a file. ``changes_a_minute`` is how
    often one client may change something. ``page_wait_seconds`` is how long a page waits for the numbers of a large
    run before it is shown without them; ``result_wait_seconds`` is how long the API waits where there is nothing else
    to return. A comparison of 100,000 cases takes about as long.
    """

    db: str
    token: Secret
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    names: tuple[str, ...] = ()
    judge: str | None = None
    models: tuple[str, ...] = field(default=())
    on: str | None = None
    workers: int | None = None
    worker_env: tuple[str, ...] = ()
    changes_a_minute: int = 600
    page_wait_seconds: float = 2.0
    result_wait_seconds: float = 20.0

    def __post_init__(self) -> None:
        if len(self.token.reveal()) < 16:
            raise ConfigError(
                "the token has fewer than 16 characters; choose a longer one, or let Evenhand generate it"
            )

    @property
    def is_public(self) -> bool:
        """Whether other machines can reach the server."""
        return not is_loopback(self.host)

    @property
    def address(self) -> str:
        """The address for a browser."""
        name = "localhost" if self.host in ("0.0.0.0", "::") else _in_url(self.host)  # noqa: S104 - only compared
        return f"http://{name}:{self.port}"

    @functools.cached_property
    def hosts(self) -> frozenset[str]:
        """The valid ``Host`` headers: a name with the port; those of ``names`` also without, as behind a proxy."""
        own = {"localhost", "127.0.0.1", "[::1]", _in_url(self.host).lower()}
        names = {name.lower() for name in self.names}
        bare = names | (own if self.port == 80 else set())
        return frozenset(f"{name}:{self.port}" for name in own | names) | bare

    @functools.cached_property
    def session(self) -> str:
        """The session cookie of somebody who logged in; it does not reveal the token."""
        return hmac.new(self.token.reveal().encode(), b"evenhand session", "sha256").hexdigest()


def is_loopback(host: str) -> bool:
    """Return whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def settings_of(request: Request) -> ServerSettings:
    """Return the settings, where no route can ask for them: in the guard, and for the token in every form."""
    settings: ServerSettings = request.app.state.settings
    return settings
