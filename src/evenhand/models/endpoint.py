"""Where requests go, and within which limits."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from evenhand.domain.scrubber import Scrubber
from evenhand.domain.secret import Secret, scrubber_of
from evenhand.models.signature import Signer
from evenhand.models.wire.route import Route, request_head, route_to

USUAL_HEADERS: Final = {"content-type": "application/json", "accept-encoding": "gzip"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What all requests have in common: their way, and their head as far as the length of the body."""

    route: Route
    head: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where requests go, with what headers, and how much time and memory a response may take.

    ``secrets`` are hidden in whatever the server says. ``written_url`` is the URL as it may be shown, with ``${NAME}``
    where the value of a variable is; it is the URL itself where there is none.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str | Secret] = field(repr=False, hash=False)
    secrets: tuple[Secret, ...] = field(default=(), repr=False)
    # Who signs each request, where a key in the headers is not enough.
    signer: Signer | None = field(default=None, repr=False)
    proxy: Secret | None = None
    ca_file: str | None = None
    timeout: float = 300.0
    connect_timeout: float = 10.0
    first_byte_timeout: float = 120.0
    max_body_bytes: int = 16 * 1024 * 1024
    method: str = "POST"
    written_url: str = ""
    # The variable that has the address, where neither the user's suite nor the provider says it.
    variable: str | None = None

    def __post_init__(self) -> None:
        if not self.written_url:
            object.__setattr__(self, "written_url", self.url)
        self.prepared  # noqa: B018 - complains now of what cannot be sent

    @functools.cached_property
    def prepared(self) -> Prepared:
        """What need not be made anew for each request."""
        route = route_to(self.url, self.proxy, self.ca_file)
        return Prepared(route=route, head=request_head(self.url, self.headers, route, self.method))

    @functools.cached_property
    def _scrubber(self) -> Scrubber:
        return scrubber_of(self.secrets)

    @functools.cached_property
    def _reply_scrubber(self) -> Scrubber:
        return scrubber_of(self.secrets, in_replies=True)

    def scrub(self, text: str) -> str:
        """Hide the secrets in a text."""
        return self._scrubber.scrub(text)

    def scrub_reply(self, text: str) -> str:
        """Hide the secrets in what a judge said; not those that may be its own words."""
        return self._reply_scrubber.scrub(text)
