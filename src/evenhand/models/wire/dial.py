"""Open a connection: to one of a host's addresses, directly or through a proxy's tunnel."""

from __future__ import annotations

import asyncio
import itertools
import socket
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from evenhand.models.retry import TransportFault
from evenhand.models.wire.connection import Connection
from evenhand.models.wire.route import Route, certified, connect_head, host_and_port, trusting

if TYPE_CHECKING:
    import ssl


# How long an address has before the next one is tried beside it (RFC 8305).
_HEAD_START = 0.25

# A family, and an address in it.
Address: TypeAlias = "tuple[socket.AddressFamily, Any]"


async def reach(host: str, port: int) -> socket.socket:
    """Connect to the first address of a host that answers.

    asyncio can do this too, and leaves sockets open when it is cancelled meanwhile.
    """
    loop = asyncio.get_running_loop()
    errors: list[OSError] = []
    trying: set[asyncio.Task[socket.socket]] = set()
    addresses = await _addresses(loop, host, port)
    if len(addresses) == 1:
        return await _connect_socket(loop, addresses[0])
    waiting = iter(addresses)
    try:
        while True:
            address = next(waiting, None)
            if address is not None:
                trying.add(loop.create_task(_connect_socket(loop, address)))
            if not trying:
                raise _joined_error(errors)
            head_start = _HEAD_START if address is not None else None
            done, _ = await asyncio.wait(trying, timeout=head_start, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                trying.discard(task)
                error = task.exception()
                if error is None:
                    return task.result()
                if not isinstance(error, OSError):
                    raise error
                errors.append(error)
    finally:
        for task in trying:
            if not (task.cancel() or task.cancelled() or task.exception()):  # it came second
                task.result().close()


async def _connect_socket(loop: asyncio.AbstractEventLoop, address: Address) -> socket.socket:
    family, where = address
    # With the protocol said, asyncio switches off that small packets wait for each other (TCP_NODELAY).
    connecting = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        connecting.setblocking(False)
        await loop.sock_connect(connecting, where)
    except BaseException:
        connecting.close()
        raise
    return connecting


async def _addresses(loop: asyncio.AbstractEventLoop, host: str, port: int) -> list[Address]:
    """Look a host up; the two families of addresses take turns."""
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:  # a name, which others have to be asked about
        entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    first = entries[0][0]
    by_family = [[entry for entry in entries if (entry[0] == first) is same] for same in (True, False)]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*by_family))
    return [(entry[0], entry[4]) for entry in turns if entry is not None]


def _joined_error(errors: list[OSError]) -> OSError:
    return errors[0] if len(errors) == 1 else OSError("; ".join(str(error) for error in errors))


_END = b"\r\n\r\n"
_LONGEST_HEAD = 64 * 1024


async def open_tunnel(loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, route: Route) -> None:
    """Ask the proxy at the other end for a tunnel to the server of a route; without one, the connection is closed."""
    answer = _Answer(loop)
    transport.set_protocol(answer)
    transport.write(connect_head(route))
    try:
        _require_tunnel(await answer.head, route)
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


def _require_tunnel(received: bytes, route: Route) -> None:
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
        raise _improper("it sent data into the tunnel")


def _improper(why: str) -> TransportFault:
    return TransportFault("invalid_response", f"the proxy does not speak valid HTTP: {why}", retryable=True)


async def dial(route: Route) -> Connection:
    """Open a connection; how long it may take is the caller's to say."""
    loop = asyncio.get_running_loop()
    connection = Connection(route.origin, loop)
    if route.proxy is None:
        try:
            await _connect(
                loop, connection, route.host, route.port, trusting(route.ca_file) if route.is_encrypted else None
            )
        except OSError as error:
            raise _unreachable(error, route.origin) from None
        return connection
    parts = urlsplit(route.proxy.reveal())
    try:
        transport = await _connect(
            loop, connection, *host_and_port(parts), trusting(route.ca_file) if parts.scheme == "https" else None
        )
    except OSError as error:
        if _is_about_trust(error):
            raise _untrusted(error, "the proxy") from None
        raise TransportFault("proxy", f"cannot connect to the proxy: {_reason(error)}", retryable=True) from None
    if route.is_encrypted:
        await open_tunnel(loop, transport, route)
        try:
            await _encrypt(loop, connection, transport, trusting(route.ca_file), route.host)
        except OSError as error:
            raise _unreachable(error, route.origin) from None
    return connection


async def _connect(
    loop: asyncio.AbstractEventLoop, connection: Connection, host: str, port: int, context: ssl.SSLContext | None
) -> asyncio.Transport:
    reached = await reach(host, port)
    transport, _ = await loop.create_connection(lambda: connection, sock=reached)
    return transport if context is None else await _encrypt(loop, connection, transport, context, host)


async def _encrypt(
    loop: asyncio.AbstractEventLoop,
    connection: Connection,
    transport: asyncio.Transport,
    context: ssl.SSLContext,
    host: str,
) -> asyncio.Transport:
    """Put an encrypted transport over another. ``create_connection`` could do both, and would hide the one below."""
    try:
        inner = await loop.start_tls(transport, connection, context, server_hostname=certified(host))
    except BaseException:
        transport.abort()
        raise
    if inner is None:  # so asyncio says that the other side left at the end of the handshake
        raise ConnectionResetError
    connection.connection_made(inner)
    return inner


def _unreachable(error: OSError, origin: str) -> TransportFault:
    if _is_about_trust(error):
        return _untrusted(error, origin)
    if _is_in_the_clear(error):
        advice = f"write http instead of https: {origin.replace('https:', 'http:', 1)}"
        return TransportFault("connection", f"{origin} does not speak TLS; {advice}", retryable=True)
    return TransportFault("connection", f"cannot connect to {origin}: {_reason(error)}", retryable=True)


def _reason(error: OSError) -> str:
    return (
        str(error) or "the other side closed the connection during the handshake"
    )  # asyncio's error for this has no words


def _untrusted(error: OSError, whom: str) -> TransportFault:
    return TransportFault("certificate", f"{whom} is not trusted ({error}); is ca_file right?", retryable=False)


def _is_in_the_clear(error: OSError) -> bool:
    """Return whether what came instead of a handshake is not TLS, as from a server for http."""
    return getattr(error, "reason", None) == "WRONG_VERSION_NUMBER"


def _is_about_trust(error: OSError) -> bool:
    import ssl  # noqa: PLC0415 - asyncio has loaded it, where there is any

    return isinstance(error, ssl.SSLCertVerificationError)
