"""Lanes: as many questions at once as an account takes, and none when it is refused (SPEC-S4)."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from evenhand.domain.evaluation import Attempt
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Reply, Unanswered
from evenhand.engine.concurrency_limit import (
    CALM_SECONDS,
    FIRST_LIMIT,
    LONGEST_PAUSE_SECONDS,
    UNREACHED_TO_CLOSE,
    ConcurrencyLimit,
    LimitClosed,
    is_refusal,
)

REPLY = Reply.said("{}")


def unanswered(error: str) -> Unanswered:
    return Unanswered(error=error, attempts=(Attempt(kind="transport", error=error),))


def crowded() -> Reply:
    """A reply that came at last, after the server had said that it was too much."""
    return Reply.said("{}", before=(Attempt(kind="transport", error="rate_limited: HTTP 429: slow down"),))


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 60))


async def fill(lane: ConcurrencyLimit) -> int:
    """Take every turn that there is, and tell how many those were."""
    taken = 0
    while lane.in_flight < int(lane.limit):
        await lane.enter()
        taken += 1
    return taken


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


# How many at once


def test_a_lane_begins_with_few_and_doubles_while_all_goes_well(clock: Clock) -> None:
    async def rounds() -> list[int]:
        lane = ConcurrencyLimit(64, clock=clock)
        widths = []
        for _ in range(5):
            widths.append(await fill(lane))
            for _ in range(widths[-1]):
                lane.leave(REPLY)
        return widths

    widths = run(rounds())

    assert widths[0] == FIRST_LIMIT
    assert all(one < other <= 2 * one for one, other in itertools.pairwise(widths))
    assert max(widths) <= 64


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_a_lane_is_never_wider_than_allowed(most: int) -> None:
    async def rounds() -> ConcurrencyLimit:
        lane = ConcurrencyLimit(most)
        for _ in range(20):
            for _ in range(await fill(lane)):
                lane.leave(REPLY)
        return lane

    lane = run(rounds())

    assert (lane.widest, int(lane.limit)) == (most, most)


def test_a_lane_that_is_not_full_does_not_grow(clock: Clock) -> None:
    async def one_by_one() -> ConcurrencyLimit:
        lane = ConcurrencyLimit(64, clock=clock)
        for _ in range(200):
            await lane.enter()
            lane.leave(REPLY)
        return lane

    assert run(one_by_one()).limit == FIRST_LIMIT


@pytest.mark.parametrize("most", [1, 50, 200])
def test_a_lane_without_a_slow_start_begins_with_all_that_are_allowed(most: int) -> None:
    async def begin() -> tuple[int, bool]:
        lane = ConcurrencyLimit(most, slow_start=False)
        return await fill(lane), lane.enter_at_once()

    assert run(begin()) == (most, False)


@pytest.mark.parametrize("kind", ["rate_limited", "overloaded"])
@pytest.mark.parametrize("capacity", [1, 6, 49])
def test_each_refusal_narrows_a_lane_at_once_to_what_is_still_under_way(kind: str, capacity: int) -> None:
    async def crowd() -> tuple[float, int]:
        lane = ConcurrencyLimit(50, slow_start=False)
        await fill(lane)
        for _ in range(50 - capacity):
            lane.give_back(Failure(kind, "HTTP 429: slow down"), None)
        again = asyncio.create_task(lane.enter())
        await settle()
        begun = lane.in_flight
        again.cancel()
        return lane.limit, begun

    assert run(crowd()) == (capacity, capacity)


def test_a_request_that_waits_to_be_retried_leaves_its_turn_to_another() -> None:
    async def retry() -> tuple[int, int]:
        lane = ConcurrencyLimit(2, slow_start=False)
        await fill(lane)
        waiting = asyncio.create_task(lane.enter())
        await settle()
        before = lane.in_flight
        lane.give_back(Failure("server_error", "HTTP 500: x"), None)
        await waiting
        return before, lane.in_flight

    assert run(retry()) == (2, 2)


def test_a_server_that_asks_for_a_pause_is_asked_nothing_meanwhile(clock: Clock) -> None:
    async def pause() -> tuple[bool, bool, bool]:
        lane = ConcurrencyLimit(50, slow_start=False, clock=clock)
        await fill(lane)
        lane.give_back(Failure("rate_limited", "HTTP 429: x"), 30.0)
        lane.leave(REPLY)
        at_once = lane.enter_at_once()
        clock.now += 29.9
        early = lane.enter_at_once()
        clock.now += 0.2
        late = lane.enter_at_once()
        lane.end_pause()
        return at_once, early, late

    assert run(pause()) == (False, False, True)


def test_who_waits_goes_on_when_a_pause_is_over() -> None:
    async def pause() -> int:
        lane = ConcurrencyLimit(4, slow_start=False)
        lane.pause(0.01)
        await asyncio.gather(*(lane.enter() for _ in range(3)))
        return lane.in_flight

    assert run(pause()) == 3


def test_no_pause_is_longer_than_a_minute(clock: Clock) -> None:
    async def pause() -> bool:
        lane = ConcurrencyLimit(4, slow_start=False, clock=clock)
        lane.pause(1e9)
        clock.now += LONGEST_PAUSE_SECONDS + 0.1
        lane.end_pause()
        return lane.enter_at_once()

    assert run(pause())


@pytest.mark.parametrize("error", ["rate_limited: x", "overloaded: x"])
def test_a_server_that_gave_no_reply_for_the_crowd_is_spared_too(clock: Clock, error: str) -> None:
    async def crowd() -> ConcurrencyLimit:
        lane = ConcurrencyLimit(64, clock=clock)
        await fill(lane)
        lane.leave(unanswered(error))
        return lane

    lane = run(crowd())

    assert lane.limit == FIRST_LIMIT - 1
    assert lane.closed is None


def test_what_was_learned_when_a_turn_was_given_back_is_not_learned_again(clock: Clock) -> None:
    async def crowd() -> float:
        lane = ConcurrencyLimit(8, slow_start=False, clock=clock)
        await fill(lane)
        lane.give_back(Failure("rate_limited", "x"), None)
        lane.in_flight += 1  # it has its turn again
        for _ in range(4):
            lane.leave(REPLY)
        lane.leave(crowded(), known=1)
        return lane.limit

    assert run(crowd()) == 7


@pytest.mark.parametrize("error", ["connection: cannot connect", "proxy: cannot connect to the proxy"])
def test_a_server_that_nobody_ever_reached_closes_the_lane(clock: Clock, error: str) -> None:
    async def fail(*, answered: bool) -> ConcurrencyLimit:
        lane = ConcurrencyLimit(64, clock=clock)
        answers: list[Reply | Unanswered] = [unanswered(error)] * UNREACHED_TO_CLOSE
        for answer in [REPLY, *answers] if answered else answers:
            await lane.enter()
            lane.leave(answer)
        return lane

    assert run(fail(answered=False)).closed == error
    assert run(fail(answered=True)).closed is None


@pytest.mark.parametrize("error", ["timeout: x", "server_error: x", "invalid_body: x", "deadline: x"])
def test_other_faults_change_nothing(clock: Clock, error: str) -> None:
    async def fail() -> ConcurrencyLimit:
        lane = ConcurrencyLimit(64, clock=clock)
        for _ in range(20):
            await lane.enter()
            lane.leave(unanswered(error))
        return lane

    lane = run(fail())

    assert (lane.limit, lane.closed) == (FIRST_LIMIT, None)


def test_after_a_crowd_a_lane_stays_as_it_is_and_then_grows_by_one_in_each_round(clock: Clock) -> None:
    async def recover() -> list[float]:
        lane = ConcurrencyLimit(64, slow_start=False, clock=clock)
        await fill(lane)
        for _ in range(54):
            lane.give_back(Failure("rate_limited", "x"), None)
        widths = []
        for seconds in (0.0, CALM_SECONDS - 0.1, 0.2, 0.0, 0.0):
            clock.now += seconds
            for _ in range(lane.in_flight):
                lane.leave(REPLY)
                await fill(lane)
            widths.append(lane.limit)
        return widths

    widths = run(recover())

    assert widths[:2] == [10.0, 10.0]
    assert widths[2:] == pytest.approx([11.0, 12.0, 13.0], abs=0.3)


def test_a_lane_is_never_narrower_than_one(clock: Clock) -> None:
    async def crowd() -> ConcurrencyLimit:
        lane = ConcurrencyLimit(64, clock=clock)
        for _ in range(100):
            await lane.enter()
            lane.leave(crowded())
        return lane

    assert run(crowd()).limit == 1.0


@pytest.mark.parametrize("capacity", [1, 3, 10, 40])
def test_a_lane_finds_how_many_a_server_takes(clock: Clock, capacity: int) -> None:
    """A server that turns away whatever is more than its capacity, for an hour of simulated time."""

    async def hour() -> tuple[list[int], int]:
        lane = ConcurrencyLimit(64, slow_start=False, clock=clock)
        widths, refused = [], 0
        for _ in range(3600):
            clock.now += 1.0
            widths.append(await fill(lane))
            for _ in range(widths[-1] - capacity):
                refused += 1
                lane.give_back(Failure("rate_limited", "x"), None)
            while lane.in_flight:
                lane.leave(REPLY)
        return widths, refused

    widths, refused = run(hour())

    assert max(widths[1:]) <= capacity + 1  # after the first second
    assert sum(widths) / len(widths) >= 0.95 * capacity
    assert refused <= 64 + 3600 / CALM_SECONDS


# Refusals

REFUSALS = ["unauthorized: x", "forbidden: x", "not_found: x", "quota: x"]


@pytest.mark.parametrize("error", REFUSALS)
@pytest.mark.parametrize("most", [1, 4, 64])
def test_a_refused_account_is_asked_no_more_than_five_times(error: str, most: int) -> None:
    asked = 0

    async def ask(lane: ConcurrencyLimit) -> None:
        nonlocal asked
        await lane.enter()
        asked += 1
        await asyncio.sleep(0)
        lane.leave(unanswered(error))

    async def many() -> list[Any]:
        lane = ConcurrencyLimit(most)
        return await asyncio.gather(*(ask(lane) for _ in range(500)), return_exceptions=True)

    ended = run(many())

    assert asked <= 5
    assert ended.count(None) == asked
    assert {str(one) for one in ended if one is not None} == {error}
    assert all(isinstance(one, LimitClosed) for one in ended if one is not None)


def test_after_a_refusal_one_is_asked_at_a_time_until_a_reply_comes() -> None:
    async def doubt() -> tuple[int, int, int]:
        lane = ConcurrencyLimit(64)
        await fill(lane)
        for answer in (unanswered(REFUSALS[0]), REPLY, unanswered(REFUSALS[0])):
            lane.leave(answer)
        waiting = [asyncio.create_task(lane.enter()) for _ in range(3)]
        await settle()
        in_doubt = lane.in_flight
        lane.leave(REPLY)
        await settle()
        certain = lane.in_flight
        await asyncio.gather(*waiting)
        return in_doubt, certain, int(lane.limit)

    in_doubt, certain, limit = run(doubt())

    assert in_doubt == 1  # the one that was there before
    assert certain == 3
    assert limit >= FIRST_LIMIT


def test_replies_in_between_keep_a_lane_open() -> None:
    async def mixed() -> ConcurrencyLimit:
        lane = ConcurrencyLimit(64)
        for number in range(60):
            await lane.enter()
            lane.leave(REPLY if number % 3 == 2 else unanswered(REFUSALS[0]))
        return lane

    assert run(mixed()).closed is None


@pytest.mark.parametrize("error", ["certificate: x", "redirect: x"])
def test_what_no_other_case_would_change_closes_a_lane_too(error: str) -> None:
    async def ask() -> ConcurrencyLimit:
        lane = ConcurrencyLimit(64)
        for _ in range(3):
            await lane.enter()
            lane.leave(unanswered(error))
        return lane

    assert run(ask()).closed == error


def test_requests_that_are_wrong_close_a_lane_if_none_was_ever_right() -> None:
    async def ask(*answers: Reply | Unanswered) -> ConcurrencyLimit:
        lane = ConcurrencyLimit(64)
        for answer in answers:
            await lane.enter()
            lane.leave(answer)
        return lane

    wrong = unanswered("bad_request: no such parameter")

    assert run(ask(*[wrong] * 4)).closed is None
    assert run(ask(*[wrong] * 5)).closed == wrong.error
    assert run(ask(REPLY, *[wrong] * 50)).closed is None


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        *((error, True) for error in REFUSALS),
        ("certificate: x", True),
        ("no_answer: the target failed: unauthorized: HTTP 401: no", True),
        ("members: none could be counted (a: quota: HTTP 429: used up; b: timeout: x)", True),
        ("timeout: x", False),
        ("bad_request: x", False),
        ("crashed: ValueError: forbidden fruit", False),
        ("", False),
    ],
)
def test_an_evaluation_that_failed_for_the_accounts_sake_is_known_by_its_error(error: str, refused: bool) -> None:
    assert is_refusal(error) is refused


# Turns


def test_a_turn_that_ends_is_the_next_ones() -> None:
    async def turns() -> list[int]:
        lane, order = ConcurrencyLimit(1), []

        async def ask(number: int) -> None:
            await lane.enter()
            order.append(number)
            await asyncio.sleep(0)
            lane.leave(REPLY)

        await asyncio.gather(*(ask(number) for number in range(20)))
        return order

    assert run(turns()) == list(range(20))


def test_who_waits_keeps_the_place_when_somebody_asks_again_at_once() -> None:
    async def turns() -> list[str]:
        lane, order = ConcurrencyLimit(1), []

        async def ask(name: str, times: int) -> None:
            for _ in range(times):
                await lane.enter()
                order.append(name)
                await asyncio.sleep(0)
                lane.leave(REPLY)

        await asyncio.gather(ask("a", 5), ask("b", 1), ask("c", 1), ask("d", 1))
        return order

    order = run(turns())

    assert [name for name in order if name != "a"] == ["b", "c", "d"]


def test_cancelling_those_who_wait_loses_no_turn() -> None:
    async def turns(when: Callable[[ConcurrencyLimit, list[asyncio.Task[None]]], None]) -> int:
        lane = ConcurrencyLimit(1)
        await lane.enter()
        waiting = [asyncio.create_task(lane.enter()) for _ in range(4)]
        await settle()
        when(lane, waiting)
        await settle()
        return sum(one.done() and not one.cancelled() for one in waiting)

    def before(lane: ConcurrencyLimit, waiting: list[asyncio.Task[None]]) -> None:
        waiting[0].cancel()
        waiting[1].cancel()
        lane.leave(REPLY)

    def after(lane: ConcurrencyLimit, waiting: list[asyncio.Task[None]]) -> None:
        lane.leave(REPLY)  # it is the first one's turn
        waiting[0].cancel()

    assert run(turns(before)) == 1
    assert run(turns(after)) == 1


def test_a_turn_that_is_given_up_says_nothing_about_the_server() -> None:
    async def give_up() -> ConcurrencyLimit:
        lane = ConcurrencyLimit(64)
        await fill(lane)
        for _ in range(FIRST_LIMIT):
            lane.leave(None)
        return lane

    lane = run(give_up())

    assert (lane.limit, lane.in_flight, lane.closed) == (FIRST_LIMIT, 0, None)


@pytest.mark.slow
def test_whatever_happens_everybody_gets_a_turn_or_is_told() -> None:
    """Random askers, answers and cancellations: no turn is lost, and none is given twice."""
    seen: set[str] = set()

    async def chaos(seed: int) -> None:
        chance = random.Random(seed)
        lane = ConcurrencyLimit(chance.choice([1, 2, 5, 20]))
        refusals = seed % 2 == 0

        async def ask() -> None:
            await asyncio.sleep(chance.random() / 1000)
            for _ in range(chance.randint(1, 3)):
                await lane.enter()
                assert 1 <= lane.in_flight <= lane.most
                answer: Any = None
                try:
                    await asyncio.sleep(chance.random() / 1000)
                    kinds = [REPLY, REPLY, crowded(), unanswered("timeout: x")]
                    answer = chance.choice([*kinds, *[unanswered(REFUSALS[0])] * 4] if refusals else kinds)
                finally:
                    lane.leave(answer)

        tasks = [asyncio.create_task(ask()) for _ in range(60)]
        for _ in range(20):
            await asyncio.sleep(chance.random() / 1000)
            chance.choice(tasks).cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        seen.update(type(one).__name__ for one in ended)
        assert lane.in_flight == 0
        if lane.closed is None:
            await asyncio.wait_for(lane.enter(), 20)  # nobody's turn is still out

    for seed in range(12):
        run(chaos(seed))

    assert seen == {"NoneType", "CancelledError", "LimitClosed"}
