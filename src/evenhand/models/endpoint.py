"""Where requests go, and within which limits."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evenhand.domain.errors import ConfigError
from evenhand.domain.secret import Secret

if TYPE_CHECKING:
    import ssl

    from aiohttp import ClientTimeout

USUAL_HEADERS: Final = {"content-type": "application/json", "accept-encoding": "gzip"}

_LEAST_SECRET = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What all requests have in common; the headers are those that the session does not have already."""

    headers: Mapping[str, str] = field(repr=False)
    timeout: ClientTimeout


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

    @functools.cached_property
    def origin(self) -> str:
        """The scheme and host of the URL."""
        return "/".join(self.url.split("/")[:3])

    @functools.cached_property
    def prepared(self) -> Prepared:
        """What need not be made anew for each request."""
        from aiohttp import ClientTimeout  # noqa: PLC0415 - loaded by the first request

        own = {name: value for name, value in self.headers.items() if value != USUAL_HEADERS.get(name)}
        return Prepared(
            headers={name: value if isinstance(value, str) else value.reveal() for name, value in own.items()},
            # The alarm keeps all other limits. Without a threshold, aiohttp would round this one up to whole seconds.
            timeout=ClientTimeout(total=None, sock_connect=self.connect_timeout, ceil_threshold=math.inf),
        )

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


@functools.cache
def trusting(ca_file: str) -> ssl.SSLContext:
    """Trust the certificate authorities in a file, and no others."""
    import ssl  # noqa: PLC0415 - for servers with a private authority

    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # ssl.SSLError is one too
        why = error.strerror if error.filename or not isinstance(error, ssl.SSLError) else "it holds no certificates"
        raise ConfigError(f"ca_file {ca_file!r} cannot be used: {why or error}") from None
