"""Where requests go, and within which limits."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from evenhand.domain.secret import Secret
from evenhand.models.wire.head import request_head
from evenhand.models.wire.route import Route, route_to

USUAL_HEADERS: Final = {"content-type": "application/json", "accept-encoding": "gzip"}

_LEAST_SECRET = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What all requests have in common: their way, and their head as far as the length of the body."""

    route: Route
    head: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where requests go, with what headers, and how much time and memory a response may take.

    ``secrets`` are hidden in whatever the server says.
    """

    url: str
    headers: Mapping[str, str | Secret] = field(repr=False, hash=False)
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    proxy: Secret | None = None
    ca_file: str | None = None
    timeout: float = 300.0
    connect_timeout: float = 10.0
    first_byte_timeout: float = 120.0
    max_body_bytes: int = 16 * 1024 * 1024

    def __post_init__(self) -> None:
        self.prepared  # noqa: B018 - complains now of what cannot be sent

    @functools.cached_property
    def prepared(self) -> Prepared:
        """What need not be made anew for each request."""
        route = route_to(self.url, self.proxy, self.ca_file)
        return Prepared(route=route, head=request_head(self.url, self.headers, route))

    def scrub(self, text: str) -> str:
        """Hide the secrets in a text."""
        for secret in self.secrets:
            text = secret.scrub(text)
        return text

    def scrub_reply(self, text: str) -> str:
        """Hide the secrets in what a judge said; not short ones, which are placeholders and may be its own words."""
        for secret in self.secrets:
            if len(secret.reveal()) >= _LEAST_SECRET:
                text = secret.scrub(text)
        return text
