"""The breaker finds out whose failure it was, and lets nobody wait for longer than somebody is waited for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evenhand.domain.evaluation import Attempt
from evenhand.domain.reply import Reply, Unanswered
from evenhand.engine.breaker import Breaker, Outage, Patience
from evenhand.engine.concurrency_limit import ConcurrencyLimit, LimitClosed
from evenhand.models.retry import RetryPolicy

REPLY = Reply.said("ok")
GONE = "connection: refused"


class Client:
    name = "m"

    async def ask(self, ask: Any, *, deadline: float | None = None) -> Reply:
        raise NotImplementedError


def unanswered(error: str, **rest: Any) -> Unanswered:
    return Unanswered(error=error, attempts=(Attempt(kind="transport", error=error),), **rest)


class Account:
    """A lane with its breaker, and probes that are answered as told; ``said`` is what it came to."""

    def __init__(self, *probes: Any, answered: bool = True, seconds: float = 600.0, base: float = 0.0) -> None:
        self._answers = iter(probes)
        self.probes = 0
        self.outages: list[Outage] = []
        self.stops: list[str] = []
        self.lane = ConcurrencyLimit(8, is_probed=True)
        self.lane.answered = answered
        self.breaker = Breaker(
            self.lane,
            probe=self._probe,
            stop=self.stops.append,
            tell=self.outages.append,
            patience=Patience(seconds=seconds, intervals=RetryPolicy(base=base, cap=base)),
        )

    async def _probe(self, client: Any) -> Any:
        self.probes += 1
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def settle(self, error: str = GONE, waiting: int = 3) -> list[Any]:
        async def several() -> list[Any]:
            async with asyncio.timeout(60):
                asked = [self.breaker.settle(Client(), error) for _ in range(waiting)]
                return await asyncio.gather(*asked, return_exceptions=True)

        return asyncio.run(several())


def test_one_probe_settles_it_for_all_who_wait() -> None:
    account = Account(REPLY)

    ended = account.settle()

    assert ended == [None] * 3
    assert (account.probes, account.outages, account.breaker.outages, account.stops) == (1, [], 0, [])


def test_a_pause_lasts_until_a_probe_is_answered() -> None:
    account = Account(unanswered(GONE), unanswered("overloaded: HTTP 503"), unanswered("rate_limited: wait"), REPLY)

    ended = account.settle()

    assert ended == [None] * 3
    assert (account.probes, account.breaker.outages) == (4, 1)
    assert [one.lasted is None for one in account.outages] == [True, False]
    assert not account.lane.held


def test_somebody_who_complains_of_something_else_is_there() -> None:
    account = Account(unanswered(GONE), unanswered("bad_request: HTTP 400: what?"))

    assert account.settle() == [None] * 3
    assert account.breaker.outages == 1


def test_while_a_provider_is_gone_nobody_begins_and_a_reply_to_somebody_else_ends_the_pause() -> None:
    account = Account(unanswered(GONE), base=600.0)  # no second probe is ever due
    lane = account.lane

    async def pause() -> tuple[bool, bool]:
        assert lane.enter_at_once()  # this one is still under way
        settling = asyncio.create_task(account.breaker.settle(Client(), GONE))
        while not account.outages:  # noqa: ASYNC110 - nobody tells when it has come
            await asyncio.sleep(0.001)
        could_enter = lane.enter_at_once()
        lane.leave(REPLY)
        async with asyncio.timeout(60):
            await settling
        return could_enter, lane.enter_at_once()

    assert asyncio.run(pause()) == (False, True)
    assert account.probes == 1


@pytest.mark.slow
def test_the_server_says_when_to_come_back() -> None:
    """It says in an hour, which is longer than it is waited for: so there is a probe in the end, and none before."""
    patient = Account(*[unanswered(GONE, retry_after=3600.0)] * 2, seconds=1.0, base=0.001)

    ended = patient.settle()

    assert [type(one) for one in ended] == [LimitClosed] * 3
    assert patient.probes == 2
    assert patient.stops[0].startswith(f"m: {GONE}; gave up after waiting ")


@pytest.mark.parametrize(
    ("account", "why"),
    [
        (Account(unanswered(GONE), answered=False), GONE),
        (Account(unanswered(GONE), seconds=0.0), GONE),
        (Account(None), GONE),
        (Account(RuntimeError("oh")), "crashed: RuntimeError: oh"),
    ],
    ids=["never answered", "no patience", "no budget", "a crash"],
)
def test_where_nobody_is_waited_for_all_are_told_so_at_once(account: Account, why: str) -> None:
    ended = account.settle()

    assert [(type(one), str(one)) for one in ended] == [(LimitClosed, why)] * 3
    assert (account.probes, account.outages, account.stops) == (1, [], [f"m: {why}"])


@pytest.mark.parametrize("error", ["unauthorized: x", "forbidden: x", "not_found: x"])
@pytest.mark.parametrize("probe", [REPLY, unanswered("bad_request: x"), unanswered("forbidden: me too")])
def test_refusals_are_the_accounts_only_if_the_probe_is_refused_too(error: str, probe: Any) -> None:
    account = Account(probe)
    for _ in range(3):
        assert account.lane.enter_at_once()
        account.lane.leave(unanswered(error))
    held = account.lane.held

    ended = account.settle(error)

    refused = probe == unanswered("forbidden: me too")
    assert held
    assert [one is None for one in ended] == [not refused] * 3
    assert account.lane.closed == (error if refused else None)
    assert account.lane.enter_at_once() is not refused


def test_who_gives_up_lets_everybody_go_and_leaves_nothing_behind() -> None:
    account = Account(unanswered(GONE), base=600.0)

    async def give_up() -> tuple[list[Any], int]:
        waiting = [asyncio.create_task(account.breaker.settle(Client(), GONE)) for _ in range(2)]
        while not account.outages:  # noqa: ASYNC110 - nobody tells when it has come
            await asyncio.sleep(0.001)
        waiting.append(asyncio.create_task(account.lane.enter()))
        await asyncio.sleep(0)
        account.breaker.give_up("it was interrupted")
        async with asyncio.timeout(60):
            ended = await asyncio.gather(*waiting, return_exceptions=True)
        await account.breaker.close()
        await asyncio.sleep(0)
        return ended, len(asyncio.all_tasks())

    ended, left = asyncio.run(give_up())

    assert [(type(one), str(one)) for one in ended] == [(LimitClosed, "it was interrupted")] * 3
    assert left == 1
    assert account.stops == []
