"""Workers that are forks of the process that has collected the tests.

To import the test files takes longer than to run most of the tests, so it is done once; then each worker asks for a
unit of tests, runs it, and asks for the next one (see ``scheduling.py``). Where there is no fork, one process runs all.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import random
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.assertion import rewrite  # there is no other way to compile a test before it is collected
from tests.harness.scheduling import units_of

_NEXT: Final = None  # what a worker sends that wants another unit
_PATIENCE_SECONDS: Final = 20  # for a worker that was interrupted


class Workers:
    """Runs the tests of a session in forks of this process, and reports what they tell."""

    def __init__(self, number: int) -> None:
        self._number = number

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Hand out the units until none is left."""
        if session.testsfailed or session.config.option.collectonly or not hasattr(os, "fork"):
            return None
        if terminal := session.config.pluginmanager.get_plugin("terminalreporter"):
            terminal.showfspath = False  # the tests of many files are run at once
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # which each fork would empty
        waiting = deque(units_of(session.items))
        workers = [Worker(session, number) for number in range(min(self._number, len(waiting)))]
        try:
            for worker in workers:
                worker.start(waiting)
            while alive := {worker.connection: worker for worker in workers if worker.is_alive}:
                for connection in wait(list(alive)):
                    assert isinstance(connection, Connection)
                    alive[connection].attend(waiting)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        finally:
            for worker in workers:
                worker.end()
        return True


class Worker:
    """A forked process, as the one that forked it sees it."""

    def __init__(self, session: pytest.Session, number: int) -> None:
        self._session = session
        self._number = number
        self._left: deque[int] = deque()  # handed out, and not yet reported
        self._pid = 0
        self.is_alive = False
        self.connection: Connection

    def start(self, waiting: deque[list[int]]) -> None:
        """Fork, with a first unit."""
        self.connection, other = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            self.connection.close()
            Forked(self._session, self._number, other).run()
        other.close()
        self.is_alive = True
        self._hand_out(waiting)

    def attend(self, waiting: deque[list[int]]) -> None:
        """Take what the worker tells: the reports of a test, or that it wants more; or find out that it has died."""
        try:
            told = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self._bury(waiting)
            return
        if told is _NEXT:
            self._hand_out(waiting)
            return
        index, reports = told
        self._left.remove(index)
        self._report(index, reports)

    def end(self) -> None:
        """Interrupt the worker, if it still runs; kill it where that does not end it."""
        if not self.is_alive:
            return
        self.is_alive = False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGINT)
        killed_at = time.monotonic() + _PATIENCE_SECONDS
        while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > killed_at:
                os.kill(self._pid, signal.SIGKILL)
            time.sleep(0.02)
        self.connection.close()

    def _hand_out(self, waiting: deque[list[int]]) -> None:
        unit = waiting.popleft() if waiting else []
        self._left.extend(unit)
        self.connection.send(unit)

    def _bury(self, waiting: deque[list[int]]) -> None:
        _, status = os.waitpid(self._pid, 0)
        self.is_alive = False
        self.connection.close()
        code = os.waitstatus_to_exitcode(status)
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        if not self._left:
            if code:
                raise RuntimeError(f"a worker ended {how} after its last test")
            return
        died = self._left.popleft()
        item = self._session.items[died]
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", f"its worker ended {how}", "call")
        self._report(died, [item.config.hook.pytest_report_to_serializable(config=item.config, report=report)])
        if self._left:
            waiting.appendleft(list(self._left))
            self._left.clear()
        self.start(waiting)

    def _report(self, index: int, reports: list[dict[str, Any]]) -> None:
        item = self._session.items[index]
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in reports:
            report = item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


class Forked:
    """The same process, as it sees itself."""

    def __init__(self, session: pytest.Session, number: int, connection: Connection) -> None:
        self._session = session
        self._number = number
        self._connection = connection
        self._reports: list[dict[str, Any]] = []

    def run(self) -> None:
        """Run units until there are no more, and end the process."""
        code = 1
        try:
            self._begin()
            self._run_all()
            code = 0
        except KeyboardInterrupt:
            self._session._setupstate.teardown_exact(None)
        except BaseException:
            traceback.print_exc()
        finally:
            atexit._run_exitfuncs()
            os._exit(code)

    def _begin(self) -> None:
        """Take leave of what belongs to the first process: its output, its folder and the numbers it would draw."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        random.seed()
        manager = self._session.config.pluginmanager
        manager.unregister(name="terminalreporter")
        capture: Any = manager.get_plugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        folders: pytest.TempPathFactory = self._session.config._tmp_path_factory  # type: ignore[attr-defined]
        folders._basetemp = folders.mktemp(f"worker-{self._number}-")
        manager.register(self)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what is to be told of a test."""
        config = self._session.config
        self._reports.append(config.hook.pytest_report_to_serializable(config=config, report=report))

    def _run_all(self) -> None:
        items = self._session.items
        units = self._units()
        following = next(units, None)
        while following is not None:
            index = following
            following = next(units, None)
            after = None if following is None else items[following]
            items[index].config.hook.pytest_runtest_protocol(item=items[index], nextitem=after)
            self._connection.send((index, self._reports))
            self._reports = []

    def _units(self) -> Iterator[int]:
        """Yield the tests of one unit after the other."""
        while unit := self._connection.recv():
            yield from unit
            self._connection.send(_NEXT)


def compile_tests(config: pytest.Config) -> None:
    """Compile the files of tests that are not compiled yet, on all cores: in a new clone, that takes a while."""
    folders = [config.invocation_params.dir / given.partition("::")[0] for given in config.args]
    files = {path for folder in folders for path in ([folder] if folder.is_file() else folder.rglob("test_*.py"))}
    stale = [path for path in sorted(files) if not _is_compiled(path)]
    forks = []
    for share in range(os.cpu_count() or 1 if len(stale) > 1 and hasattr(os, "fork") else 0):
        forks.append(os.fork())
        if not forks[-1]:
            try:
                for path in stale[share :: os.cpu_count() or 1]:
                    _compile(path, config)
            finally:
                os._exit(0)  # pytest compiles what is left, and tells what is wrong with it
    for fork in forks:
        os.waitpid(fork, 0)


def _compiled(path: Path) -> Path:
    return rewrite.get_cache_dir(path) / f"{path.stem}{rewrite.PYC_TAIL}"


def _is_compiled(path: Path) -> bool:
    return rewrite._read_pyc(path, _compiled(path)) is not None


def _compile(path: Path, config: pytest.Config) -> None:
    if rewrite.try_makedirs(_compiled(path).parent):
        status, code = rewrite._rewrite_test(path, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, status, _compiled(path))


def add_options(parser: pytest.Parser) -> None:
    """Declare the option of the workers."""
    parser.getgroup("harness").addoption(
        "--workers", type=int, metavar="NUMBER", help="run the tests in so many forks of the process that collects them"
    )
