"""One HTTP exchange: a request out, a response back whole, or the fault that came between.

This module loads what speaks HTTP; it is itself loaded by the first question that goes over it.
"""

from __future__ import annotations

import functools
import json
import zlib
from typing import Any

import orjson

from evenhand.models.alarm import Alarm
from evenhand.models.endpoint import Endpoint
from evenhand.models.retry import TransportFault
from evenhand.models.sessions import current_pool, open_pool
from evenhand.models.wire.connection import Connection
from evenhand.models.wire.response import Response

_GZIP = 16 + zlib.MAX_WBITS


async def post(endpoint: Endpoint, request: dict[str, Any], *, seconds: float) -> Response:
    """Send a request and read the response, within ``seconds`` and the endpoint's limits."""
    body, prepared = _written(request), endpoint.prepared
    message = b"%b%d\r\n\r\n%b" % (prepared.head, len(body), body)
    pool = current_pool() or await open_pool()
    place = pool.place(prepared.route)
    connection = None
    alarm = Alarm(pool.watch, seconds)
    try:
        with alarm:
            await place.turns.acquire()
            try:
                alarm.allow(endpoint.timeout, step=endpoint.connect_timeout)
                connection = await place.connection()
                progress = functools.partial(alarm.allow, step=endpoint.first_byte_timeout)
                progress()
                try:
                    response = await connection.exchange(message, most=endpoint.max_body_bytes, progress=progress)
                finally:
                    place.give_back(connection)
            finally:
                place.turns.release()
    except TimeoutError:
        kind, told = _timeout(endpoint, alarm, min(endpoint.timeout, seconds), connection)
        raise TransportFault(kind, told, retryable=True) from None
    return _unpacked(response, endpoint.max_body_bytes)


def _unpacked(response: Response, most: int) -> Response:
    """Unpack a body where it is packed. What cannot be unpacked is a fault, unless the status tells of another."""
    encoding = response.headers.get("content-encoding", "").lower()
    if encoding in ("", "identity"):
        return response
    try:
        return response._replace(content=_content(response.content, encoding, most))
    except TransportFault as fault:
        if response.status < 300:
            raise
        return response._replace(content=fault.message.encode())


def _content(packed: bytes, encoding: str, most: int) -> bytes:
    """Unpack bytes, no further than their limit: a small bomb must not grow in memory."""
    if encoding not in ("gzip", "x-gzip"):
        raise TransportFault("invalid_body", f"the response is packed as {encoding!r:.40}, unasked", retryable=True)
    try:
        content = zlib.decompressobj(_GZIP).decompress(packed, most + 1)
    except zlib.error as error:
        raise TransportFault("invalid_body", f"the response cannot be unpacked: {error}", retryable=True) from None
    if len(content) > most:
        raise TransportFault("too_large", f"the response is larger than {most} bytes", retryable=False)
    return content


def _written(request: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(request)
    except TypeError:
        # It refuses lone surrogates and long integers, which JSON can spell.
        return json.dumps(request).encode()


def _timeout(endpoint: Endpoint, alarm: Alarm, seconds: float, connection: Connection | None) -> tuple[str, str]:
    """Say which limit it was."""
    if alarm.is_over:
        return "timeout", f"no whole response within {seconds:.3g} s"
    if connection is None:
        return "connect_timeout", f"no connection within {endpoint.connect_timeout:g} s"
    if connection.has_head:
        return "timeout", f"the response stood still for {endpoint.first_byte_timeout:g} s"
    return "first_byte_timeout", f"no response began within {endpoint.first_byte_timeout:g} s"
