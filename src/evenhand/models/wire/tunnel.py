"""Asking a proxy to open a tunnel, through which an encrypted server is spoken to."""

from __future__ import annotations

import asyncio

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from evenhand.models.retry import TransportFault
from evenhand.models.wire.head import connect_head
from evenhand.models.wire.route import Route

_END = b"\r\n\r\n"
_LONGEST_HEAD = 64 * 1024


async def open_tunnel(loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, route: Route) -> None:
    """Ask the proxy at the other end for a tunnel to the server of a route; without one, the connection is closed."""
    answer = _Answer(loop)
    transport.set_protocol(answer)
    transport.write(connect_head(route))
    try:
        _judge(await answer.head, route)
    except BaseException:
        transport.abort()
        raise


class _Answer(asyncio.Protocol):
    """Reads what a proxy says, up to the end of the head: after it, a tunnel has no rules."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.head: asyncio.Future[bytes] = loop.create_future()
        self._received = bytearray()

    def data_received(self, data: bytes) -> None:
        # What came before is not looked through again, but for an end that began in it.
        unseen = max(0, len(self._received) - len(_END) + 1)
        self._received += data
        if self._received.find(_END, unseen) >= 0 or len(self._received) > _LONGEST_HEAD:
            self._end()

    def connection_lost(self, _: Exception | None) -> None:
        self._end()

    def _end(self) -> None:
        if not self.head.done():
            self.head.set_result(bytes(self._received))


class _Status:
    """What the parser calls while it reads a status line."""

    reason = ""

    def on_status(self, reason: bytes) -> None:
        self.reason = reason.decode("utf-8", "replace")


def _judge(received: bytes, route: Route) -> None:
    """Raise unless the proxy opened a tunnel, and kept quiet since."""
    head, end, rest = received.partition(_END)
    if not received:
        raise TransportFault(
            "connection", f"the connection to {route.origin} broke: the proxy closed it", retryable=True
        )
    status = _Status()
    parser = HttpResponseParser(status)
    try:
        parser.feed_data(head + end)
    except HttpParserUpgrade:
        pass
    except HttpParserError as error:
        raise _improper(str(error)) from None
    if not end:
        raise _improper("its answer has no end")
    code = parser.get_status_code()
    if not 200 <= code < 300:
        lasting = code != 429 and code < 500
        raise TransportFault("proxy", f"the proxy answered HTTP {code}: {status.reason}", retryable=not lasting)
    if rest:
        raise _improper("it spoke into the tunnel")


def _improper(why: str) -> TransportFault:
    return TransportFault("invalid_response", f"the proxy does not speak proper HTTP: {why}", retryable=True)
