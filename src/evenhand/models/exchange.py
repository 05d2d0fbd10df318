"""One HTTP exchange: a request out, a response back whole, or the fault that came between.

This module loads the HTTP library; it is itself loaded by the first question that goes over HTTP.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import aiohttp
import orjson

from evenhand.models.alarm import Alarm
from evenhand.models.endpoint import Endpoint, trusting
from evenhand.models.retry import TransportFault
from evenhand.models.sessions import current_connections, open_connections

_GZIP = 16 + zlib.MAX_WBITS
_LONGEST_PAGE = 64 * 1024


class Response(NamedTuple):
    """A response, whole."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        """The body as JSON; None when it is none."""
        try:
            return orjson.loads(self.content)
        except ValueError:
            pass
        try:
            # More patient: with bytes that are no UTF-8, and with lone surrogates.
            return json.loads(self.content.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None

    @property
    def page(self) -> str:
        """The body as text, where it is no JSON, or nobody's error object."""
        return self.content[:_LONGEST_PAGE].decode("utf-8", "replace").strip() or "an empty body"


async def post(endpoint: Endpoint, request: dict[str, Any], *, seconds: float) -> Response:
    """Send a request and read the response, within ``seconds`` and the endpoint's limits."""
    body, prepared = _written(request), endpoint.prepared
    connections = current_connections() or await open_connections()
    turns = connections.turns_at(endpoint.origin)
    began_to_answer = False
    alarm = Alarm(connections.watch, seconds)
    try:
        with alarm:
            await turns.acquire()
            try:
                alarm.allow(endpoint.timeout, step=endpoint.first_byte_timeout)
                # Not as a context manager: that would wait once more for a connection which has long been given back.
                response = await connections.session.post(
                    endpoint.url,
                    data=body,
                    headers=prepared.headers,
                    timeout=prepared.timeout,
                    proxy=endpoint.proxy.reveal() if endpoint.proxy else None,
                    ssl=trusting(endpoint.ca_file) if endpoint.ca_file else True,
                    allow_redirects=False,  # a key must not travel
                )
                began_to_answer = True
                try:
                    content = await _read(response, endpoint, alarm)
                finally:
                    if not response.closed:  # the rest of it is of no use, and the connection neither
                        response.close()
                return Response(response.status, response.headers, content)
            finally:
                turns.release()
    except (aiohttp.ClientError, OSError) as error:
        raise _fault(error, endpoint, alarm, min(endpoint.timeout, seconds), began_to_answer) from None


async def _read(response: aiohttp.ClientResponse, endpoint: Endpoint, alarm: Alarm) -> bytes:
    """Read a body up to its limit, and unpack it no further than that: a small bomb must not grow in memory."""
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise TransportFault("invalid_body", f"the response is packed as {encoding!r:.40}, unasked", retryable=True)
    unpacker = zlib.decompressobj(_GZIP) if encoding == "gzip" else None
    chunks: list[bytes] = []
    most = endpoint.max_body_bytes
    room = most + 1
    arriving = response.content
    try:
        while not arriving.at_eof():
            if arriving.is_eof():  # nothing more to wait for: short bodies come with their head
                chunk = arriving.read_nowait()
            else:
                alarm.allow(step=endpoint.first_byte_timeout)
                chunk = await arriving.readany()
            chunks.append(chunk if unpacker is None else unpacker.decompress(chunk, room))
            room -= len(chunks[-1])
            if room <= 0:
                raise TransportFault("too_large", f"the response is larger than {most} bytes", retryable=False)
    except zlib.error as error:
        raise TransportFault("invalid_body", f"the response cannot be unpacked: {error}", retryable=True) from None
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _written(request: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(request)
    except TypeError:
        # It refuses lone surrogates and long integers, which JSON can spell.
        return json.dumps(request).encode()


def _fault(error: Exception, endpoint: Endpoint, alarm: Alarm, seconds: float, began_to_answer: bool) -> TransportFault:
    """Class what went wrong on the way."""
    origin = endpoint.origin
    retryable = True
    match error:
        case TimeoutError():
            kind, message = _timeout(error, endpoint, alarm, seconds, began_to_answer)
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


def _timeout(
    error: TimeoutError, endpoint: Endpoint, alarm: Alarm, seconds: float, began_to_answer: bool
) -> tuple[str, str]:
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return "connect_timeout", f"no connection within {endpoint.connect_timeout:g} s"
    if alarm.is_over:
        return "timeout", f"no whole response within {seconds:.3g} s"
    if began_to_answer:
        return "timeout", f"the response stood still for {endpoint.first_byte_timeout:g} s"
    return "first_byte_timeout", f"no response began within {endpoint.first_byte_timeout:g} s"
