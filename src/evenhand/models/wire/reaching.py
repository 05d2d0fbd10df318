"""Reaching a host that has several addresses, some of which may lead nowhere."""

from __future__ import annotations

import asyncio
import itertools
import socket
from typing import Any, TypeAlias

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
        return await _connected(loop, addresses[0])
    waiting = iter(addresses)
    try:
        while True:
            address = next(waiting, None)
            if address is not None:
                trying.add(loop.create_task(_connected(loop, address)))
            if not trying:
                raise _together(errors)
            head_start = _HEAD_START if address is not None else None
            done, _ = await asyncio.wait(trying, timeout=head_start, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                trying.discard(one)
                error = one.exception()
                if error is None:
                    return one.result()
                if not isinstance(error, OSError):
                    raise error
                errors.append(error)
    finally:
        for one in trying:
            if not (one.cancel() or one.cancelled() or one.exception()):  # it came second
                one.result().close()


async def _connected(loop: asyncio.AbstractEventLoop, address: Address) -> socket.socket:
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
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:  # a name, which others have to be asked about
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    first = found[0][0]
    by_family = [[one for one in found if (one[0] == first) is same] for same in (True, False)]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*by_family))
    return [(one[0], one[4]) for one in turns if one is not None]


def _together(errors: list[OSError]) -> OSError:
    return errors[0] if len(errors) == 1 else OSError("; ".join(str(error) for error in errors))
