"""One HTTP/1.1 connection: requests out, responses in, and nothing that was not requested."""

from __future__ import annotations

import asyncio
import functools
import json
import select
import socket
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import orjson
from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpResponseParser

from evenhand.models.retry import TransportFault

_NOTHING = b"\0\0\0\0"
_LONGEST_PAGE = 64 * 1024


class Response(NamedTuple):
    """A response, whole; the names of its headers are in lower case, and what came twice is joined by commas."""

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


class Queues:
    """The two queues of a socket: its unread bytes, and those that the other side has not acknowledged.

    Of a transport that shows no socket, both are unknown.
    """

    __slots__ = ("_count", "_poll", "_take_count")

    def __init__(self, connected: socket.socket | None) -> None:
        self._poll: select.poll | None = None
        self._count = bytearray(4)
        self._take_count: Callable[[], object] | None = None
        if connected is None:
            return
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(connected.fileno(), select.POLLIN)
        # Other kinds of sockets count otherwise, and other systems not at all.
        if sys.platform == "linux" and connected.family in (socket.AF_INET, socket.AF_INET6):
            import fcntl  # noqa: PLC0415 - not on every system
            import termios  # noqa: PLC0415

            self._take_count = functools.partial(fcntl.ioctl, connected.fileno(), termios.TIOCOUTQ, self._count)

    @property
    def has_unread(self) -> bool:
        """Whether something came that the loop has not handed over yet; where that is unknown, something may have."""
        return self._poll is None or bool(self._poll.poll(0))

    @property
    def unacknowledged(self) -> int:
        """How many of the bytes sent may not have reached the other side; 0 where that is unknown.

        Whatever the other side says acknowledges all that it got before.
        """
        if self._take_count is None:
            return 0
        try:
            self._take_count()
        except OSError:
            self._take_count = None
            return 0
        return 0 if self._count == _NOTHING else int.from_bytes(self._count, sys.byteorder)


# All heads of a response together, with those that only say that it is under way; and what follows a body.
_LONGEST_HEAD = 64 * 1024
_MOST_HEADERS = 256


class Connection(asyncio.Protocol):
    """A connection that is open, and reads one response at a time.

    Where a message ends is the parser's to say, and it is strict: where two readers could disagree, it is an error. The
    connection may be used again only if nothing about its last response was odd.
    """

    def __init__(self, origin: str, loop: asyncio.AbstractEventLoop) -> None:
        self.idle_since = 0.0
        self.has_head = False
        self._origin = origin
        self._new_waiter = loop.create_future
        self._transports: list[asyncio.Transport] = []
        self._queues: Queues | None = None
        self._parser = HttpResponseParser(self)
        self._exchanges = 0
        self._waiter: asyncio.Future[None] | None = None
        self._response: Response | None = None
        self._fault: TransportFault | None = None
        self._keeps = self._is_early = False

    @property
    def is_open(self) -> bool:
        """Whether a request can be sent, as far as this side knows."""
        return not self._transport.is_closing()

    @property
    def is_clean(self) -> bool:
        """Whether the last response was whole, nothing came after it, and all of its request was there before it."""
        if not self._keeps or self._is_early or self._transport.is_closing():
            return False
        return self._unsent == 0

    @property
    def has_unread(self) -> bool:
        """Whether something came that the loop has not handed over yet; where that is unknown, something may have."""
        return self._system.has_unread

    @property
    def was_stale(self) -> bool:
        """Whether the last request found the connection closed, after others had gone well."""
        return self._fault is not None and self._fault.at_once

    @property
    def _unsent(self) -> int:
        # All of them: an encrypted transport counts as sent what the one below it still holds.
        unsent = 0
        for transport in self._transports:
            unsent += transport.get_write_buffer_size()
        return unsent

    @property
    def _system(self) -> Queues:
        if self._queues is None:
            self._queues = Queues(self._transport.get_extra_info("socket"))
        return self._queues

    def close(self) -> None:
        """Close it, now: there is nothing left to say."""
        self._transport.abort()

    async def exchange(self, request: bytes, *, most: int, progress: Callable[[], None]) -> Response:
        """Send a request and read its response, with a body of at most so many bytes.

        ``progress`` is called whenever a part of the body came and not yet the whole.
        """
        self.has_head = self._keeps = self._is_early = False
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._most, self._progress = most, progress
        self._head_room = self._trailer_room = _LONGEST_HEAD
        self._headers_left = _MOST_HEADERS
        self._response = None
        self._received = self._silent = 0
        self._size = len(request)
        self._exchanges += 1
        if self._fault is None and not self.is_open:
            self._lost(None)
        if self._fault is None:
            self._waiter = self._new_waiter()
            self._transport.write(request)
            await self._waiter
        if self._response is None:
            assert self._fault is not None  # noqa: S101 - nothing else ends the wait
            # A copy: the one kept here would keep the frames that it passes through, and the request in them.
            raise self._fault.saying(self._fault.message)
        # Not to be kept while the connection waits: it may be large.
        response, self._response, self._body = self._response, None, bytearray()
        return response

    # What the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport, or the encrypted one over it."""
        self._transport = cast("asyncio.Transport", transport)  # not by its class: other loops have their own
        self._transports.append(self._transport)

    def connection_lost(self, error: Exception | None) -> None:
        """End the response, which may have lasted until now."""
        self._keeps = False
        if self._waiter is not None and not self._waiter.done():
            self._lost(error)

    def eof_received(self) -> None:
        """End the response now: else the transport would first send the rest of a request that nobody reads."""
        self.connection_lost(None)

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._waiter is None or self._waiter.done():
            # Unasked, or after the end: whatever it is, it is no answer to the next request.
            self._keeps = False
            if self._waiter is None:
                self._fail(
                    "invalid_response", f"{self._origin} does not speak valid HTTP: it sent data that was not requested"
                )
            self.close()
            return
        if not self._received and (unacknowledged := self._system.unacknowledged):
            self._is_early = True
            if unacknowledged + self._unsent >= self._size:  # it has nothing of the request, so this is about another
                self._fail(
                    "invalid_response", f"{self._origin} does not speak valid HTTP: it sent data before the request"
                )
                return
        self._received += len(data)
        try:
            if self.has_head:
                self._read_body(data)
            else:
                self._read_head(data)
        except HttpParserCallbackError as error:
            raise error.__context__ or error  # noqa: B904 - not the server's: Ctrl-C, or a mistake of ours
        except (HttpParserError, HttpParserUpgrade) as error:
            self._keeps = False
            self._refuse(str(error))
        if self.has_head and not self._waiter.done():
            self._progress()

    def _read_head(self, data: bytes) -> None:
        room = self._head_room
        self._head_room -= len(data)
        self._parser.feed_data(data if len(data) <= room else data[:room])
        if not self.has_head and self._head_room < 0:
            self._refuse(f"its head is longer than {_LONGEST_HEAD} bytes")
        elif len(data) > room:
            self._read_body(data[room:])

    def _read_body(self, data: bytes) -> None:
        before = len(self._body)
        self._parser.feed_data(data)  # also after the end, which makes it notice
        # The parser remembers a trailer until it ends, even one that never does.
        self._silent = self._silent + len(data) if len(self._body) == before else 0
        if self._silent > 2 * _LONGEST_HEAD:
            self._refuse("it sends much, and none of it is the body")

    # What the parser calls

    def on_message_begin(self) -> None:
        """Notice a second response to the same request."""
        self._keeps = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or what comes after a body and looks like one."""
        if self.has_head:
            self._trailer_room -= len(name) + len(value) + len(b": \r\n")
            if self._trailer_room < 0:
                self._refuse(f"its trailers are longer than {_LONGEST_HEAD} bytes")
            return
        # Of what follows a value the parser passes over blanks, but no tabs: nor may this, or the two would disagree.
        key, text = name.decode("latin-1").lower(), value.decode("utf-8", "replace").rstrip(" ")
        headers = self._headers
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
        self._headers_left -= 1
        if self._headers_left < 0:
            self._refuse(f"it has more than {_MOST_HEADERS} headers")

    def on_headers_complete(self) -> None:
        """See what kind of body is to come."""
        if self._response is not None:
            return
        self.has_head = True
        coding = self._headers.get("transfer-encoding", "chunked")
        if coding.lower() != "chunked":
            self.has_head = False
            self._refuse(f"its body is sent as {coding!r:.40}, which was not requested")

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        if self._response is None and self._fault is None:
            self._body += data
            if len(self._body) > self._most:
                self._fail("too_large", f"the response is larger than {self._most} bytes", retryable=False)

    def on_message_complete(self) -> None:
        """Hand the response over, unless it is one of those that announce another."""
        if self._response is not None or self._fault is not None:
            return
        status = self._parser.get_status_code()
        if status == 101:
            self.has_head = False
            self._refuse("it switches the protocol, which was not requested")
        elif 100 <= status < 200:
            self.has_head, self._headers = False, {}
        else:
            self._keeps = self._parser.should_keep_alive()
            self._succeed(status)

    # How it ends

    def _succeed(self, status: int) -> None:
        self._response = Response(status, self._headers, bytes(self._body))
        self._wake()

    def _lost(self, error: Exception | None) -> None:
        """End a response with the connection, which is its proper end where it has no other."""
        if not self.has_head:
            stale = self._exchanges > 1 and not self._received
            why = error or "the server closed it"
            self._fail("connection", f"the connection to {self._origin} broke: {why}", at_once=stale)
            return
        has_length = not {"content-length", "transfer-encoding"}.isdisjoint(self._headers)
        status = self._parser.get_status_code()
        # Whoever refuses a request unread, and leaves, resets the connection: half of a complaint is one too.
        if has_length or (error is not None and status < 400):
            self._fail("incomplete_body", f"the response was cut short: {error or 'the server closed the connection'}")
        else:
            # Over TLS too the end may be forged; half of a JSON object is none, and found out.
            self._succeed(status)

    def _refuse(self, why: str) -> None:
        if self.has_head:
            self._fail("incomplete_body", f"the response was cut short: {why}")
        else:
            self._fail("invalid_response", f"{self._origin} does not speak valid HTTP: {why}")

    def _fail(self, kind: str, message: str, *, retryable: bool = True, at_once: bool = False) -> None:
        if self._response is None and self._fault is None:
            self._fault = TransportFault(kind, message, retryable=retryable, at_once=at_once)
            self._body = bytearray()
            self.close()
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
