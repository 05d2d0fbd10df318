"""What a judgment costs: without a network, and over HTTP beside a client that does nothing but the requests."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import aiohttp
import orjson

from bench import provider
from bench.measure import ROUNDS, Row, cpu_seconds
from evenhand import Case, PromptEvaluator, Scripted
from evenhand.domain.evaluation import Status

JUDGMENTS = 2000
SIDE_BY_SIDE = 64
GOAL = "2.2 times the bare client"


def case(number: int) -> Case:
    year = 1700 + number % 200
    return Case(
        question=f"In which year did expedition {number} set out, and under which two conditions was it paid for?",
        candidate_answer=f"Expedition {number} set out in {year}, paid for on condition that it mapped the coast.",
        reference_answer=f"In {year}; it had to map the coast and to bring back its ship.",
        expected_outcome="Names the year and both conditions, and adds nothing false.",
    )


CASES = [case(number) for number in range(JUDGMENTS)]


def rows() -> Iterator[Row]:
    taken = min(cpu_seconds(judge_by_script) for _ in range(ROUNDS))
    yield "a judgment by a scripted judge", microseconds(taken), ""
    with provider.running() as port:
        judge = {"model": "openai/bench", "base_url": f"http://127.0.0.1:{port}/v1", "api_key": "k", "proxy": ""}
        evaluator = PromptEvaluator(judge=judge)
        asyncio.run(judge_all(evaluator, CASES[:SIDE_BY_SIDE]))  # loads what the first request loads
        body = last_body(port)
        # By turns, so that both have the same share of whatever else the machine does.
        rounds = [
            (
                cpu_seconds(lambda: asyncio.run(request_all(port, body))),
                cpu_seconds(lambda: asyncio.run(judge_all(evaluator, CASES))),
            )
            for _ in range(ROUNDS)
        ]
    bare, ours = (min(times) for times in zip(*rounds, strict=True))
    yield f"a bare request over HTTP, {SIDE_BY_SIDE} at once", microseconds(bare), ""
    yield f"a judgment over HTTP, {SIDE_BY_SIDE} at once", microseconds(ours), ""
    yield "a judgment over a bare request", f"{ours / bare:.2f}", GOAL


def microseconds(taken: float) -> str:
    return f"{taken / JUDGMENTS * 1e6:.0f} µs"


def judge_by_script() -> None:
    evaluator = PromptEvaluator(judge=Scripted([json.dumps(provider.VERDICT)] * JUDGMENTS))
    asyncio.run(judge_all(evaluator, CASES))


async def judge_all(evaluator: PromptEvaluator, cases: Iterable[Case]) -> None:
    async def judge(one: Case) -> None:
        evaluation = await evaluator.aevaluate(one)
        assert evaluation.status is Status.SCORED, evaluation.error

    await side_by_side(judge, cases)


async def request_all(port: int, body: Any, cases: Iterable[object] = CASES) -> None:
    headers = {"Authorization": "Bearer k", "Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(limit=SIDE_BY_SIDE)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def request(_: object) -> None:
            async with session.post(
                f"http://127.0.0.1:{port}/v1/chat/completions", data=orjson.dumps(body)
            ) as response:
                completion = orjson.loads(await response.read())
            assert orjson.loads(completion["choices"][0]["message"]["content"])["score"] == provider.VERDICT["score"]

        await side_by_side(request, cases)


async def side_by_side(work: Callable[[Any], Awaitable[None]], cases: Iterable[object]) -> None:
    waiting = iter(cases)

    async def worker() -> None:
        for one in waiting:
            await work(one)

    async with asyncio.TaskGroup() as group:
        for _ in range(SIDE_BY_SIDE):
            group.create_task(worker())


def last_body(port: int) -> Any:
    """Learn from the provider what a request looks like."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/")
    body = json.loads(connection.getresponse().read())
    connection.close()
    return body
