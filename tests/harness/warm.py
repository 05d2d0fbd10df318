"""The command `evenhand` without its start: a warm process forks for each command line.

    def test_…(warm):
        done = warm.run("run", "suite.yaml")
        assert done.returncode == 0

It takes a twentieth of a second; to start Python and load Evenhand takes half a second and more. What is about the start
itself, about terminals or about signals while it loads, starts a program of its own.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Final, Self

ROOT: Final = Path(__file__).resolve().parents[2]
CLIENT: Final = Path(__file__).with_name("warm_client.py")


class Started:
    """A command line that runs; what it prints is in files, so that nobody has to read along."""

    def __init__(self, arguments: tuple[str, ...], out: IO[bytes], err: IO[bytes]) -> None:
        self.args = arguments
        self.pid = 0
        self.returncode: int | None = None
        self._out, self._err = out, err

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.returncode is None:
            self.kill()
            self.wait()
        for file in (self._out, self._err):
            file.close()

    @property
    def stdout(self) -> str:
        """What it has printed so far."""
        return _text_of(self._out)

    @property
    def stderr(self) -> str:
        """What it has printed on standard error so far."""
        return _text_of(self._err)

    def send_signal(self, number: int) -> None:
        """Send a signal to the process, if it still runs."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)

    def wait(self, timeout: float = 300) -> int:
        """Wait for the end, and return the exit code; that of a signal is its number below zero."""
        raise NotImplementedError

    def communicate(self, timeout: float = 300) -> tuple[str, str]:
        """Wait for the end, and return what was printed."""
        self.wait(timeout)
        return self.stdout, self.stderr


class Forked(Started):
    """A command line in a fork of the warm process, which tells its number and how it ended."""

    def __init__(self, arguments: tuple[str, ...], out: IO[bytes], err: IO[bytes], server: socket.socket) -> None:
        super().__init__(arguments, out, err)
        self._server = server
        self._answer = server.makefile("rb")
        self.pid = int(self._answer.readline())

    def __exit__(self, *left: object) -> None:
        super().__exit__(*left)
        self._answer.close()
        self._server.close()

    def wait(self, timeout: float = 300) -> int:
        """Wait for the warm process to tell the end."""
        if self.returncode is None:
            self._server.settimeout(timeout)
            try:
                answer = self._answer.readline()
            except TimeoutError:
                raise subprocess.TimeoutExpired(["evenhand", *self.args], timeout) from None
            self.returncode = int(answer)
        return self.returncode


class New(Started):
    """A command line in a process of its own, where there is no fork."""

    def __init__(
        self, arguments: tuple[str, ...], out: IO[bytes], err: IO[bytes], process: subprocess.Popen[bytes]
    ) -> None:
        super().__init__(arguments, out, err)
        self._process = process
        self.pid = process.pid

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()

    def terminate(self) -> None:
        """Ask the process to end."""
        self._process.terminate()

    def wait(self, timeout: float = 300) -> int:
        """Wait for the process."""
        self.returncode = self._process.wait(timeout)
        return self.returncode


def _text_of(file: IO[bytes]) -> str:
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), size, 0).decode().replace("\r\n", "\n")


class WarmEvenhand:
    """A way to run command lines in forks of one process; in new ones where the system has no fork."""

    def __init__(self, place: Path | None) -> None:
        self._place = place

    def start(
        self,
        *arguments: str,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
    ) -> Started:
        """Start a command line, as ``python -m evenhand`` would."""
        folder = str(Path(cwd or Path.cwd()).resolve())
        environment = dict(os.environ if env is None else env)
        with contextlib.ExitStack() as stack:
            out, err = (stack.enter_context(tempfile.TemporaryFile(buffering=0)) for _ in range(2))
            with tempfile.TemporaryFile(buffering=0) as given:
                given.write(stdin.encode())
                given.seek(0)
                started = self._start(arguments, folder, environment, [given, out, err])
            stack.pop_all()
        return started

    def _start(
        self, arguments: tuple[str, ...], folder: str, environment: dict[str, str], files: list[IO[bytes]]
    ) -> Started:
        given, out, err = files
        if self._place is None:
            command = [sys.executable, "-m", "evenhand", *arguments]
            return New(
                arguments, out, err,
                subprocess.Popen(command, cwd=folder, env=environment, stdin=given, stdout=out, stderr=err),
            )  # fmt: skip
        request = {
            "arguments": arguments,
            "program": str(ROOT / "src/evenhand/__main__.py"),
            "first_place": folder,
            "folder": folder,
            "environment": environment,
        }
        text = json.dumps(request).encode() + b"\n"
        numbers = array.array("i", [file.fileno() for file in files])
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            server.connect(str(self._place))
            sent = server.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])
            server.sendall(text[sent:])
            started = Forked(arguments, out, err, server)
            stack.pop_all()
        return started

    def run(
        self,
        *arguments: str,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        timeout: float = 300,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command line to its end, as ``subprocess.run`` would with ``capture_output`` and ``text``."""
        with self.start(*arguments, cwd=cwd, env=env, stdin=stdin) as started:
            out, err = started.communicate(timeout)
            return subprocess.CompletedProcess(["evenhand", *arguments], started.wait(), out, err)

    def on_path(self, folder: Path) -> Path:
        """Put a command ``evenhand`` for shells into a folder, for the front of PATH, and return the folder."""
        if self._place is None:
            return Path(sys.executable).parent
        folder.mkdir(parents=True, exist_ok=True)
        command = folder / "evenhand"
        program = CLIENT.read_text("utf-8").replace("{socket}", str(self._place))
        command.write_text(f"#!{sys.executable} -ISsE\n{program}", "utf-8")
        command.chmod(0o755)
        return folder


@contextlib.contextmanager
def warm_evenhand(program: str = "tests.harness.warm_process") -> Iterator[WarmEvenhand]:
    """Start the warm process, and end it with all that it forked; another ``program`` may load more."""
    if not hasattr(os, "fork"):
        yield WarmEvenhand(None)
        return
    folder = Path(tempfile.mkdtemp(prefix="evenhand-"))  # a socket's path has room for a hundred bytes
    place = folder / "warm"
    with subprocess.Popen(
        [sys.executable, "-m", program, str(place)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        try:
            assert process.stdout.readline() == b"ready\n", "the warm process did not start: see above"
            yield WarmEvenhand(place)
        finally:
            process.stdin.close()
            process.wait(60)
            shutil.rmtree(folder)
