"""A connection whose other end a test holds, so that it can say byte by byte what arrives, and when.

def test_…(hear):
    heard = hear(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi")

    assert (heard.response.content, heard.clean) == (b"hi", True)
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from evenhand.models.retry import TransportFault
from evenhand.models.wire.connection import Connection, Response

ORIGIN = "http://judge.example"
End = Literal["nothing", "close", "reset"]


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What became of a request: a response or a fault, whether the connection was clean, and the signs of progress."""

    outcome: Response | TransportFault
    clean: bool
    progress: int

    @property
    def response(self) -> Response:
        assert isinstance(self.outcome, Response), self.outcome
        return self.outcome

    @property
    def fault(self) -> TransportFault:
        assert isinstance(self.outcome, TransportFault), self.outcome
        return self.outcome


class Line:
    """A connection and its other end, connected over the loopback interface."""

    connection: Connection
    far: socket.socket

    async def __aenter__(self) -> Line:
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as listening:
            near = socket.create_connection(listening.getsockname())
            self.far, _ = listening.accept()
        self.connection = Connection(ORIGIN, loop)
        await loop.create_connection(lambda: self.connection, sock=near)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.connection.close()
        self.far.close()
        await asyncio.sleep(0)

    async def exchange(
        self, pieces: Iterable[bytes], *, then: End = "nothing", most: int = 10**6, request: bytes = b"?"
    ) -> Heard:
        """Send a request, have these pieces arrive, and see what becomes of it."""
        signs: list[None] = []
        asking = asyncio.create_task(self.connection.exchange(request, most=most, progress=lambda: signs.append(None)))
        await asyncio.sleep(0)
        for piece in pieces:
            if self.connection.is_open:
                self.connection.data_received(piece)
        if then == "close":
            self.far.shutdown(socket.SHUT_WR)
        elif then == "reset":
            self.far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.far.close()
        try:
            async with asyncio.timeout(60):
                outcome: Response | TransportFault = await asking
        except TransportFault as fault:
            outcome = fault
        return Heard(outcome=outcome, clean=self.connection.is_clean, progress=len(signs))


@pytest.fixture
def on_a_line() -> Callable[[Callable[[Any], Awaitable[Any]]], Any]:
    """Run a story on a connection: ``on_a_line(story)``, with ``async def story(line)``."""

    def run(story: Callable[[Any], Awaitable[Any]]) -> Any:
        async def told() -> Any:
            async with Line() as line:
                return await story(line)

        return asyncio.run(told())

    return run


@pytest.fixture
def hear(on_a_line: Callable[..., Any]) -> Callable[..., Heard]:
    """Ask once on a connection of its own: ``hear(stream)`` or ``hear([piece, piece], then="close")``."""

    def ask(arriving: bytes | Iterable[bytes], **options: Any) -> Heard:
        pieces = [arriving] if isinstance(arriving, bytes) else arriving
        heard: Heard = on_a_line(lambda line: line.exchange(pieces, **options))
        return heard

    return ask
