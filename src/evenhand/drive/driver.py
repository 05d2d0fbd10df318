"""The one driver: takes an evaluator's wants, acts on them, and sends the answers back."""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import TypeVar

from evenhand.domain.ask import Answer, Ask, Call, Exec, Steps, Want
from evenhand.domain.reply import Raised, Returned

Outcome = TypeVar("Outcome")

CASE_SECONDS = 600.0


async def drive(steps: Steps[Outcome], *, timeout: float | None = None) -> Outcome:
    """Drive a step generator to its outcome; what it wants at once is done side by side.

    ``timeout`` is the time, in seconds, within which the whole must be done; requests do not outlast it.
    """
    deadline = time.monotonic() + (CASE_SECONDS if timeout is None else timeout)
    try:
        wants = next(steps)
        while True:
            wants = steps.send(await _answers(wants, deadline))
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome
    finally:
        steps.close()


async def _answers(wants: tuple[Want, ...], deadline: float) -> tuple[Answer, ...]:
    if len(wants) == 1:
        return (await act(wants[0], deadline),)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(act(want, deadline)) for want in wants]
    except BaseExceptionGroup as several:
        # The first one is why the others were cancelled, and what a caller of one evaluation expects to catch.
        raise several.exceptions[0] from None
    return tuple(task.result() for task in tasks)


async def act(want: Want, deadline: float) -> Answer:
    """Do one thing: ask a judge, run a program, or call a function."""
    match want:
        case Ask():
            return await want.judge.ask(want, deadline=deadline)
        case Exec():
            from evenhand.drive.program import run_program  # noqa: PLC0415 - only where programs judge

            return await run_program(want, deadline=deadline)
        case Call():
            return await _call(want)


async def _call(call: Call) -> Returned | Raised:
    try:
        if inspect.iscoroutinefunction(call.function):
            value = await call.function(*call.args, **call.kwargs)
        else:
            value = await asyncio.to_thread(call.function, *call.args, **call.kwargs)
        if inspect.isawaitable(value):
            value = await value
    except Exception as error:  # whatever a user's function raises is its answer
        return Raised(exception=error)
    return Returned(value=value)
