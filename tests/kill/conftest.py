from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import Iterator

import pytest

DELAY = 0.004


class Provider:
    """A judge on loopback whose verdict depends on nothing but the question, and who counts what it is asked."""

    def __init__(self) -> None:
        self.calls = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        assert self._ready.wait(60)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._talk, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                body = await reader.readexactly(length)
                self.calls += 1
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                await asyncio.sleep(DELAY)
                self.in_flight -= 1
                reply = answer(json.loads(body))
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

    def wait_for(self, calls: int, seconds: float) -> bool:
        """Wait until so many calls came in; False when that takes too long."""
        end = time.monotonic() + seconds
        while self.calls < calls:
            if time.monotonic() > end:
                return False
            time.sleep(0.002)
        return True


def answer(request: dict[str, object]) -> bytes:
    digest = hashlib.sha256(json.dumps(request["messages"]).encode()).digest()
    verdict = {"reasoning": f"Found {digest.hex()[:8]}.", "hits": [], "misses": [], "score": digest[0] % 11 / 10}
    message = {"role": "assistant", "content": json.dumps(verdict)}
    usage = {"prompt_tokens": 100, "completion_tokens": 20}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()


@pytest.fixture
def provider() -> Iterator[Provider]:
    """Return a judge on loopback."""
    made = Provider()
    yield made
    made.close()
