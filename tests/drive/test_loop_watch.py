"""What holds the event loop is recorded, with where it stood; a process that was stopped is not blamed on the loop."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import FrameType

import pytest

from evenhand.drive.loop_watch import MOST_KEPT, Block, LoopWatch, Pulse

QUICKLY = {"limit": 0.05, "beat": 0.01}
PATIENCE = 60.0


def hold_the_loop(noticed: threading.Event) -> None:
    assert noticed.wait(PATIENCE)


def watched(work: Callable[[LoopWatch, threading.Event], None]) -> LoopWatch:
    """Do something on a watched loop; the event is set when the watch has noticed a block."""
    noticed = threading.Event()

    async def run() -> LoopWatch:
        with LoopWatch(lambda block: noticed.set(), **QUICKLY) as watch:
            await asyncio.sleep(0)
            work(watch, noticed)
            async with asyncio.timeout(PATIENCE):
                while watch._beaten_at < time.monotonic() - 0.03:  # noqa: ASYNC110 - until it beats again
                    await asyncio.sleep(0.001)
        return watch

    return asyncio.run(run())


def test_what_holds_the_loop_is_recorded_with_where_it_stood() -> None:
    watch = watched(lambda watch, noticed: hold_the_loop(noticed))

    assert watch.longest is not None
    assert any(re.match(r"drive/test_loop_watch\.py:\d+ hold_the_loop$", call) for call in watch.longest.stack)
    assert watch.longest.seconds > QUICKLY["limit"]
    assert str(watch.longest).startswith("the event loop was blocked for ")
    assert re.search(r"blocked for \d+\.\d s in \S+:\d+ \S+$", str(watch.longest))


@pytest.mark.slow
def test_a_block_that_does_not_release_the_interpreter_is_recorded_too() -> None:
    def think(watch: LoopWatch, noticed: threading.Event) -> None:
        while not noticed.is_set():  # no other thread runs while this adds up
            sum(range(4_000_000))

    watch = watched(think)

    assert watch.longest is not None
    assert any("think" in call for call in watch.longest.stack)


def test_a_loop_that_gets_on_is_not_blamed() -> None:
    async def run() -> LoopWatch:
        with LoopWatch(limit=30.0, beat=0.001) as watch:
            for _ in range(50):
                await asyncio.sleep(0.001)
        return watch

    assert list(asyncio.run(run()).blocks) == []


def test_a_watch_ends_with_what_it_watched_and_keeps_no_frame() -> None:
    class Local:
        pass

    kept: list[weakref.ref[Local]] = []

    def work(watch: LoopWatch, noticed: threading.Event) -> None:
        local = Local()
        kept.append(weakref.ref(local))
        hold_the_loop(noticed)

    watch = watched(work)

    gc.collect()
    assert [one() for one in kept] == [None]
    assert not [one for one in threading.enumerate() if one.name == "evenhand-loop-watch"]
    assert not [one for one in gc.get_referents(*watch.blocks) if isinstance(one, FrameType)]


def test_of_very_many_blocks_the_last_are_kept_and_the_longest_is_known() -> None:
    watch = LoopWatch()

    for number in range(3 * MOST_KEPT):
        watch._record(Block(seconds=1000.0 - number, stack=()))

    assert len(watch.blocks) == MOST_KEPT
    assert watch.longest is not None
    assert watch.longest.seconds == 1000.0


# What is a block, by times alone


def pulse() -> Pulse:
    """Return the pulse of a loop that has just beaten, at 100 s, its thread having worked for 7 s."""
    return Pulse(100.0, 7.0, limit=1.0, beat=0.25)


def test_a_loop_is_blocked_when_a_beat_is_late_by_more_than_the_limit() -> None:
    late, later = pulse(), pulse()
    for heart in (late, later):
        for quarter in range(1, 5):
            assert heart.felt(100 + quarter / 4, 7.0, 100.0) == (None, None)

    assert late.felt(101.25, 7.0, 100.0) == (None, None)  # by the limit, and no more
    assert later.felt(101.28125, 7.5, 100.0) == (None, 1.28125)


def test_a_block_is_noticed_once_and_its_length_known_when_the_loop_beats_again() -> None:
    heart = pulse()
    felt = [heart.felt(100 + quarter / 4, 7.0, 100.0) for quarter in range(1, 13)]

    assert felt == [(None, None)] * 5 + [(None, 1.5)] + [(None, None)] * 6
    assert heart.felt(103.25, 7.0, 103.125) == (3.125, None)
    assert heart.felt(103.5, 7.0, 103.375) == (None, None)
    assert [heart.felt(103.5 + quarter / 4, 7.0, 103.375) for quarter in range(1, 6)][-1] == (None, 1.375)


def test_a_block_can_end_and_another_begin_before_it_is_felt_again() -> None:
    heart = pulse()
    assert heart.felt(101.5, 7.5, 100.0) == (None, 1.5)  # it worked for long enough to be the cause

    assert heart.felt(104.0, 8.5, 102.0) == (2.0, 2.0)


@pytest.mark.parametrize("overslept", [2.0, 60.0, 36_000.0])
def test_what_stops_the_watch_is_no_block_unless_the_loop_was_at_work_for_a_quarter_of_it(overslept: float) -> None:
    stopped, idle, busy = pulse(), pulse(), pulse()
    now = 100.25 + overslept

    assert stopped.felt(now, 7.0, 100.0) == (None, None)
    assert idle.felt(now, 7.0 + overslept / 4 - 0.125, 100.0) == (None, None)
    assert busy.felt(now, 7.0 + overslept / 4, 100.0) == (None, overslept + 0.25)


def test_after_a_stop_a_loop_has_as_much_time_as_before() -> None:
    heart = pulse()
    assert heart.felt(100.25, 7.0, 100.0) == (None, None)
    assert heart.felt(160.5, 7.0, 100.0) == (None, None)  # stopped for a minute; since the beat, half a second went by

    assert [heart.felt(160.5 + quarter / 4, 7.0, 100.0) for quarter in range(1, 4)] == [(None, None)] * 3
    assert heart.felt(161.5, 7.0, 100.0) == (None, 1.5)


# Processes


STOPPED = """
import asyncio, sys
from evenhand.drive.loop_watch import LoopWatch

async def main():
    with LoopWatch(limit=0.2, beat=0.05) as watch:
        await asyncio.sleep(0.2)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await asyncio.sleep(0.2)
    print(len(watch.blocks))

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="other signals")
def test_a_process_that_was_stopped_for_a_while_is_not_blamed_on_the_loop() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        time.sleep(1.0)  # what is tested is that time passes meanwhile
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate("\n", timeout=60)

    assert out == "0\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_ends_without_the_thread() -> None:
    async def run() -> int:
        with LoopWatch(None, **QUICKLY):
            await asyncio.sleep(0.02)
            child = os.fork()
            if child:
                return await asyncio.to_thread(lambda: os.waitpid(child, 0)[1])
        os._exit(7)  # the child has left the watch

    with pytest.warns(DeprecationWarning, match="fork") if sys.version_info >= (3, 12) else _nothing():
        status = asyncio.run(asyncio.wait_for(run(), PATIENCE))

    assert os.waitstatus_to_exitcode(status) == 7


class _nothing:  # noqa: N801 - a place holder
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...
