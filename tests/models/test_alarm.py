"""An alarm ends what takes too long, and nothing else."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable

import pytest

from evenhand.models.timeouts import RequestTimeouts, Watch

SOON, LATE = 0.05, 3600.0


async def overslept(watch: Watch, seconds: float, *, step: float | None = None) -> RequestTimeouts:
    """Sleep under an alarm that must go off."""
    alarm = RequestTimeouts(watch, seconds)

    async def sleep() -> None:
        with alarm:
            if step is not None:
                alarm.allow(step=step)
            await asyncio.sleep(LATE)

    with pytest.raises(TimeoutError):
        await sleep()
    return alarm


def with_a_watch(story: Callable[[Watch], Awaitable[None]]) -> None:
    async def told() -> None:
        await story(Watch())

    asyncio.run(told())


def test_an_alarm_goes_off_for_the_whole_and_says_so() -> None:
    async def story(watch: Watch) -> None:
        alarm = await overslept(watch, SOON, step=LATE)

        assert alarm.is_over

    with_a_watch(story)


def test_an_alarm_goes_off_for_a_step_and_says_so() -> None:
    async def story(watch: Watch) -> None:
        alarm = await overslept(watch, LATE, step=SOON)

        assert not alarm.is_over

    with_a_watch(story)


def test_an_alarm_does_not_go_off_before_its_time() -> None:
    async def story(watch: Watch) -> None:
        began = watch.now()

        await overslept(watch, SOON)

        assert watch.now() - began >= SOON - 0.001

    with_a_watch(story)


@pytest.mark.slow
def test_progress_puts_a_step_off_but_never_the_whole() -> None:
    async def story(watch: Watch) -> None:
        alarm = RequestTimeouts(watch, 30 * SOON)
        steps: list[float] = []

        async def step_by_step() -> None:
            with alarm:
                while True:
                    alarm.allow(step=20 * SOON)
                    await asyncio.sleep(SOON)
                    steps.append(watch.now())

        with pytest.raises(TimeoutError):
            await step_by_step()

        assert alarm.is_over
        assert len(steps) <= 30

    with_a_watch(story)


def test_the_whole_can_be_made_shorter_and_not_longer() -> None:
    async def story(watch: Watch) -> None:
        alarm = RequestTimeouts(watch, LATE)
        alarm.allow(7.25, step=LATE)
        due = alarm.due
        alarm.allow(30, step=LATE)

        assert due == alarm.due <= watch.now() + 7.25

    with_a_watch(story)


@pytest.mark.slow
def test_each_of_many_alarms_goes_off_at_its_own_time() -> None:
    async def story(watch: Watch) -> None:
        woken: list[int] = []

        async def sleeper(number: int) -> None:
            await overslept(watch, 6 * SOON * number)
            woken.append(number)

        await asyncio.gather(*(sleeper(number) for number in (4, 1, 3, 2)))

        assert woken == [1, 2, 3, 4]

    with_a_watch(story)


def test_alarms_that_a_busy_loop_finds_due_at_once_go_off_in_their_order() -> None:
    async def story(watch: Watch) -> None:
        woken: list[int] = []

        async def sleeper(number: int) -> None:
            await overslept(watch, SOON * number / 9)
            woken.append(number)

        clock, began = watch.now, watch.now()
        watch.now = lambda: began  # all fall asleep at the same moment, however busy the machine is
        sleepers = [asyncio.create_task(sleeper(number)) for number in (4, 1, 3, 9, 2, 8, 5, 7, 6)]
        await asyncio.sleep(0)
        watch.now = clock
        end = watch.now() + SOON
        while watch.now() <= end:  # the loop is busy until all are due
            pass
        await asyncio.gather(*sleepers)

        assert woken == sorted(woken)

    with_a_watch(story)


def test_an_alarm_that_was_not_needed_disturbs_nobody() -> None:
    async def story(watch: Watch) -> None:
        with RequestTimeouts(watch, SOON):
            pass
        with RequestTimeouts(watch, math.inf):
            await asyncio.sleep(2 * SOON)

    with_a_watch(story)


def test_a_watch_without_alarms_sets_no_timer() -> None:
    async def story(watch: Watch) -> None:
        with RequestTimeouts(watch, SOON):
            pass

        await asyncio.sleep(3 * SOON)

        assert watch._timer is None

    with_a_watch(story)


def test_a_cancellation_from_elsewhere_stays_one() -> None:
    async def story(watch: Watch) -> None:
        async def work() -> None:
            with RequestTimeouts(watch, LATE):
                await asyncio.sleep(LATE)

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_a_watch(story)


def test_a_cancellation_from_elsewhere_at_the_same_moment_stays_one_too() -> None:
    async def story(watch: Watch) -> None:
        alarms: list[RequestTimeouts] = []

        async def work() -> None:
            with RequestTimeouts(watch, LATE) as alarm:
                alarms.append(alarm)
                await asyncio.sleep(LATE)

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        alarms[0].ring()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_a_watch(story)


def test_a_task_that_an_alarm_ended_goes_on_as_if_it_had_never_been_cancelled() -> None:
    async def story(watch: Watch) -> None:
        await overslept(watch, SOON)

        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    with_a_watch(story)


def test_another_error_under_an_alarm_that_rang_is_that_error() -> None:
    async def story(watch: Watch) -> None:
        async def trip() -> None:
            with RequestTimeouts(watch, SOON):
                try:
                    await asyncio.sleep(LATE)
                except asyncio.CancelledError:
                    raise KeyError from None

        with pytest.raises(KeyError):
            await trip()

        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    with_a_watch(story)
