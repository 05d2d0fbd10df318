"""What one worker knows of a provider counts for all: an outage that another found is no case's error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from evenhand.cluster.leased_gateway import LeasedGateway
from evenhand.domain.ask import Ask
from evenhand.domain.evaluation import Attempt
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, Unanswered
from evenhand.drive.driver import Deadline
from evenhand.engine.breaker import PROBE, Patience
from evenhand.models.prices import PriceBook

GONE = "connection: refused"
QUESTION = (Message("user", "Is it right?"),)
Follow = Callable[[LeasedGateway], None]


class Judge:
    """Fails so many questions; its provider answers probes."""

    name = account = "judge"

    def __init__(self, failures: int) -> None:
        self._failures = failures
        self.questions = self.probes = 0
        # What happens while the first question is under way.
        self.meanwhile: Callable[[LeasedGateway], Coroutine[Any, Any, None]] | None = None
        self.gateway: LeasedGateway | None = None
        self._happening: asyncio.Task[None] | None = None

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply | Unanswered:
        if ask.messages == PROBE:
            self.probes += 1
            return Reply.said("ok")
        self.questions += 1
        if self.meanwhile is not None and self.gateway is not None and self._happening is None:
            self._happening = asyncio.create_task(self.meanwhile(self.gateway))
            await asyncio.sleep(0)
        if self.questions > self._failures:
            return Reply.said("yes")
        return Unanswered(error=GONE, attempts=(Attempt(kind="transport", error=GONE),))


def asked(judge: Judge, *orders: Follow, answered: bool = True) -> tuple[Reply | Unanswered, int]:
    """Ask a question; after each report the worker follows the next orders. Return also how many were followed."""
    changed = asyncio.Event()
    gateway = LeasedGateway(
        prices=PriceBook(),
        places=4,
        slow_start=False,
        patience=Patience(),
        is_limited=False,
        limits_cost=False,
        remembered=None,
        changed=changed,
    )
    gateway.entry_of(judge).breaker.lane.answered = answered
    judge.gateway, followed = gateway, 0

    async def exchange() -> None:
        nonlocal followed
        while True:
            await changed.wait()
            changed.clear()
            gateway.note_report()
            if followed < len(orders):
                orders[followed](gateway)
            followed += 1
            gateway.note_news()

    async def work() -> Reply | Unanswered:
        exchanging = asyncio.create_task(exchange())
        try:
            async with asyncio.timeout(60):
                return await gateway.asking(0).ask(Ask(messages=QUESTION, judge=judge), Deadline(60))
        finally:
            exchanging.cancel()
            await gateway.close()

    return asyncio.run(work()), followed


def gone(gateway: LeasedGateway) -> None:
    gateway.note_answered(["judge"])
    gateway.hold(["judge"])


def back(gateway: LeasedGateway) -> None:
    gateway.release(["judge"])


def gone_and_back(gateway: LeasedGateway) -> None:
    gone(gateway)
    back(gateway)


def test_a_failure_is_the_questions_own_where_nobody_knows_of_an_outage() -> None:
    judge = Judge(failures=1)

    answer, followed = asked(judge)

    assert isinstance(answer, Unanswered)
    assert (judge.questions, judge.probes, followed) == (1, 1, 1)


def test_an_outage_that_another_worker_found_and_that_is_over_is_no_error_of_the_question() -> None:
    judge = Judge(failures=1)

    answer, _ = asked(judge, gone_and_back)

    assert isinstance(answer, Reply)
    assert [attempt.error for attempt in answer.attempts] == [GONE, None]
    assert judge.questions == 2


def test_a_worker_that_never_heard_an_answer_learns_of_those_that_others_got() -> None:
    judge = Judge(failures=1)

    answer, _ = asked(judge, gone_and_back, answered=False)
    unheard, _ = asked(alone := Judge(failures=1), answered=False)
    probed, _ = asked(known := Judge(failures=1), lambda gateway: gateway.note_answered(["judge"]), answered=False)

    assert isinstance(answer, Reply)
    assert isinstance(unheard, Unanswered)
    assert isinstance(probed, Unanswered)
    # Only of a provider that is known to answer is silence worth a probe.
    assert (alone.probes, known.probes) == (0, 1)


def test_a_provider_that_others_wait_for_is_waited_for_without_probes() -> None:
    judge = Judge(failures=1)

    async def gone_until_the_question_waits(gateway: LeasedGateway) -> None:
        gone(gateway)
        lane = gateway.lanes["judge"]
        while lane.wanted == lane.in_flight:  # noqa: ASYNC110 - nobody tells when it waits
            await asyncio.sleep(0.001)
        back(gateway)

    judge.meanwhile = gone_until_the_question_waits
    answer, followed = asked(judge)

    assert isinstance(answer, Reply)
    assert (judge.questions, judge.probes, followed) == (2, 0, 0)


def test_a_run_that_ends_keeps_nobody_waiting_for_news() -> None:
    judge = Judge(failures=1)

    answer, _ = asked(judge, lambda gateway: gateway.drain())

    assert isinstance(answer, Unanswered)
