"""The one driver: it takes what an evaluator asks for, acts on it, and sends the answers back."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import os
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Generator, Sequence
from pathlib import Path
from types import GeneratorType
from typing import Any, Final, TypeAlias, TypeVar, cast

from evenhand.domain.ask import Answer, Ask, Call, Exec, Steps, Turn, Want
from evenhand.domain.errors import ConfigError, EvenhandError
from evenhand.domain.evaluation import Attempt
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Raised, Reply, Returned, Unanswered, sound_answer
from evenhand.domain.scale import is_finite_number
from evenhand.drive.held_keys import message_of
from evenhand.drive.working_folder import seen_from_here

_MOST_FRAMES: Final = 3
# How long a thread may take to begin before somebody looks whether it is still alive.
_TO_BEGIN_SECONDS: Final = 1.0


async def call_function(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function, sync or async; a sync one in a thread, so that others need not wait for it.

    What would end the whole program comes back as a ``RuntimeError``.
    """
    try:
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
            return await function(*args, **kwargs)
        value = await _in_thread(functools.partial(function, *args, **kwargs))
        return await value if inspect.isawaitable(value) else value
    except (SystemExit, KeyboardInterrupt) as stop:
        raise RuntimeError(f"the function raised {type(stop).__name__} ({stop})") from stop


async def _in_thread(function: Callable[[], Any]) -> Any:
    """Run a function in a thread that nobody waits for when the program ends: it may never come back.

    Under coverage or a debugger, Python 3.11 cannot always trace a thread that starts while another does; such a thread
    ends before it begins, and another takes its place.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()
    has_begun = False

    def deliver(result: tuple[Any, BaseException | None]) -> None:
        if not outcome.done():
            outcome.set_result(result)

    def work() -> None:
        nonlocal has_begun
        has_begun = True
        try:
            result: tuple[Any, BaseException | None] = (context.run(function), None)
        except BaseException as error:  # raised again where it is awaited
            result = (None, error)
        with contextlib.suppress(RuntimeError):  # the loop may be gone by now
            loop.call_soon_threadsafe(deliver, result)

    def started() -> threading.Thread:
        thread = threading.Thread(target=work, name="evenhand-function", daemon=True)
        thread.start()
        return thread

    thread = started()
    while not (await asyncio.wait([outcome], timeout=None if has_begun else _TO_BEGIN_SECONDS))[0]:
        if not has_begun and not thread.is_alive():
            thread = started()
    value, error = outcome.result()
    if error is not None:
        raise error
    return value


def together(members: Sequence[Steps[Outcome]]) -> Steps[tuple[Outcome, ...]]:
    """Run step generators side by side: each round asks what all of them want next.

    An exception in one closes the others and goes on to the caller.
    """
    if len(members) == 1:  # by far the most frequent case, and worth its two lines
        return ((yield from members[0]),)
    outcomes: dict[int, Outcome] = {}
    answers: dict[int, tuple[Answer, ...] | None] = dict.fromkeys(range(len(members)))
    try:
        while answers:
            wants: dict[int, tuple[Want, ...]] = {}
            for number, sent in answers.items():
                try:
                    # send(None) starts a generator, as next() would.
                    wants[number] = members[number].send(cast("tuple[Answer, ...]", sent))
                except StopIteration as stop:
                    outcomes[number] = stop.value
            answers = {}
            if wants:
                replies = iter((yield tuple(want for asked in wants.values() for want in asked)))
                answers = {number: tuple(next(replies) for _ in asked) for number, asked in wants.items()}
    finally:
        for member in members:
            member.close()
    return tuple(outcomes[number] for number in range(len(members)))


Outcome = TypeVar("Outcome")

CASE_SECONDS = 600.0
# Clients end their requests at the deadline and report what they did; this long they are given to do so.
GRACE_SECONDS = 1.0


class Deadline:
    """When the work on a case must be done, by ``time.monotonic``; waiting for one's turn does not count."""

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
            from evenhand.drive.run_program import run_program  # noqa: PLC0415 - only where programs judge

            return run_program(want, deadline=deadline.at)
        case Call():
            return _call(want, deadline)
        case _:
            raise TypeError(f"steps must yield Ask, Exec and Call; got {type(want).__name__}")


async def ask_now(ask: Ask, deadline: Deadline, turn: Turn | None = None) -> Reply | Unanswered:
    """Ask a judge. Clients keep the deadline and do not raise; for those that do neither, it is done here.

    The ``turn`` is passed on to clients that know what to do with it.
    """
    began = time.monotonic()
    timeout: asyncio.Timeout | None = None
    try:
        if getattr(ask.judge, "keeps_deadlines", False):  # a second timer would cost as much as reading the reply
            turns = {"turn": turn} if turn is not None and getattr(ask.judge, "takes_turns", False) else {}
            answer = await ask.judge.ask(ask, deadline=deadline.at, **turns)
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
        error = Failure("crashed", f"{type(crash).__name__}: {message_of(crash, ask.judge)}")
        if timeout is not None and timeout.expired():
            error = Failure("timeout", "the judge did not answer within the time limit of the case")
    failed = Attempt(kind="transport", error=error, latency=time.monotonic() - began)
    return Unanswered(error=error, attempts=(failed,))


@functools.cache
def _libraries() -> tuple[str, ...]:
    """Find where code lies that is not the user's own: this package, Python's, and what was installed."""
    import sysconfig  # noqa: PLC0415 - only where something was raised

    folders = [str(Path(__file__).parents[1]), *map(sysconfig.get_path, ("stdlib", "purelib", "platlib"))]
    return tuple(f"{folder}{os.sep}" for folder in folders)


def last_frames(error: BaseException) -> tuple[str, ...]:
    """Name the last places in the user's own code that an exception came through, the innermost first."""
    frames = [
        f"{frame.f_code.co_name} in {seen_from_here(frame.f_code.co_filename)}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(_libraries())
    ]
    if not frames and error.__cause__ is not None:
        return last_frames(error.__cause__)
    return tuple(reversed(frames[-_MOST_FRAMES:]))


async def _call(want: Call, deadline: Deadline) -> Returned | Raised:
    try:
        async with asyncio.timeout(max(deadline.at - time.monotonic(), 0)):
            value = await call_function(want.function, *want.args, **want.kwargs)
    except Exception as error:  # whatever a user's function raises is its answer
        return Raised(exception=error, message=message_of(error, want.function), frames=last_frames(error))
    return Returned(value=value)
