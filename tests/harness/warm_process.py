"""A process that has loaded Evenhand, and forks for each command line that it is sent.

    python -m tests.harness.warm_process SOCKET

Each connection to the socket is one command line: a line of JSON (its arguments, folder, environment and first place
to import from), sent with the three standard files. The answer is a line with the number of the process, and one with
its exit status when it has ended. A caller that hangs up kills its process. The whole ends when standard input does.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import io
import json
import locale
import os
import random
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any, Final

from evenhand.cli import main as evenhand  # before the module of that name takes its place

# What the commands import where they use it.
_USED_LATER: Final = (
    "concurrent.futures.thread", "ctypes", "evenhand.engine.target_comparison", "evenhand.evaluators.checks.json",
    "evenhand.evaluators.checks.text", "evenhand.reports.terminal", "importlib.metadata", "importlib.resources.readers",
    "jsonschema_rs", "rich.console", "rich.table", "rich.cells", "evenhand.models.adapters", "ssl",
)  # fmt: skip
_FILES: Final = 3


def load_everything() -> None:
    """Import the modules of all commands but the server, and what they use."""
    from evenhand.cli.groups import Command, Group
    from evenhand.cli.main import COMMANDS

    def modules(table: Any) -> Iterator[str]:
        for entry in table.values():
            if isinstance(entry, Command):
                yield entry.function.partition(":")[0]
            elif isinstance(entry, Group):
                yield from modules(entry.commands)

    for name in sorted(set(modules(COMMANDS)) - {"serve"}):
        importlib.import_module(f"evenhand.cli.commands.{name}")
    for name in _USED_LATER:
        importlib.import_module(name)


class Server:
    """Forks for each command line that arrives, and tells its caller how it ended."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        # A child that has ended wakes the loop through this pair.
        self._woken, self._wake = socket.socketpair()
        for end in (listening, self._woken, self._wake):
            end.setblocking(False)
        self._callers: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Serve until standard input ends; then kill what still runs."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        for ready in (sys.stdin, self._listening, self._woken):
            self._selector.register(ready, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is sys.stdin:
                    self._end()
                    return
                if key.fileobj is self._listening:
                    self._accept()
                elif key.fileobj is self._woken:
                    self._collect()
                elif key.data in self._callers:  # the caller has hung up
                    self._selector.unregister(key.fileobj)
                    os.kill(key.data, signal.SIGKILL)

    def _accept(self) -> None:
        caller, _ = self._listening.accept()
        caller.setblocking(True)
        request, files = receive(caller)
        if request is None:
            caller.close()
            return
        pid = os.fork()
        if pid == 0:
            self._selector.close()
            for other in (self._listening, self._woken, self._wake, caller, *self._callers.values()):
                other.close()
            become(request, files)
        for file in files:
            os.close(file)
        self._callers[pid] = caller
        tell(caller, pid)
        self._selector.register(caller, selectors.EVENT_READ, pid)

    def _collect(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(4_096)
        for pid, status in ended():
            caller = self._callers.pop(pid)
            with contextlib.suppress(KeyError):
                self._selector.unregister(caller)
            tell(caller, os.waitstatus_to_exitcode(status))
            caller.close()

    def _end(self) -> None:
        for pid in self._callers:
            os.kill(pid, signal.SIGKILL)
        for pid in self._callers:
            os.waitpid(pid, 0)


def ended() -> Iterator[tuple[int, int]]:
    """Collect the processes that have ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        yield pid, status


def tell(caller: socket.socket, number: int) -> None:
    """Send a number to a caller, if it is still there."""
    with contextlib.suppress(OSError):
        caller.sendall(b"%d\n" % number)


def receive(caller: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Read a request and its three files; None where the caller has left."""
    text, ancillary, _, _ = caller.recvmsg(65_536, socket.CMSG_SPACE(_FILES * 4))
    files = array.array("i")
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(content)
    while text and not text.endswith(b"\n"):
        text += caller.recv(65_536)
    return (json.loads(text), list(files)) if text else (None, list(files))


def become(request: dict[str, Any], files: list[int]) -> None:
    """Do in a forked process what a new one would have done, and end."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [request["program"], *request["arguments"]]
    sys.path[0] = request["first_place"]
    random.seed()  # otherwise all of them would draw the same numbers
    sys.stdin, sys.stdout, sys.stderr = standard_files()
    code = 1
    try:
        code = run()
    finally:
        os._exit(code)


def standard_files() -> tuple[io.TextIOWrapper, io.TextIOWrapper, io.TextIOWrapper]:
    """Open the standard files as Python does when it starts."""
    encoding = locale.getpreferredencoding(do_setlocale=False)
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    reader = open(0, encoding=encoding, closefd=False)  # noqa: SIM115 - open to the end
    writers = [
        io.TextIOWrapper(
            open(number, "wb", closefd=False),  # noqa: SIM115 - open to the end
            encoding=encoding,
            errors=errors,
            line_buffering=number == 2 or os.isatty(number),
            write_through=unbuffered,
        )
        for number, errors in ((1, "strict"), (2, "backslashreplace"))
    ]
    return reader, writers[0], writers[1]


def run() -> int:
    """Run the command line that stands in ``sys.argv``, and return the exit code that Python would end with."""
    code = 0
    try:
        evenhand()
    except SystemExit as left:
        code = exit_code(left)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the threads, as Python does at its end
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        code = 120
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    return code


def exit_code(left: SystemExit) -> int:
    """Return the exit code of ``sys.exit(…)``: a text is printed, and ends with 1."""
    if left.code is None:
        return 0
    if isinstance(left.code, int):
        return left.code & 0xFF
    print(left.code, file=sys.stderr)
    return 1


def main() -> None:
    """Load everything, say that it is ready, and serve."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(sys.argv[1])
        listening.listen(128)
        load_everything()
        gc.freeze()
        os.write(1, b"ready\n")
        Server(listening).serve()


if __name__ == "__main__":
    main()
