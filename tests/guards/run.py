"""Bring past defects back, one at a time, and demand that the test of each notices it.

    python -m tests.guards.run                  # every guard
    python -m tests.guards.run lease cache      # those with one of these words in their name or promise
    python -m tests.guards.run --list           # what is promised, and which test guards it

A guard is a small edit (a file, its old text, the new text) that breaks one promise, with the test that must fail then.
The guards are in the TOML files beside this one. Each edit is made in a copy of the tree, in a temporary folder: nothing
that happens here, Ctrl-C and a power failure included, leaves a broken source behind.

Exit codes: 0 all guards hold, 1 one does not or its text has moved, 2 usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Final
from xml.etree import ElementTree as ET

FOLDER: Final = Path(__file__).resolve().parent
# What no test of a guard needs.
NOT_COPIED: Final = shutil.ignore_patterns(
    ".git", ".venv", ".evenhand", ".hypothesis", ".*_cache", "__pycache__", "build", "dist", "*.egg-info"
)
# A defect that hangs the test is none that the test has noticed.
SECONDS_OF_A_TEST: Final = 120
# What all may take beside their tests, on a machine that has much else to do.
SECONDS_AROUND: Final = 300
# With these, the edit itself is wrong: a test fails by any misspelt edit, and says nothing about the promise.
MISTAKES: Final = (
    "SyntaxError", "IndentationError", "NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError",
)  # fmt: skip


class GuardError(Exception):
    """A guard that cannot be used as it stands: a file of guards is wrong, or the code that it edits has moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """An edit that breaks a promise, and the test that must fail then.

    ``commit`` is the subject of the commit of which the edit takes back a piece.
    """

    name: str
    source: str
    promise: str
    commit: str
    file: str
    old: str
    new: str
    test: str

    def edited(self, text: str) -> str:
        """Return the text of the file with the defect in it."""
        if (count := text.count(self.old)) != 1:
            found = f"{count} times" if count else "no longer"
            raise GuardError(
                f"{self.name} ({self.source}): its old text stands {found} in {self.file}, where it is expected once. "
                "Whoever moved the code renews the guard."
            )
        edited = text.replace(self.old, self.new)
        if edited == text:
            raise GuardError(f"{self.name} ({self.source}): its new text is the old one")
        if self.file.endswith(".py"):
            try:
                compile(edited, self.file, "exec", dont_inherit=True)
            except SyntaxError as error:
                raise GuardError(
                    f"{self.name} ({self.source}): with its edit, {self.file} is no Python: {error}"
                ) from None
        return edited


def read_guards(folder: Path) -> list[Guard]:
    """Read the guards of all TOML files in a folder, in the order of their files."""
    guards: dict[str, Guard] = {}
    for path in sorted(folder.glob("*.toml")):
        for name, entry in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if name in guards:
                raise GuardError(f"{name} ({path.name}): {guards[name].source} has a guard of this name too")
            try:
                guards[name] = Guard(name=name, source=path.name, **entry)
            except TypeError as error:
                raise GuardError(
                    f"{name} ({path.name}): a guard has promise, commit, file, old, new and test: {error}"
                ) from None
    return list(guards.values())


def find_moved(guards: Iterable[Guard], root: Path) -> list[str]:
    """Return what is wrong with the edits, without running anything: a line for each guard whose text has moved."""
    wrong = []
    for guard in guards:
        try:
            guard.edited((root / guard.file).read_text(encoding="utf-8"))
        except FileNotFoundError:
            wrong.append(
                f"{guard.name} ({guard.source}): {guard.file} is not there. Whoever moved the code renews the guard."
            )
        except GuardError as error:
            wrong.append(str(error))
    return wrong


def select(guards: Sequence[Guard], words: Sequence[str]) -> list[Guard]:
    """Return the guards with one of the words in their name or promise; all, if there are no words."""
    for word in words:
        if not any(word in guard.name or word in guard.promise for guard in guards):
            raise GuardError(f"no guard has {word!r} in its name or promise; --list shows all")
    return [guard for guard in guards if not words or any(w in guard.name or w in guard.promise for w in words)]


@dataclass(frozen=True, slots=True)
class TestCase:
    """One test in pytest's report: ``result`` is passed, failed, error (outside of the test itself) or skipped."""

    __test__ = False

    place: str
    name: str
    result: str
    message: str

    @classmethod
    def of(cls, element: ET.Element) -> TestCase:
        """Read an element of the report; a test that failed and could not be taken down has failed."""
        result, message = "passed", ""
        for child in element:
            if child.tag in {"failure", "error", "skipped"} and result != "failed":
                result = "failed" if child.tag == "failure" else child.tag
                message = child.get("message", "").strip().partition("\n")[0][:200]
        return cls(element.get("classname", ""), element.get("name", ""), result, message)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """What pytest found: its exit code (None: it took too long), its output and the tests in its report."""

    __test__ = False

    code: int | None
    output: str
    cases: list[TestCase]
    seconds: float

    def cases_of(self, test: str) -> list[TestCase]:
        """Return the cases of a node id, which stands for all its parameters where it has none."""
        file, *classes, name = test.split("::")
        place = ".".join([*Path(file).with_suffix("").parts, *classes])
        return [
            case
            for case in self.cases
            if case.place == place and (case.name == name or ("[" not in name and case.name.startswith(f"{name}[")))
        ]

    def why_not_passed(self, test: str) -> str | None:
        """Say why a test cannot be said to pass; None if it does."""
        if not (cases := self.cases_of(test)):
            return self._why_not_run()
        return next((f"{case.result}: {case.message}" for case in cases if case.result != "passed"), None)

    def failures(self, test: str) -> list[str]:
        """Return what a test said of the defect that it noticed, or raise ``GuardError`` because it did not."""
        if self.code is None:
            raise GuardError("pytest did not end in time")
        if not (cases := self.cases_of(test)):
            raise GuardError(self._why_not_run())
        failures = [case.message for case in cases if case.result == "failed"]
        if not failures:
            other = next((case for case in cases if case.result != "passed"), None)
            raise GuardError("passed" if other is None else f"{other.result}: {other.message}")
        for message in failures:
            if message.startswith(MISTAKES):
                raise GuardError(f"it failed by a mistake in the edit: {message}")
            if message.startswith("Failed: Timeout"):
                raise GuardError(f"it was stopped after {SECONDS_OF_A_TEST} seconds, which shows nothing")
        if self.code != 1:
            raise GuardError(f"pytest ended with {self.code}")
        return failures

    def _why_not_run(self) -> str:
        if "ERROR collecting" in self.output:
            return "its file could not be collected"
        reasons = {None: "it was not run in time", 4: "there is no such test", 5: "it is not selected: a sweep?"}
        return reasons.get(self.code, f"it was not run; pytest ended with {self.code}")


class Processes:
    """The pytests that run, so that all can be ended when somebody presses Ctrl-C."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._ended = False

    def run(self, command: Sequence[str], *, cwd: Path, env: dict[str, str], seconds: float) -> tuple[int | None, str]:
        """Run a command to its end; return its exit code, or None if it took too long, and what it printed."""
        with self._lock:
            if self._ended:
                return None, ""
            # In a session of its own: Ctrl-C is for whoever tells it to end, and for it alone.
            process = subprocess.Popen(
                command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, encoding="utf-8", errors="replace", start_new_session=True,
            )  # fmt: skip
            self._running.add(process)
        try:
            output, _ = process.communicate(timeout=seconds)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            _kill(process)
            output, _ = process.communicate()
            code = None
        with self._lock:
            self._running.discard(process)
        return code, output

    def end(self) -> None:
        """End all, and start no more: first as Ctrl-C would, so that tests take down what they started."""
        with self._lock:
            self._ended = True
            running = list(self._running)
        for process in running:
            with contextlib.suppress(OSError, ValueError):
                process.send_signal(signal.SIGINT)
        for process in running:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a process, and with it what it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


class Copy:
    """A copy of the tree, in which one file at a time is edited."""

    _lock = threading.Lock()
    # Python takes a compiled file for current whose source has the same size and second: each edit has its own second.
    _written = time.time()

    def __init__(self, source: Path, folder: Path, *, whole: bool = False) -> None:
        self.root = folder / "tree"
        self._folder = folder
        self._runs = 0
        shutil.copytree(source, self.root, ignore=None if whole else NOT_COPIED)

    @contextlib.contextmanager
    def with_edit(self, guard: Guard) -> Iterator[None]:
        """Have the defect in the copy for as long as the block runs."""
        path = self.root / guard.file
        text = path.read_text(encoding="utf-8")
        self._write(path, guard.edited(text))
        try:
            yield
        finally:
            self._write(path, text)

    @classmethod
    def _write(cls, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        with cls._lock:
            cls._written -= 2
            os.utime(path, (cls._written, cls._written))

    def run(self, tests: Sequence[str], processes: Processes, *, workers: int = 0) -> TestRun:
        """Run tests with the sources of the copy; where both databases are tested, on SQLite alone."""
        self._runs += 1
        folder = self._folder / str(self._runs)
        folder.mkdir()
        report = folder / "report.xml"
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", "-p", "no:cacheprovider",
            "-m", "not sweep", "-k", "not postgresql", f"--timeout={SECONDS_OF_A_TEST}",
            f"--basetemp={folder / 'files'}", f"--junitxml={report}",
            *([f"--workers={workers}"] if workers else []), *tests,
        ]  # fmt: skip
        sources = [str(self.root / "src"), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, sources)),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        begun = time.monotonic()
        seconds = SECONDS_AROUND + len(tests) * SECONDS_OF_A_TEST
        code, output = processes.run(command, cwd=self.root, env=environment, seconds=seconds)
        elements = ET.parse(report).iter("testcase") if report.exists() else ()
        cases = [TestCase.of(element) for element in elements]
        shutil.rmtree(folder, ignore_errors=True)
        return TestRun(code=code, output=output, cases=cases, seconds=time.monotonic() - begun)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the test of a guard ended: what it ``noticed``, or else the ``fault`` why it cannot be said to have."""

    guard: Guard
    seconds: float
    noticed: str = ""
    fault: str = ""
    output: str = ""

    def __str__(self) -> str:
        guard = self.guard
        if not self.fault:
            return f"holds {self.seconds:5.1f} s  {guard.name}"
        lines = [
            f"does not hold: {guard.name} ({guard.source})",
            f"  promise  {guard.promise}",
            f"  edit     {guard.file}",
            *(f"           - {line}" for line in guard.old.strip("\n").split("\n")),
            *(f"           + {line}" for line in guard.new.strip("\n").split("\n")),
            f"  test     {guard.test}",
            f"  outcome  {self.fault}",
        ]
        return "\n".join(lines)


def hold(guard: Guard, copy: Copy, processes: Processes) -> Outcome:
    """Apply one guard's edit, run its test, demand that it fails, and take the edit back."""
    with copy.with_edit(guard):
        run = copy.run([guard.test], processes)
    try:
        noticed = run.failures(guard.test)[0]
    except GuardError as fault:
        return Outcome(guard=guard, seconds=run.seconds, fault=str(fault), output=run.output)
    return Outcome(guard=guard, seconds=run.seconds, noticed=noticed, output=run.output)


def hold_all(guards: Sequence[Guard], copies: Sequence[Copy], processes: Processes) -> Generator[Outcome, None, None]:
    """Hold the guards side by side, one in each copy, and yield each outcome as it comes."""
    free: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def hold_one(guard: Guard) -> Outcome:
        copy = free.get()
        try:
            return hold(guard, copy, processes)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        waiting: set[Future[Outcome]] = {pool.submit(hold_one, guard) for guard in guards}
        try:
            while waiting:
                # Not without end: on some systems Ctrl-C is heard only between two waits.
                done, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.end()
            raise


def run(guards: Sequence[Guard], tree: Path, *, verbose: bool = False) -> int:
    """Show that the tests pass as the tree is, then hold each guard; return the exit code."""
    begun = time.monotonic()
    if moved := find_moved(guards, tree):
        print(*moved, sep="\n")
        print(f"{len(moved)} of {len(guards)} guards cannot be held.")
        return 1
    processes = Processes()
    held = faults = 0
    with tempfile.TemporaryDirectory(prefix="guards-", ignore_cleanup_errors=True) as folder:
        try:
            first = Copy(tree, Path(folder) / "1")
            count = min(os.cpu_count() or 1, len(guards))
            if not _passes_unedited(guards, first, processes, workers=count if count > 1 else 0):
                return 1
            # Of the first copy, with what was compiled there.
            others = [Copy(first.root, Path(folder) / str(number), whole=True) for number in range(2, count + 1)]
            with contextlib.closing(hold_all(guards, [first, *others], processes)) as outcomes:
                for outcome in outcomes:
                    held += not outcome.fault
                    faults += bool(outcome.fault)
                    print(outcome, flush=True)
                    if verbose:
                        print(f"  test     {outcome.guard.test}\n  noticed  {outcome.noticed}", flush=True)
                    if outcome.fault not in {"", "passed"}:
                        print(outcome.output, flush=True)
        except KeyboardInterrupt:
            processes.end()
            print(f"Interrupted: {held} of {len(guards)} guards had held. The tree is as it was.")
            return 130
    took = duration(time.monotonic() - begun)
    all_hold = "1 guard holds" if held == 1 else f"{held} guards hold"
    print(f"{faults} of {len(guards)} guards do not hold, in {took}." if faults else f"{all_hold}, in {took}.")
    return 1 if faults else 0


def _passes_unedited(guards: Sequence[Guard], copy: Copy, processes: Processes, *, workers: int) -> bool:
    tests = list(dict.fromkeys(guard.test for guard in guards))
    unedited = copy.run(tests, processes, workers=workers)
    failing = {test: why for test in tests if (why := unedited.why_not_passed(test)) is not None}
    if failing:
        print(unedited.output)
        print(*(f"{test} does not pass without any edit: {why}" for test, why in failing.items()), sep="\n")
        print("No guard was held: a test that fails anyway notices nothing.")
    else:
        passed = "1 test passes" if len(tests) == 1 else f"{len(tests)} tests pass"
        print(f"without any edit, {passed} ({duration(unedited.seconds)})", flush=True)
    return not failing


def duration(seconds: float) -> str:
    """Write a duration as people do.

    >>> duration(250.2), duration(9)
    ('4 min 10 s', '9 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.guards.run",
        description="Bring past defects back, one at a time, in a copy of the tree, and demand that a test notices each.",
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="only guards with this in their name or promise")
    parser.add_argument("-v", "--verbose", action="store_true", help="show what each test said of its defect")
    parser.add_argument("--list", action="store_true", help="show the guards, and run nothing")
    parser.add_argument("--guards", type=Path, default=FOLDER, help="the folder with the files of guards")
    parser.add_argument("--tree", type=Path, default=FOLDER.parents[1], help="the tree that is copied")
    given = parser.parse_args(arguments)
    try:
        guards = select(read_guards(given.guards), given.words)
    except GuardError as error:
        print(error)
        return 2
    if given.list:
        for guard in guards:
            print(f"{guard.name}\n  {guard.promise}\n  {guard.test}")
        return 0
    return run(guards, given.tree.resolve(), verbose=given.verbose)


if __name__ == "__main__":
    # Also where it was started in the background, as shells let such programs ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    sys.exit(main())
