"""A judge on loopback, in a thread of the process that watches it: it counts what it is asked, and when.

What it says depends on nothing but the question, so runs can be compared. It can be held up, and it can be gone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import threading
import time
from collections import Counter
from typing import Any

# What each call is said to have used.
TOKENS = {"prompt_tokens": 100, "completion_tokens": 20}


class LoopbackJudge:
    """Answers with a verdict after ``delay`` seconds. ``most`` are answered, if that is set; the others wait."""

    def __init__(self, delay: float = 0.002) -> None:
        self.calls: list[float] = []
        self.questions: Counter[str] = Counter()
        self.keys: set[str] = set()
        self.in_flight = self.most_in_flight = 0
        self.delay = delay
        self.most: int | None = None
        # While it is gone, connections are closed without a word; this is when.
        self.is_gone = False
        self.turned_away: list[float] = []
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(60)

    @property
    def url(self) -> str:
        """The address that a suite gives as ``base_url``."""
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
                if self.is_gone:
                    self.turned_away.append(time.monotonic())
                    return
                self.keys.add(head.partition(b"authorization: bearer ")[2].partition(b"\r\n")[0].decode())
                await self._take(json.loads(body), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the other side was killed
        finally:
            writer.close()

    async def _take(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        self.calls.append(time.monotonic())
        self.questions[str(request["messages"][-1])] += 1
        number = len(self.calls)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(self.delay)
        while self.most is not None and number > self.most:  # noqa: ASYNC110 - it is set by another thread
            await asyncio.sleep(0.01)
        self.in_flight -= 1
        reply = answer(request)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(reply))
        writer.write(reply)
        await writer.drain()

    def wait_for(self, calls: int, seconds: float) -> bool:
        """Wait until so many calls came in; False when that takes too long."""
        end = time.monotonic() + seconds
        while len(self.calls) < calls:
            if time.monotonic() > end:
                return False
            time.sleep(0.002)
        return True

    def close(self) -> None:
        """End it, whoever is still connected."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()


def answer(request: dict[str, Any]) -> bytes:
    """Return a verdict that the messages decide: an order if profiles are to be ranked, else a score."""
    asked = json.dumps(request["messages"])
    digest = hashlib.sha256(asked.encode()).digest()
    reasons = f"Found {digest.hex()[:8]}."
    verdict: dict[str, Any] = {"reasoning": reasons, "hits": [], "misses": [], "score": digest[0] % 11 / 10}
    if labels := sorted(set(re.findall(r"</profile_([A-Z]) ", asked))):
        verdict = {"reasoning": reasons, "order": sorted(labels, key=lambda label: digest[ord(label) - ord("A")])}
    elif "justification" in asked:
        verdict = {"justification": reasons, "score": digest[0] % 11}
    message = {"role": "assistant", "content": json.dumps(verdict)}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": TOKENS}).encode()
