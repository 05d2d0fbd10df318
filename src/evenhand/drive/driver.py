"""The one driver: takes an evaluator's wants, acts on them, and sends the answers back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from types import GeneratorType
from typing import TypeAlias, TypeVar

from evenhand.domain.ask import Answer, Ask, Call, Exec, Steps, Want
from evenhand.domain.errors import ConfigError, EvenhandError
from evenhand.domain.evaluation import Attempt
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Raised, Reply, Returned, Unanswered, sound_answer
from evenhand.domain.scale import is_finite_number
from evenhand.drive import functions

Outcome = TypeVar("Outcome")

CASE_SECONDS = 600.0
# Clients end their requests at the deadline and tell what they did; this long they are given to do so.
GRACE_SECONDS = 1.0


class Deadline:
    """When the work on a case must be done, as ``time.monotonic`` tells time; waiting for one's turn does not count."""

    __slots__ = ("at",)

    def __init__(self, seconds: float) -> None:
        self.at = time.monotonic() + seconds

    def put_off(self, seconds: float) -> None:
        """Move the deadline by time that was spent waiting for a turn."""
        self.at += seconds


# How a judge is asked: straight away, or by whoever counts, limits and remembers what is asked.
Asker: TypeAlias = Callable[[Ask, Deadline], Awaitable[Reply | Unanswered]]


async def drive(steps: Steps[Outcome], *, timeout: float | None = None, ask: Asker | None = None) -> Outcome:
    """Drive a step generator to its outcome; what it wants at once is done side by side.

    ``timeout`` is the time, in seconds, within which the whole must be done; requests do not outlast it. ``ask`` is
    how judges are asked; without it, straight away.
    """
    if not isinstance(steps, (GeneratorType, Generator)):  # the first is quick, and nearly always right
        raise TypeError(f"steps must be a generator, which yields what it wants to know; got {type(steps).__name__}")
    deadline = Deadline(_checked_timeout(timeout))
    asker = ask or ask_now
    try:
        wants = next(steps)
        while True:
            _require_wants(wants)
            if len(wants) == 1:
                wants = steps.send((await act(wants[0], deadline, asker),))
            else:
                wants = steps.send(await _side_by_side(wants, deadline, asker))
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome
    finally:
        steps.close()


def _checked_timeout(timeout: float | None) -> float:
    if timeout is None:
        return CASE_SECONDS
    if not is_finite_number(timeout) or timeout <= 0:
        raise ConfigError(f"timeout is {timeout!r:.80}; it must be a number of seconds above 0")
    return timeout


def _require_wants(wants: object) -> None:
    if not isinstance(wants, tuple):
        raise TypeError(f"steps must yield a tuple of Ask, Exec and Call; got {type(wants).__name__}")


async def _side_by_side(wants: tuple[Want, ...], deadline: Deadline, asker: Asker) -> tuple[Answer, ...]:
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_awaited(act(want, deadline, asker))) for want in wants]
    except BaseExceptionGroup as several:
        # The first one is why the others were cancelled, and what a caller of one evaluation expects to catch.
        raise several.exceptions[0] from None
    return tuple(task.result() for task in tasks)


async def _awaited(answer: Awaitable[Answer]) -> Answer:
    return await answer


def act(want: Want, deadline: Deadline, asker: Asker) -> Awaitable[Answer]:
    """Do one thing: ask a judge, run a program, or call a function."""
    match want:
        case Ask():
            return asker(want, deadline)
        case Exec():
            from evenhand.drive.program import run_program  # noqa: PLC0415 - only where programs judge

            return run_program(want, deadline=deadline.at)
        case Call():
            return _call(want, deadline)
        case _:
            raise TypeError(f"steps must yield Ask, Exec and Call; got {type(want).__name__}")


async def ask_now(ask: Ask, deadline: Deadline) -> Reply | Unanswered:
    """Ask a judge. Clients keep the deadline and do not raise; for those that do neither, it is done here."""
    began = time.monotonic()
    timeout: asyncio.Timeout | None = None
    try:
        if getattr(ask.judge, "keeps_deadlines", False):  # a second timer would cost as much as reading the reply
            answer = await ask.judge.ask(ask, deadline=deadline.at)
        else:
            async with asyncio.timeout(max(deadline.at + GRACE_SECONDS - began, 0)) as timeout:
                answer = await ask.judge.ask(ask, deadline=deadline.at)
        if (sound := sound_answer(answer)) is not None:
            return sound
        error = Failure(
            "crashed",
            f"a client must return a Reply with text, or Unanswered; this one returned {type(answer).__name__}",
        )
    except EvenhandError:  # a mistake in the definition or in a test's script, not the judge's
        raise
    except (Exception, SystemExit, KeyboardInterrupt) as crash:  # a client is anybody's code
        error = Failure("crashed", f"{type(crash).__name__}: {crash}")
        if timeout is not None and timeout.expired():
            error = Failure("timeout", "the judge did not answer within the time that the case has")
    failed = Attempt(kind="transport", error=error, latency=time.monotonic() - began)
    return Unanswered(error=error, attempts=(failed,))


async def _call(call: Call, deadline: Deadline) -> Returned | Raised:
    try:
        async with asyncio.timeout(max(deadline.at - time.monotonic(), 0)):
            value = await functions.call(call.function, *call.args, **call.kwargs)
    except Exception as error:  # whatever a user's function raises is its answer
        return Raised(exception=error)
    return Returned(value=value)
