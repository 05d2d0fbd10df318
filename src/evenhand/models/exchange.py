"""One HTTP exchange: a request over the pool of the event loop, and a whole response or the fault.

This module loads what speaks HTTP; it is itself loaded by the first question that goes over it.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import zlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

import orjson

from evenhand.models.endpoint import Endpoint
from evenhand.models.retry import TransportFault
from evenhand.models.timeouts import RequestTimeouts
from evenhand.models.wire.connection import Connection, Response

if TYPE_CHECKING:
    from evenhand.models.wire.pool import Pool


# To one host: a judge that hangs must not keep the others waiting.
_AT_ONCE = 256

# What a loop has, and the generator that closes it.
_kept: dict[asyncio.AbstractEventLoop, tuple[Pool, AsyncGenerator[Pool, None]]] = {}
# Those of the parent, in a forked child. They are kept so that nobody closes them.
_inherited: list[object] = []


def current_pool() -> Pool | None:
    """Return the pool of the running loop, once it is opened."""
    kept = _kept.get(asyncio.get_running_loop())
    return None if kept is None else kept[0]


async def open_pool() -> Pool:
    """Open a pool for the running loop."""
    loop = asyncio.get_running_loop()
    _drop_closed()
    # Started on this loop, so that its end (``shutdown_asyncgens``) closes the generator, and that the pool.
    keeper = _pool_until_the_end(loop)
    pool, _ = _kept[loop] = (await anext(keeper), keeper)
    return pool


async def _pool_until_the_end(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[Pool, None]:
    from evenhand.models.wire.pool import Pool  # noqa: PLC0415 - loaded by the first request

    pool = Pool(_AT_ONCE)
    try:
        yield pool
    finally:
        _kept.pop(loop, None)
        await pool.close()


def _drop_closed() -> None:
    """Let go of loops that were closed without ``shutdown_asyncgens``, as those who make loops by hand may do."""
    for loop in list(_kept):  # a copy: other threads have loops too
        if loop.is_closed():
            _kept.pop(loop, None)


def _leave_to_the_parent() -> None:
    """Set the pools of the parent aside: closing their connections in the child would disturb it."""
    _inherited.extend(_kept.items())
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_the_parent)


_GZIP = 16 + zlib.MAX_WBITS
# What is left after each is copied: many small ones would take long.
_MOST_MEMBERS = 32


async def post(endpoint: Endpoint, request: dict[str, Any], *, seconds: float) -> Response:
    """Post a JSON object and read the response, within ``seconds`` and the endpoint's limits."""
    return await send(endpoint, _encode(request), seconds=seconds)


async def send(endpoint: Endpoint, body: bytes, *, seconds: float) -> Response:
    """Send a body as it is and read the response, within ``seconds`` and the endpoint's limits."""
    prepared = endpoint.prepared
    pool = current_pool() or await open_pool()
    place = pool.place(prepared.route)
    connection = None
    alarm = RequestTimeouts(pool.watch, seconds)
    try:
        with alarm:
            await place.turns.acquire()
            try:
                alarm.allow(endpoint.timeout, step=endpoint.connect_timeout)
                connection = await place.connection()
                progress = functools.partial(alarm.allow, step=endpoint.first_byte_timeout)
                progress()
                try:
                    # Signed now, and not before the wait: a signature is good for minutes.
                    signature = b"" if endpoint.signer is None else endpoint.signer.lines(prepared.head, body)
                    message = b"%b%d%b\r\n\r\n%b" % (prepared.head, len(body), signature, body)
                    response = await connection.exchange(message, most=endpoint.max_body_bytes, progress=progress)
                finally:
                    place.give_back(connection)
            finally:
                place.turns.release()
    except TimeoutError:
        kind, problem = _timeout(endpoint, alarm, min(endpoint.timeout, seconds), connection)
        raise TransportFault(kind, problem, retryable=True) from None
    return _unpacked(response, endpoint.max_body_bytes)


def _unpacked(response: Response, most: int) -> Response:
    """Unpack a body where it is packed. What cannot be unpacked is a fault, unless the status reports another."""
    encoding = response.headers.get("content-encoding", "").lower()
    if encoding in ("", "identity") or not response.content:
        return response
    content = bytearray()
    try:
        _unpack(response.content, encoding, most, content)
    except TransportFault as fault:
        if response.status < 300:
            raise
        # Half of a complaint is one too.
        return response._replace(content=bytes(content) or fault.message.encode())
    return response._replace(content=bytes(content))


def _unpack(packed: bytes, encoding: str, most: int, content: bytearray) -> None:
    """Unpack bytes to the end of ``content``, no further than their limit: a small bomb must not grow in memory.

    They are one gzip member after the other, usually one. Each has to be whole, with its checksum, and nothing may
    follow the last: what broke off, or has something else in it, may still look like an answer.
    """
    if encoding not in ("gzip", "x-gzip"):
        raise TransportFault(
            "invalid_body", f"the response is compressed as {encoding!r:.40}, which was not requested", retryable=True
        )
    for _ in range(_MOST_MEMBERS):
        member = zlib.decompressobj(_GZIP)
        try:
            content += member.decompress(packed, most + 1 - len(content))
        except zlib.error as error:
            raise TransportFault(
                "invalid_body", f"the response cannot be decompressed: {error}", retryable=True
            ) from None
        if len(content) > most:
            content.clear()
            raise TransportFault("too_large", f"the response is larger than {most} bytes", retryable=False)
        if not member.eof:
            raise TransportFault(
                "incomplete_body", "the response was cut short: its compression has no end", retryable=True
            )
        packed = member.unused_data
        if not packed:
            return
    raise TransportFault(
        "invalid_body", f"the response is compressed in more than {_MOST_MEMBERS} parts", retryable=True
    )


def _encode(request: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(request)
    except TypeError:
        # It refuses lone surrogates and long integers, which JSON can spell.
        return json.dumps(request).encode()


def _timeout(
    endpoint: Endpoint, alarm: RequestTimeouts, seconds: float, connection: Connection | None
) -> tuple[str, str]:
    """Say which limit it was."""
    if alarm.is_over:
        return "timeout", f"no whole response within {seconds:.3g} s"
    if connection is None:
        return "connect_timeout", f"no connection within {endpoint.connect_timeout:g} s"
    if connection.has_head:
        return "timeout", f"the response stalled for {endpoint.first_byte_timeout:g} s"
    return "first_byte_timeout", f"no response began within {endpoint.first_byte_timeout:g} s"
