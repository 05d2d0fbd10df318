"""Retries with a clock that only waiting moves."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.domain.reply import Reply, Unanswered
from evenhand.models.retry import (
    RetryPolicy,
    TransportFault,
    ask_with_retries,
    error_body_fault,
    quoted,
    retry_after_seconds,
    status_fault,
)


@dataclass
class Clock:
    """Time that passes when somebody sleeps, and ``takes`` seconds with each try."""

    now: float = 100.0
    takes: float = 0.0
    waits: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def trying(self, *outcomes: Reply | TransportFault) -> Callable[[float], Awaitable[Reply]]:
        given = iter(outcomes)

        async def once(seconds: float) -> Reply:
            self.now += min(self.takes, seconds)
            outcome = next(given)
            if isinstance(outcome, TransportFault):
                raise outcome
            return outcome

        return once

    def ask(
        self,
        *outcomes: Reply | TransportFault,
        policy: RetryPolicy | None = None,
        seconds: float | None = None,
        chance: float = 0.0,
    ) -> Reply | Unanswered:
        return asyncio.run(
            ask_with_retries(
                self.trying(*outcomes),
                policy=policy or RetryPolicy(),
                deadline=None if seconds is None else self.now + seconds,
                clock=lambda: self.now,
                sleep=self.sleep,
                chance=lambda: chance,
            )
        )


BUSY = TransportFault("overloaded", "try later", retryable=True)
WRONG_KEY = TransportFault("unauthorized", "no such key", retryable=False)
PARIS = Reply.said("Paris", latency=0.5)


def test_the_reply_carries_the_requests_that_failed_before_it() -> None:
    clock = Clock(takes=2.0)

    reply = clock.ask(BUSY, BUSY, PARIS)

    assert isinstance(reply, Reply)
    assert [(one.kind, one.error, one.latency) for one in reply.attempts] == [
        ("transport", "overloaded: try later", 2.0),
        ("transport", "overloaded: try later", 2.0),
        ("reply", None, 0.5),
    ]


def test_a_fault_that_no_second_try_can_mend_ends_it() -> None:
    clock = Clock()

    answer = clock.ask(WRONG_KEY, PARIS)

    assert isinstance(answer, Unanswered)
    assert answer.error == "unauthorized: no such key"
    assert len(answer.attempts) == 1
    assert clock.waits == []


@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_more_requests_are_made_than_allowed(most: int) -> None:
    clock = Clock()

    answer = clock.ask(*[BUSY] * 10, policy=RetryPolicy(max_transport_attempts=most))

    assert isinstance(answer, Unanswered)
    assert len(answer.attempts) == most
    assert answer.error.startswith("overloaded: try later; gave up after ")
    assert len(clock.waits) == most - 1


def test_waits_double_up_to_a_cap() -> None:
    clock = Clock()

    clock.ask(*[BUSY] * 9, policy=RetryPolicy(max_transport_attempts=8, base=0.5, cap=8.0), chance=1.0)

    assert clock.waits == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


@pytest.mark.parametrize("fault", [BUSY, TransportFault("rate_limited", "", retryable=True, retry_after=3.0)])
def test_a_wait_is_never_quite_regular(fault: TransportFault) -> None:
    least, most = (RetryPolicy().wait(1, fault, chance) for chance in (0.0, 1.0))

    assert most - least >= 0.25


def test_the_server_is_not_asked_before_it_wants_to_be() -> None:
    fault = TransportFault("rate_limited", "", retryable=True, retry_after=3.0)

    assert RetryPolicy().wait(1, fault, 0.0) == 3.0


def test_a_server_cannot_make_us_wait_for_ever() -> None:
    fault = TransportFault("rate_limited", "", retryable=True, retry_after=1e9)

    assert RetryPolicy(retry_after_cap=60.0).wait(1, fault, 0.0) == 60.0


def test_a_try_that_was_changed_does_not_wait() -> None:
    clock = Clock()

    clock.ask(TransportFault("format_refused", "", retryable=True, at_once=True), PARIS, chance=1.0)

    assert clock.waits == [0.0]


def test_no_wait_goes_past_the_deadline() -> None:
    clock = Clock(takes=2.0)

    answer = clock.ask(
        TransportFault("rate_limited", "slow down", retryable=True, retry_after=30.0), PARIS, seconds=20.0
    )

    assert isinstance(answer, Unanswered)
    assert answer.error == "rate_limited: slow down; the next try would have missed the deadline"
    assert clock.waits == []


def test_each_try_is_given_the_time_that_is_left() -> None:
    clock = Clock()
    given: list[float] = []

    async def once(seconds: float) -> Reply:
        given.append(seconds)
        clock.now += 3.0
        raise BUSY

    policy = RetryPolicy(max_transport_attempts=3, base=1.0, cap=1.0)
    asyncio.run(
        ask_with_retries(
            once, policy=policy, deadline=110.0, clock=lambda: clock.now, sleep=clock.sleep, chance=lambda: 1.0
        )
    )

    assert given == [10.0, 6.0, 2.0]


def test_without_a_deadline_there_is_no_end_of_time() -> None:
    given: list[float] = []

    async def once(seconds: float) -> Reply:
        given.append(seconds)
        return PARIS

    asyncio.run(ask_with_retries(once, policy=RetryPolicy(), deadline=None))

    assert given == [math.inf]


def test_nothing_is_sent_when_the_deadline_is_over() -> None:
    answer = Clock().ask(PARIS, seconds=0.0)

    assert answer == Unanswered(error="deadline: no time was left to ask", attempts=())


def test_cancelling_passes_through() -> None:
    async def cancel_while_waiting() -> None:
        async def once(_: float) -> Reply:
            raise BUSY

        task = asyncio.create_task(ask_with_retries(once, policy=RetryPolicy(base=60.0, cap=60.0), deadline=None))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel_while_waiting())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        (" 1.5 ", 1.5),
        ("99999999999", 99999999999.0),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:01 GMT", None),
        ("0", None),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("Thu, 99 Foo 1970", None),
        ("Thu, 01 Jan 99999 00:00:00 GMT", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date_or_not_at_all(text: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(text, now=100.0) == seconds


@pytest.mark.parametrize(
    ("status", "code", "kind", "retryable"),
    [
        (400, None, "bad_request", False),
        (401, None, "unauthorized", False),
        (402, None, "quota", False),
        (403, None, "forbidden", False),
        (404, None, "not_found", False),
        (408, None, "http_error", True),
        (409, None, "http_error", True),
        (418, None, "http_error", False),
        (422, None, "bad_request", False),
        (425, None, "http_error", True),
        (429, "rate_limit_exceeded", "rate_limited", True),
        (429, "insufficient_quota", "quota", False),
        (400, "content_filter", "filtered", False),
        (500, None, "server_error", True),
        (502, None, "server_error", True),
        (503, None, "overloaded", True),
        (529, None, "overloaded", True),
    ],
)
def test_a_status_says_whether_to_try_again(status: int, code: str | None, kind: str, retryable: bool) -> None:
    fault = status_fault(status, "words", code=code)

    assert (fault.kind, fault.retryable) == (kind, retryable)
    assert fault.message == f"HTTP {status}: words"


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        (None, "error_body", True),
        ("server_error", "error_body", True),
        ("overloaded_error", "error_body", True),
        ("invalid_api_key", "error_body", False),
        ("INVALID_ARGUMENT", "error_body", False),
        ("insufficient_quota", "quota", False),
        ("429", "rate_limited", True),
        ("401", "unauthorized", False),
        ("7", "error_body", True),
        ("9" * 5000, "error_body", True),
    ],
)
def test_an_error_with_status_200_is_classed_by_its_code(code: str | None, kind: str, retryable: bool) -> None:
    fault = error_body_fault("words", code=code)

    assert (fault.kind, fault.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("two\n lines\x1b", "two lines�"),
        ("x" * 500, "x" * 500),
        ("x" * 501, "x" * 499 + "…"),
        ("x " * 10**6, "x " * 249 + "x…"),
        ("short" + " " * 10**6, "short…"),
    ],
    ids=["odd", "at the limit", "beyond it", "long", "long and blank"],
)
def test_what_a_server_says_is_quoted_on_one_short_line(text: str, told: str) -> None:
    assert quoted(text) == told


@pytest.mark.parametrize(
    "options",
    [
        {"max_transport_attempts": 0},
        {"max_transport_attempts": True},
        {"max_transport_attempts": 2.0},
        {"base": -1.0},
        {"cap": math.inf},
        {"retry_after_cap": math.nan},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        RetryPolicy(**options)  # type: ignore[arg-type]


def test_what_is_sent_once_is_sent_again_only_in_another_form() -> None:
    faults = [
        TransportFault("format_refused", "say it otherwise", retryable=True, at_once=True),
        TransportFault("overloaded", "busy", retryable=True, retry_after=7.0),
    ]
    sent = 0

    async def once(seconds: float) -> Reply:
        nonlocal sent
        sent += 1
        raise faults[sent - 1]

    answer = asyncio.run(ask_with_retries(once, policy=RetryPolicy(), deadline=None, sent_once=True))

    assert isinstance(answer, Unanswered)
    assert (sent, len(answer.attempts)) == (2, 2)
    assert (answer.error, answer.retry_after) == ("overloaded: busy", 7.0)
