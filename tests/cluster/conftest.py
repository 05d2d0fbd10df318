"""Workers in this process, which die when they are told to: all but Ray is the real thing."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.cluster.messages import Orders, Report, Shipment
from evenhand.cluster.port import WorkerLost
from evenhand.cluster.worker import Worker
from evenhand.models.embedded.runtime import Load


class Process:
    """A worker that can die: then whatever it did and did not report is gone."""

    def __init__(self, dies: Callable[[Process], bool]) -> None:
        self.worker: Worker | None = None
        self.has: set[int] = set()
        self.reports = 0
        self.is_dead = False
        self._dies = dies

    async def begin(self, shipment: Shipment) -> str | None:
        self.worker = Worker(shipment)
        return None

    async def exchange(self, orders: Orders) -> Report:
        assert self.worker is not None
        self.has |= {item.case[0] for item in orders.items}
        report = await self.worker.exchange(orders)
        self.reports += 1
        if self._dies(self):
            self.close()
            raise WorkerLost("killed by the test")
        return report

    def close(self) -> None:
        self.is_dead = True
        if self.worker is not None:
            for task in self.worker._tasks:
                task.cancel()


class Processes:
    """A cluster of them."""

    ships_files = False

    def __init__(self, workers: int, dies: Callable[[Process], bool] = lambda _: False) -> None:
        self.workers = workers
        self.started: list[Process] = []
        self._dies = dies

    def host(self, models: Sequence[Load]) -> Processes:
        """Let each process load its models itself."""
        return self

    def close(self) -> None:
        """Do nothing: there is nothing beside them."""

    def start(self) -> Process:
        self.started.append(Process(self._dies))
        return self.started[-1]


class Provider:
    """A judge on loopback whose verdict depends on the question alone; it counts what it is asked, and when."""

    def __init__(self) -> None:
        self.calls: list[float] = []
        self.keys: set[str] = set()
        self.in_flight = self.most_in_flight = 0
        self.delay = 0.002
        # So many are answered; those who ask after that wait until there may be more.
        self.most: int | None = None
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _serve(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._talk, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self._loop.run_forever()
        server.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                body = await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r\n")[0]))
                self.keys.add(head.partition(b"authorization: bearer ")[2].partition(b"\r\n")[0].decode())
                self.calls.append(self._loop.time())
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                number = len(self.calls)
                await asyncio.sleep(self.delay)
                while self.most is not None and number > self.most:  # noqa: ASYNC110 - it is set by another thread
                    await asyncio.sleep(0.01)
                self.in_flight -= 1
                reply = _answer(json.loads(body))
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(reply)
                )
                writer.write(reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the other side was killed
        finally:
            writer.close()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()


def _answer(request: dict[str, Any]) -> bytes:
    digest = hashlib.sha256(json.dumps(request["messages"]).encode()).digest()
    verdict = {"reasoning": f"Found {digest.hex()[:8]}.", "hits": [], "misses": [], "score": digest[0] % 11 / 10}
    message = {"role": "assistant", "content": json.dumps(verdict)}
    usage = {"prompt_tokens": 100, "completion_tokens": 20}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()


@pytest.fixture
def provider() -> Iterator[Provider]:
    provider = Provider()
    yield provider
    provider.close()


@pytest.fixture
def processes() -> Callable[..., Processes]:
    """Make a cluster of so many workers, which die when a function says so."""
    return Processes


@pytest.fixture
def suite(tmp_path: Path) -> Callable[..., Path]:
    """Write a suite of so many cases, all with an answer of their own."""

    def write(cases: int, **settings: Any) -> Path:
        settings.setdefault("evaluators", [{"name": "says", "type": "contains", "value": "7"}])
        rows = [
            {
                "id": f"c{number}",
                "input": f"Question {number}?",
                "candidate_answer": f"Answer {number}.",
                "expected_outcome": "Says it",
            }
            for number in range(cases)
        ]
        path = tmp_path / "suite.json"
        path.write_text(json.dumps({**settings, "cases": rows}))
        return path

    return write
