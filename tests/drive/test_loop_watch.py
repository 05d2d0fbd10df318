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

from evenhand.drive.loop_watch import MOST_KEPT, Block, LoopWatch

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
            sum(range(10_000_000))

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
