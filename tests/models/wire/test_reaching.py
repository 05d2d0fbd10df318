"""Of a host's addresses, the first that answers is taken, and the others leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest

from evenhand.models.wire import dial
from evenhand.models.wire.dial import Address, reach

Addresses = Callable[..., None]


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> Addresses:
    """Let the next host have these addresses; which ones a real name has is not ours to say."""

    def have(*ports: int) -> None:
        async def found(*_: object) -> list[Address]:
            return [(socket.AF_INET, ("127.0.0.1", port)) for port in ports]

        monkeypatch.setattr(dial, "_addresses", found)

    return have


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as held:
        yield held


@pytest.fixture
def answering(stack: ExitStack) -> int:
    """A port where somebody listens."""
    port: int = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=100)).getsockname()[1]
    return port


@pytest.fixture
def refusing(stack: ExitStack) -> int:
    """A port where nobody listens."""
    held = stack.enter_context(socket.socket())
    held.bind(("127.0.0.1", 0))
    port: int = held.getsockname()[1]
    return port


@pytest.fixture
def silent(stack: ExitStack) -> int:
    """A port where connections wait for ever, since the queue is full."""
    full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
    for _ in range(3):
        waiting = stack.enter_context(socket.socket())
        waiting.setblocking(False)
        waiting.connect_ex(full.getsockname())
    port: int = full.getsockname()[1]
    return port


def port_reached() -> int:
    async def reaching() -> int:
        async with asyncio.timeout(60):
            reached = await reach("judge.example", 1)
        with reached:
            port: int = reached.getpeername()[1]
            return port

    return asyncio.run(reaching())


def test_the_first_address_that_answers_is_taken(addresses: Addresses, answering: int) -> None:
    addresses(answering, answering)

    assert port_reached() == answering


def test_an_address_that_refuses_is_passed_over(addresses: Addresses, answering: int, refusing: int) -> None:
    addresses(refusing, answering)

    assert port_reached() == answering


def test_an_address_that_is_silent_is_not_waited_for(addresses: Addresses, answering: int, silent: int) -> None:
    addresses(silent, answering)

    assert port_reached() == answering


def test_where_nobody_answers_all_is_told(addresses: Addresses, refusing: int) -> None:
    addresses(refusing, refusing)

    with pytest.raises(OSError, match=r"Connect call failed .*; .*Connect call failed"):
        port_reached()


@pytest.mark.parametrize("rounds", range(8))
@pytest.mark.parametrize("times", [1, 2, 3])
def test_whoever_gives_up_leaves_no_socket(addresses: Addresses, answering: int, rounds: int, times: int) -> None:
    addresses(*[answering] * times)

    async def give_up() -> None:
        trying = asyncio.create_task(reach("judge.example", 1))
        for _ in range(rounds):
            await asyncio.sleep(0)
        trying.cancel()
        with suppress(asyncio.CancelledError):
            (await trying).close()

    asyncio.run(give_up())
    gc.collect()  # a socket that nobody closed would warn now, which is an error here


def test_families_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    new, old = socket.AF_INET6, socket.AF_INET

    async def order(*families: socket.AddressFamily) -> list[int]:
        loop = asyncio.get_running_loop()

        async def look_up(*_: object, **__: object) -> list[object]:
            return [(family, socket.SOCK_STREAM, 6, "", number) for number, family in enumerate(families)]

        monkeypatch.setattr(loop, "getaddrinfo", look_up)
        return [address for _, address in await dial._addresses(loop, "judge.invalid", 1)]

    assert asyncio.run(order(new, new, new, old)) == [0, 3, 1, 2]
    assert asyncio.run(order(old, new, new)) == [0, 1, 2]
    assert asyncio.run(order(old)) == [0]
