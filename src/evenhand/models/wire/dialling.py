"""Opening a connection to a server: straight or through a proxy, encrypted or not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from evenhand.models.retry import TransportFault
from evenhand.models.wire.connection import Connection
from evenhand.models.wire.reaching import reach
from evenhand.models.wire.route import Route, certified, host_and_port
from evenhand.models.wire.trust import trusting
from evenhand.models.wire.tunnel import open_tunnel

if TYPE_CHECKING:
    import ssl


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
        raise TransportFault("proxy", f"cannot connect to the proxy: {_why(error)}", retryable=True) from None
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
    return TransportFault("connection", f"cannot connect to {origin}: {_why(error)}", retryable=True)


def _why(error: OSError) -> str:
    return str(error) or "the other side left during the handshake"  # asyncio's error for this has no words


def _untrusted(error: OSError, whom: str) -> TransportFault:
    return TransportFault("certificate", f"{whom} is not trusted ({error}); is ca_file right?", retryable=False)


def _is_about_trust(error: OSError) -> bool:
    import ssl  # noqa: PLC0415 - asyncio has loaded it, where there is any

    return isinstance(error, ssl.SSLCertVerificationError)
