"""A provider on this machine, in a process of its own, which gives every request the same verdict at once.

It speaks as much HTTP as the clients here do, so that it costs next to nothing beside them. A GET gives the body of
the last POST, from which the bare client learns what to send. A varied one gives 101 different scores, the same one
whenever the request is the same; one that ranks puts the profiles in order. ``/answered`` gives how many requests were
answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

from bench.noisy_judge import NoisyJudge

VERDICT: dict[str, Any] = {
    "reasoning": "The answer states the main fact and the year, but leaves out the second condition of the reference.",
    "hits": ["names the main fact", "gives the year"],
    "misses": ["leaves out the second condition"],
    "score": 0.7,
}
Kind: TypeAlias = Literal["same", "varied", "ranking"]


def completion(content: str) -> bytes:
    body = {
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 1,
        "model": "bench",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 400, "completion_tokens": 60, "total_tokens": 460},
    }
    return response(json.dumps(body).encode())


class Connection(asyncio.Protocol):
    """One connection of a client that sends its length and one request after the other."""

    reply_to: Callable[[bytes], bytes]
    last_body = b""
    answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        while True:
            head, separator, rest = self.received.partition(b"\r\n\r\n")
            _, _, after_name = head.lower().partition(b"content-length:")
            length = int(after_name.partition(b"\r\n")[0] or 0)
            if not separator or len(rest) < length:
                return
            self.received = rest[length:]
            if head.startswith(b"POST"):
                Connection.last_body = rest[:length]
                Connection.answered += 1
                self.transport.write(Connection.reply_to(Connection.last_body))
            elif head.startswith(b"GET /answered"):
                self.transport.write(response(b"%d" % Connection.answered))
            else:
                self.transport.write(response(Connection.last_body))


def response(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def scored(*scores: float) -> Callable[[bytes], bytes]:
    """Reply with one of some verdicts, the same one to the same request."""
    replies = [completion(json.dumps(VERDICT | {"score": score})) for score in scores]
    return lambda body: replies[zlib.crc32(body) % len(replies)]


def ranked() -> Callable[[bytes], bytes]:
    """Reply with an order of the profiles in a request."""
    judge = NoisyJudge()
    return lambda body: completion(judge(json.loads(body)["messages"]))


KINDS: dict[Kind, Callable[[], Callable[[bytes], bytes]]] = {
    "same": lambda: scored(VERDICT["score"]),
    "varied": lambda: scored(*(number / 100 for number in range(101))),
    "ranking": ranked,
}


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextlib.contextmanager
def running(kind: Kind = "same", *, port: int = 0) -> Iterator[int]:
    """Run the provider and give its port; 0 takes any that is free."""
    command = [sys.executable, "-m", "bench.provider", kind, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


if __name__ == "__main__":
    Connection.reply_to = staticmethod(KINDS[sys.argv[1]]())  # type: ignore[index]  # it is one of them
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(int(sys.argv[2])))
