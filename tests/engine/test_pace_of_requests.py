"""As many requests at once as the user asked for, from the start; as few as a server takes, at once; and per minute."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.domain.message import Message
from evenhand.domain.run import RunStatus
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.rate_limit import RateLimit, estimated_tokens, exhausted_seconds
from evenhand.models.resolve import resolve
from evenhand.store.store import Store

BODY = {
    "choices": [{"message": {"role": "assistant", "content": '{"score": 1.0}'}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 10},
}


class Server:
    """A provider on the loopback interface that takes so many requests at once, and refuses others with 429.

    It answers nobody before so many are there ``together``.
    """

    def __init__(self, capacity: int, *, together: int = 1, headers: str = "", refusal: str = "") -> None:
        self.capacity = capacity
        self.headers, self.refusal = headers, refusal
        self.at_once = self.most = self.refused = self.served = 0
        self.together = together
        self._gathered = asyncio.Event()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0, backlog=512)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        finally:
            server.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                await reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
                self.at_once += 1
                self.most = max(self.most, self.at_once)
                is_refused = self.at_once > self.capacity
                if is_refused:
                    self.refused += 1
                else:
                    if self.at_once >= self.together:
                        self._gathered.set()
                    await self._gathered.wait()
                    for _ in range(20):  # in which others would come
                        await asyncio.sleep(0)
                    self.served += 1
                self.at_once -= 1
                self._send(writer, is_refused=is_refused)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    def _send(self, writer: asyncio.StreamWriter, *, is_refused: bool) -> None:
        body = json.dumps({"error": {"message": "too many"}} if is_refused else BODY).encode()
        status, more = ("429 No", self.refusal) if is_refused else ("200 OK", self.headers)
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body)


def run_against(
    server: Server, store: Store, made: Any, *, cases: int, pace: Pace, seen: Callable[[Runner], None] = lambda _: None
) -> Any:
    async def go() -> Any:
        async with asyncio.timeout(100), server.serving() as url:
            judge = resolve({"model": "openai/x", "base_url": url, "api_key": "k", "backoff": 0.05})
            job = made.job(made.cases(cases), evaluators=[PromptEvaluator(judge=judge, name="q")])
            runner = Runner(store, plan(store, job, Scope()), job, pace)
            record = await runner.run()
            seen(runner)
            return record

    return asyncio.run(go())


@pytest.mark.parametrize("most", [8, 50])
def test_with_a_number_given_so_many_are_in_flight_from_the_start(store: Store, made: Any, most: int) -> None:
    # It answers nobody before all are there: a lane that began with fewer would wait in vain.
    server = Server(10_000, together=most)

    run = run_against(server, store, made, cases=most * 3, pace=Pace.of(concurrency=most, use_cache=False))

    assert run.status is RunStatus.FINISHED
    assert server.most == most


def test_without_one_a_run_begins_with_few(store: Store, made: Any) -> None:
    server = Server(10_000, together=4)

    run_against(server, store, made, cases=4, pace=Pace.of(use_cache=False))

    assert server.most == 4


def test_a_server_that_takes_six_refuses_little_more_than_the_first_burst(store: Store, made: Any) -> None:
    server = Server(6, together=6)
    limits: list[float] = []

    run = run_against(
        server,
        store,
        made,
        cases=400,
        pace=Pace.of(concurrency=50, use_cache=False),
        seen=lambda runner: limits.extend(lane.limit for lane in runner.gateway.lanes.values()),
    )

    assert run.status is RunStatus.FINISHED
    assert made.statuses(store, run) == ["scored"] * 400
    assert server.refused <= 60  # 44 of the first burst, and a few that were on their way
    assert limits[0] <= 8


def test_what_the_headers_say_is_used_up_is_not_asked_for(store: Store, made: Any) -> None:
    used_up = "x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: 30s\r\n"
    server = Server(10_000, headers=used_up)
    pauses: list[float] = []

    async def go() -> None:
        async with asyncio.timeout(100), server.serving() as url:
            judge = resolve({"model": "openai/x", "base_url": url, "api_key": "k"})
            job = made.job(made.cases(20), evaluators=[PromptEvaluator(judge=judge, name="q")])
            first = asyncio.Event()
            runner = Runner(
                store,
                plan(store, job, Scope()),
                job,
                Pace.of(concurrency=1, use_cache=False),
                observers=[lambda planned, judgment: first.set()],
            )
            working = asyncio.create_task(runner.run())
            await first.wait()
            for _ in range(200):
                await asyncio.sleep(0)
            pauses.append(server.served)
            runner.interrupt()
            runner._give_up()  # nobody waits for the end of the pause
            await working

    asyncio.run(go())

    assert pauses == [1]


@pytest.mark.slow
def test_requests_per_minute_are_kept_by_all_who_ask_the_model(store: Store, made: Any) -> None:
    server = Server(10_000)

    async def go() -> float:
        async with asyncio.timeout(100), server.serving() as url:
            settings = {"model": "openai/x", "base_url": url, "api_key": "k", "rpm": 600}
            both = [PromptEvaluator(judge=resolve(settings), name=name) for name in ("a", "b")]
            job = made.job(made.cases(15), evaluators=both)
            runner = Runner(store, plan(store, job, Scope()), job, Pace.of(concurrency=30, use_cache=False))
            began = time.monotonic()
            await runner.run()
            return time.monotonic() - began

    seconds = asyncio.run(go())

    assert server.served == 30
    assert seconds > 1.9  # ten at once, then ten a second


@pytest.mark.parametrize("wrong", [0, -5, 0.5, "many", True])
@pytest.mark.parametrize("name", ["rpm", "tpm"])
def test_what_is_no_rate_is_refused(name: str, wrong: Any) -> None:
    with pytest.raises(ConfigError, match=f"openai/x: {name} is .*; it must be a"):
        resolve({"model": "openai/x", "api_key": "k", name: wrong})


# Per minute


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.slow
@pytest.mark.parametrize("rpm", [1, 2, 5, 60, 500, pytest.param(10_000, marks=pytest.mark.long)])
def test_within_any_minute_no_more_requests_begin_than_were_set(rpm: int) -> None:
    clock = Clock()
    limit = RateLimit(rpm=rpm, clock=clock)
    began: list[float] = []

    while clock.now < 1000.0 + 300:
        wait = limit.take(0)
        if wait:
            clock.now += wait
        else:
            began.append(clock.now)

    most = max(sum(start <= other < start + 60 for other in began) for start in began[:: max(1, len(began) // 200)])
    assert most <= rpm
    assert len(began) >= 5 * rpm * (0.45 if rpm < 5 else 0.75)


def test_tokens_are_estimated_and_settled_when_they_are_known() -> None:
    clock = Clock()
    limit = RateLimit(tpm=6000, clock=clock)  # a thousand of them at once

    assert limit.take(400) == 0
    assert limit.take(400) == 0
    limit.settle(400, 100)
    assert limit.take(400) == 0
    limit.settle(400, 1400)
    wait = limit.take(400)
    assert wait == pytest.approx((400 - (1000 - 400 - 100 - 1400)) / (5000 / 60))
    clock.now += wait
    assert limit.take(400) == 0


def test_a_request_larger_than_what_may_be_sent_at_once_waits_until_nothing_else_was_sent() -> None:
    clock = Clock()
    limit = RateLimit(tpm=600, clock=clock)

    assert limit.take(5000) == 0
    assert limit.take(1) > 60 * 5


def test_tokens_are_estimated_by_length() -> None:
    assert estimated_tokens([Message("user", "a" * 400), Message("system", "b" * 40)], None) == 110
    assert estimated_tokens([Message("user", "a" * 400)], 50) == 150


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "1s"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7.66"}, 7.66),
        ({"x-ratelimit-remaining-requests": "0"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "9" * 5000}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "nan"}, None),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "1970-01-01T00:01:40Z",
            },
            90.0,
        ),
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "1970-01-01T00:00:01Z",
            },
            None,
        ),
    ],
)
def test_headers_of_providers(headers: dict[str, str], seconds: float | None) -> None:
    assert exhausted_seconds(headers, now=10.0) == seconds
