"""Running a program: an argument list, text on its standard input, limits, and nothing left behind.

A program has a process group of its own, which ends with it: what it started and left running is killed (on Windows
only when the program itself is). This is no sandbox: it reads files and uses the network as its user can.

asyncio's own subprocesses will not do. Cancelled while they start, they forget the group and may wait for ever; in
some versions they end only when the last descendant has closed the pipes; and not every loop on Windows has them.
Here everything but the waiting is synchronous, so that no cancellation can come between a program and its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Final, cast

from evenhand.domain.ask import Exec
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Exited

STDOUT_MIB: Final = 10
STDERR_MIB: Final = 1

_CHUNK = 1 << 16
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.05
# How long a killed program may take to be gone, and its last words to arrive.
_REAPING_SECONDS = 1.0

# What programs need to run at all. Whatever else is set may be a secret.
_NEEDED = {"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP"}
_NEEDED_ON_WINDOWS = {"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA"}
_SHELL = "/bin/sh"

# How many programs run at once on one loop: more would only get in each other's way.
_AT_ONCE = 4 * (os.cpu_count() or 1)
_turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = weakref.WeakKeyDictionary()


async def run_program(want: Exec, *, deadline: float | None = None) -> Exited:
    """Run a program until it ends, its time is up (``deadline`` is of ``time.monotonic``), or it says too much.

    What the program does is in the result and never raised. A ``problem`` begins with its class: ``timeout``,
    ``output_too_large``, ``not_found`` or ``not_started``.
    """
    turns = _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_AT_ONCE))
    try:
        async with asyncio.timeout(None if deadline is None else max(deadline - time.monotonic(), 0)):
            await turns.acquire()
    except TimeoutError:
        return _not_run(Failure("timeout", "no time was left to run the program"))
    try:
        return await _run(want, deadline)
    finally:
        turns.release()


async def _run(want: Exec, deadline: float | None) -> Exited:
    begun = time.monotonic()
    seconds = want.timeout if deadline is None else min(want.timeout, deadline - begun)
    if seconds <= 0:
        return _not_run(Failure("timeout", "no time was left to run the program"))
    try:
        running = _Running(want)
    except _NotFoundError as error:
        return _not_run(Failure("not_found", str(error)))
    except (OSError, ValueError) as error:
        return _not_run(Failure("not_started", f"{want.argv[0]!r}: {error}"))
    try:
        in_time = await running.wait(begun + seconds)
    finally:
        running.end()
    await asyncio.wait([running.heard_out], timeout=_REAPING_SECONDS)
    problem = running.too_much
    if problem is None and not in_time:
        problem = Failure("timeout", f"the program was still running after {seconds:.1f} s")
    return Exited(
        code=running.process.returncode if problem is None else None,
        stdout=running.stdout.text,
        stderr=running.stderr.text,
        seconds=time.monotonic() - begun,
        problem=problem,
    )


def _not_run(problem: str) -> Exited:
    return Exited(code=None, stdout="", stderr="", seconds=0.0, problem=problem)


class _Running:
    """A program that runs, and what it has said so far."""

    def __init__(self, want: Exec) -> None:
        environment = _environment(want.env)
        argv = _argv(want, environment)
        # Input from a file: unlike a pipe it neither fills up nor breaks when the program does not read it.
        with tempfile.TemporaryFile() as stdin:
            stdin.write(want.stdin.encode("utf-8", "replace"))
            stdin.seek(0)
            self.process = subprocess.Popen(  # noqa: S603 - running the user's program is the purpose
                argv,
                stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
                cwd=want.cwd or None, env=environment, **_own_group(),
            )  # fmt: skip
        self.heard_out = asyncio.get_running_loop().create_future()
        stream = _FollowedStream if sys.platform == "win32" else _Stream
        self.stdout = stream("stdout", cast("IO[bytes]", self.process.stdout), STDOUT_MIB, self._note_end)
        self.stderr = stream("stderr", cast("IO[bytes]", self.process.stderr), STDERR_MIB, self._note_end)

    @property
    def too_much(self) -> str | None:
        """Say of which stream there was too much, if there was."""
        return self.stdout.too_much or self.stderr.too_much

    def _note_end(self) -> None:
        if (self.too_much or (self.stdout.ended and self.stderr.ended)) and not self.heard_out.done():
            self.heard_out.set_result(None)

    async def wait(self, until: float) -> bool:
        """Wait for the program to end or write too much; return whether it did so in time."""
        pause = _SHORTEST_PAUSE
        while self.process.poll() is None and not self.too_much:
            left = until - time.monotonic()
            if left <= 0:
                return False
            if not self.heard_out.done():
                # A program that ends closes its pipes. One whose children hold them is noticed after the pause.
                await asyncio.wait([self.heard_out], timeout=min(left, _LONGEST_PAUSE))
            else:
                await asyncio.sleep(min(left, pause))
                pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    def end(self) -> None:
        """Kill what is left of the group, hear what is still in the pipes, and let go of them."""
        if sys.platform == "win32":
            if self.process.poll() is None:
                killer = ("taskkill", "/T", "/F", "/PID", str(self.process.pid))
                subprocess.run(killer, capture_output=True, check=False)  # noqa: S603 - nothing in it is input
        else:
            # Without permission: macOS says so of a group that has only zombies left.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_REAPING_SECONDS)
        self.stdout.finish()
        self.stderr.finish()


class _Stream:
    """One output of a program, kept up to a bound; ``on_change`` is called on writes and at its end."""

    def __init__(self, name: str, pipe: IO[bytes], most_mib: int, on_change: Callable[[], None]) -> None:
        self.ended = False
        self.too_much: str | None = None
        self._name, self._pipe, self._most_mib, self._on_change = name, pipe, most_mib, on_change
        self._output = bytearray()
        self._loop = asyncio.get_running_loop()
        self._open()

    def _open(self) -> None:
        os.set_blocking(self._pipe.fileno(), False)
        self._loop.add_reader(self._pipe.fileno(), self._read_chunk)

    @property
    def text(self) -> str:
        """What was written; bytes that are no UTF-8 are replaced."""
        return self._output.decode("utf-8", "replace")

    def _read_chunk(self) -> bool:
        """Take what is there now; return whether there may be more."""
        data = self._pipe.read(_CHUNK)
        if data is not None:
            self._append(data)
        return bool(data) and not self.too_much

    def _append(self, data: bytes) -> None:
        room = (self._most_mib << 20) - len(self._output)
        self._output += data[:room]
        if len(data) > room:
            self.too_much = Failure(
                "output_too_large", f"the program wrote more than {self._most_mib} MiB to {self._name}"
            )
        if not data:
            self._close()
        self._on_change()

    def _close(self) -> None:
        self.ended = True
        self._loop.remove_reader(self._pipe.fileno())
        self._pipe.close()

    def finish(self) -> None:
        """Take what is still there, without waiting for a descendant that may have escaped with the pipe."""
        while not self.ended and self._read_chunk():
            pass
        if not self.ended:
            self._close()
            self._on_change()


class _FollowedStream(_Stream):
    """A stream on Windows, where no loop can watch such a pipe: a thread reads it to its end."""

    def _open(self) -> None:
        threading.Thread(target=self._follow, name=f"evenhand-{self._name}", daemon=True).start()

    def _follow(self) -> None:
        with self._pipe, contextlib.suppress(RuntimeError):  # the loop may be closed before the pipe is
            while data := self._pipe.read(_CHUNK):
                self._loop.call_soon_threadsafe(self._append, data)
            self._loop.call_soon_threadsafe(self._append, b"")

    def _close(self) -> None:
        self.ended = True

    def finish(self) -> None:
        """Leave the thread to it."""


def no_memory_limit() -> str | None:
    """Say why the memory of programs cannot be limited here; None where it can."""
    if sys.platform != "linux":
        return f"none: {sys.platform} has no memory limit that a program can be given"
    return None if Path(_SHELL).exists() else f"none: there is no {_SHELL} to set it"


class _NotFoundError(Exception):
    """There is no such program, or no such folder to run it in."""


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    needed = _NEEDED | _NEEDED_ON_WINDOWS
    kept = {name: value for name, value in os.environ.items() if name in needed or name.startswith("LC_")}
    return kept | dict(extra)


def _argv(want: Exec, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Find the program, seen from the folder in which it will run, and wrap it in its memory limit."""
    folder = Path(want.cwd or ".").absolute()
    if not folder.is_dir():
        raise _NotFoundError(f"there is no folder {str(folder)!r} to run the program in")
    name = want.argv[0]
    if name == Path(name).name:
        places = environment.get("PATH", os.defpath).split(os.pathsep)
        program = shutil.which(name, path=os.pathsep.join(str(folder / place) for place in places))
        missing = f"there is no program {name!r} on the PATH"
    else:
        file = folder / name
        program = shutil.which(str(file))
        missing = f"there is no program {str(file)!r}"
        if file.is_file():
            missing = f"{str(file)!r} is not executable; make it so, or begin the command with its interpreter"
    if program is None:
        raise _NotFoundError(missing)
    return _within_memory((program, *want.argv[1:]), want.memory_bytes)


def _within_memory(argv: tuple[str, ...], memory_bytes: int | None) -> tuple[str, ...]:
    """Let a shell set the limit and become the program: code between fork and exec is unsafe beside threads."""
    if memory_bytes is None or sys.platform != "linux" or no_memory_limit():
        return argv
    import resource  # noqa: PLC0415 - not everywhere

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    return (_SHELL, "-c", f'ulimit -v {most // 1024} && exec "$@"', _SHELL, *argv)
