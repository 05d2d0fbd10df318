"""One HTTP exchange: a request out, a response back whole, or the fault that came between."""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenhand.domain.errors import ConfigError
from evenhand.domain.secret import Secret
from evenhand.models.retry import TransportFault
from evenhand.models.sessions import current_session

if TYPE_CHECKING:
    import ssl

    from aiohttp import ClientResponse, ClientTimeout

_GZIP = 16 + zlib.MAX_WBITS
_LEAST_SECRET = 16


@dataclass(frozen=True, slots=True, kw_only=True)
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

    def limits(self, seconds: float) -> ClientTimeout:
        """Give the time limits of a request that may take so many seconds."""
        import aiohttp  # noqa: PLC0415 - loaded by the first request

        # aiohttp rounds up to whole seconds, which is cheaper. Where a deadline is near, that would be past it.
        deadline_is_near = seconds <= self.timeout + 1
        return aiohttp.ClientTimeout(
            total=min(self.timeout, seconds),
            sock_connect=self.connect_timeout,
            sock_read=self.first_byte_timeout,
            ceil_threshold=math.inf if deadline_is_near else 5.0,
        )


@dataclass(frozen=True, slots=True)
class Response:
    """A response, whole."""

    status: int
    headers: Mapping[str, str]
    content: bytes


async def post(endpoint: Endpoint, body: bytes, *, seconds: float) -> Response:
    """Send a request and read the response, within ``seconds`` and the endpoint's limits."""
    import aiohttp  # noqa: PLC0415 - loaded by the first request

    session = await current_session()
    headers = {name: value if isinstance(value, str) else value.reveal() for name, value in endpoint.headers.items()}
    began_to_answer = False
    try:
        async with session.post(
            endpoint.url,
            data=body,
            headers=headers,
            timeout=endpoint.limits(seconds),
            proxy=endpoint.proxy.reveal() if endpoint.proxy else None,
            ssl=trusting(endpoint.ca_file) if endpoint.ca_file else True,
            allow_redirects=False,  # a key must not travel
        ) as response:
            began_to_answer = True
            try:
                content = await _read(response, endpoint.max_body_bytes)
            except TransportFault:
                response.close()  # the rest of it is of no use, and the connection neither
                raise
            return Response(response.status, response.headers, content)
    except (aiohttp.ClientError, OSError) as error:
        raise _fault(error, endpoint, min(endpoint.timeout, seconds), began_to_answer) from None


async def _read(response: ClientResponse, most: int) -> bytes:
    """Read a body up to its limit, and unpack it no further than that: a small bomb must not grow in memory."""
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise TransportFault("invalid_body", f"the response is packed as {encoding!r:.40}, unasked", retryable=True)
    unpacker = zlib.decompressobj(_GZIP) if encoding == "gzip" else None
    chunks: list[bytes] = []
    room = most + 1
    try:
        while chunk := await response.content.readany():
            chunks.append(chunk if unpacker is None else unpacker.decompress(chunk, room))
            room -= len(chunks[-1])
            if room <= 0:
                raise TransportFault("too_large", f"the response is larger than {most} bytes", retryable=False)
    except zlib.error as error:
        raise TransportFault("invalid_body", f"the response cannot be unpacked: {error}", retryable=True) from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _fault(error: Exception, endpoint: Endpoint, seconds: float, began_to_answer: bool) -> TransportFault:
    """Class what went wrong on the way."""
    import aiohttp  # noqa: PLC0415 - loaded by the first request

    origin = "/".join(endpoint.url.split("/")[:3])
    retryable = True
    match error:
        case TimeoutError():
            kind, message = _timeout(error, endpoint, seconds, began_to_answer)
        case aiohttp.ClientHttpProxyError():
            kind, message = "proxy", f"the proxy answered HTTP {error.status}: {error.message}"
            retryable = error.status == 429 or error.status >= 500
        case aiohttp.ClientProxyConnectionError():
            kind, message = "proxy", f"cannot connect to the proxy: {error.os_error}"
        case aiohttp.ClientConnectorCertificateError():
            kind, message = "certificate", f"{origin} is not trusted ({error.certificate_error}); is ca_file right?"
            retryable = False
        case aiohttp.ClientConnectorError():
            kind, message = "connection", f"cannot connect to {origin}: {error.os_error}"
        case aiohttp.ClientPayloadError():
            kind, message = "incomplete_body", f"the response broke off: {error}"
        case aiohttp.ClientResponseError():
            kind, message = "invalid_response", f"{origin} does not speak proper HTTP: {error.message}"
        case _:
            kind, message = "connection", f"the connection to {origin} broke: {error}"
    return TransportFault(kind, message, retryable=retryable)


def _timeout(error: TimeoutError, endpoint: Endpoint, seconds: float, began_to_answer: bool) -> tuple[str, str]:
    import aiohttp  # noqa: PLC0415 - loaded by the first request

    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return "connect_timeout", f"no connection within {endpoint.connect_timeout:g} s"
    if not isinstance(error, aiohttp.SocketTimeoutError):
        return "timeout", f"no whole response within {seconds:.3g} s"
    if began_to_answer:
        return "timeout", f"the response stood still for {endpoint.first_byte_timeout:g} s"
    return "first_byte_timeout", f"no response began within {endpoint.first_byte_timeout:g} s"


@functools.cache
def trusting(ca_file: str) -> ssl.SSLContext:
    """Trust the certificate authorities in a file, and no others."""
    import ssl  # noqa: PLC0415 - for servers with a private authority

    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # ssl.SSLError is one too
        why = error.strerror if error.filename or not isinstance(error, ssl.SSLError) else "it holds no certificates"
        raise ConfigError(f"ca_file {ca_file!r} cannot be used: {why or error}") from None
