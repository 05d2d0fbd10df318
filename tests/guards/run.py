"""Bring past defects back, one at a time, and demand that the test of each notices it.

    python -m tests.guards.run                  # every guard
    python -m tests.guards.run lease cache      # those with one of these words in their name or promise
    python -m tests.guards.run --list           # what is promised, and by which test it is guarded

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
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from xml.etree import ElementTree as ET

FOLDER = Path(__file__).resolve().parent
# Of the tree, what no test of a guard needs, and what is large.
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", ".evenhand", ".hypothesis", ".*_cache", "__pycache__", "build", "dist", "pictures", "*.egg-info"
)
# A test of a guard takes a few seconds; a defect that hangs it is none that the test has noticed.
SECONDS_OF_A_TEST = 60
SECONDS_OF_A_RUN = 300
# With these an edit is wrong, rather than noticed: the test fails, but would fail with any misspelt edit.
MISTAKES = ("SyntaxError", "IndentationError", "NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError")


class GuardError(Exception):
    """A guard that cannot be used as it stands: a file of guards is wrong, or the code that it edits has moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """An edit that breaks a promise, and the test that must fail then.

    ``commit`` is the subject of the commit that kept the promise first, of which the edit takes back a piece.
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
                compile(edited, self.file, "exec")
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


def check_texts(guards: Iterable[Guard], root: Path) -> list[str]:
    """Return what is wrong with the edits, without running anything: one line for each guard whose text has moved."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the run of one guard's test ended: ``fault`` says why this is not what the guard demands."""

    guard: Guard
    seconds: float
    fault: str | None = None
    output: str = ""


class Copy:
    """A copy of the tree, in which one file at a time is edited."""

    # Python takes a compiled file for current whose source has the same second and size: each edit gets its own second.
    _written = time.time()
    _lock = threading.Lock()

    def __init__(self, tree: Path, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "tree"
        self._runs = 0
        shutil.copytree(tree, self.root, ignore=NOT_COPIED)

    def again(self, folder: Path) -> Copy:
        """Copy this copy, with what was compiled in it."""
        other = Copy.__new__(Copy)
        other.folder, other.root, other._runs = folder, folder / "tree", 0
        shutil.copytree(self.root, other.root)
        return other

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

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        with self._lock:
            Copy._written -= 2
            os.utime(path, (self._written, self._written))

    def run(self, tests: Sequence[str], processes: Processes, *, options: Sequence[str] = ()) -> TestRun:
        """Run tests in the copy, which comes before the installed package; of both databases, with SQLite alone."""
        self._runs += 1
        folder = self.folder / str(self._runs)
        folder.mkdir()
        report = folder / "report.xml"
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", "-p", "no:cacheprovider", "-m", "not sweep",
            "-k", "not postgresql",
            f"--timeout={SECONDS_OF_A_TEST}", f"--basetemp={folder / 'files'}", f"--junitxml={report}", *options, *tests,
        ]  # fmt: skip
        paths = [str(self.root / "src"), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        begun = time.monotonic()
        code, output = processes.run(command, cwd=self.root, env=environment)
        cases = [] if not report.exists() else [_read_case(case) for case in ET.parse(report).iter("testcase")]
        shutil.rmtree(folder, ignore_errors=True)
        return TestRun(code=code, output=output, cases=cases, seconds=time.monotonic() - begun)


@dataclass(frozen=True, slots=True)
class TestCase:
    """One test in pytest's report: ``result`` is passed, failed, error (outside the test's own lines) or skipped."""

    __test__ = False
    place: str
    name: str
    result: str
    message: str


def _read_case(case: ET.Element) -> TestCase:
    result, message = "passed", ""
    for child in case:
        if child.tag in {"failure", "error", "skipped"} and result != "failed":
            result = "failed" if child.tag == "failure" else child.tag
            message = child.get("message", "")
    return TestCase(case.get("classname", ""), case.get("name", ""), result, message)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """What pytest said: its exit code (None: it took too long), its output and the tests in its report."""

    __test__ = False
    code: int | None
    output: str
    cases: list[TestCase]
    seconds: float

    def of(self, test: str) -> list[TestCase]:
        """Return the cases of a test by its node id, which stands for all its parameters where it has none."""
        file, *classes, name = test.split("::")
        place = ".".join([*Path(file).with_suffix("").parts, *classes])
        return [
            case
            for case in self.cases
            if case.place == place and (case.name == name or ("[" not in name and case.name.startswith(f"{name}[")))
        ]

    def why_not_passed(self, test: str) -> str | None:
        """Tell why a test cannot be said to pass, or None if it does."""
        cases = self.of(test)
        if not cases:
            return self._not_run()
        return next((f"{case.result}: {_first_line(case.message)}" for case in cases if case.result != "passed"), None)

    def why_not_failed(self, test: str) -> str | None:
        """Tell why a test cannot be said to have noticed a defect, or None if it has."""
        cases = self.of(test)
        failed = [case for case in cases if case.result == "failed"]
        if self.code is None:
            return f"it did not end within {SECONDS_OF_A_RUN} seconds"
        if not cases:
            return self._not_run()
        if not failed:
            others = [case for case in cases if case.result != "passed"]
            return f"{others[0].result}: {_first_line(others[0].message)}" if others else "passed"
        for case in failed:
            message = _first_line(case.message)
            if message.startswith(MISTAKES):
                return f"it failed by a mistake in the edit: {message}"
            if message.startswith("Failed: Timeout"):
                return f"it was stopped after {SECONDS_OF_A_TEST} seconds, which shows nothing"
        return None if self.code == 1 else f"pytest ended with {self.code}"

    def _not_run(self) -> str:
        """Say why there is no result of a test, by pytest's exit code."""
        reasons = {2: "the tests could not be collected", 4: "there is no such test", 5: "no test was selected"}
        if self.code == 1:
            # The report of a file that cannot be imported has the file in place of its tests.
            return "the tests could not be collected"
        return reasons.get(self.code or 0, f"it was not run; pytest ended with {self.code}")


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0][:200]


class Processes:
    """The running pytests, so that all can be ended when somebody presses Ctrl-C."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._ended = False

    def run(self, command: Sequence[str], *, cwd: Path, env: dict[str, str]) -> tuple[int | None, str]:
        """Run a command to its end, and return its exit code, or None if it took too long, and what it printed."""
        with self._lock:
            if self._ended:
                return None, ""
            process = subprocess.Popen(
                command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, encoding="utf-8", errors="replace", start_new_session=True,
            )  # fmt: skip
            self._running.add(process)
        try:
            output, _ = process.communicate(timeout=SECONDS_OF_A_RUN)
        except subprocess.TimeoutExpired:
            _kill(process)
            output, _ = process.communicate()
            return None, output
        finally:
            with self._lock:
                self._running.discard(process)
        return process.returncode, output

    def end(self) -> None:
        """End all, and start no more: first as Ctrl-C would, so that tests take their servers down."""
        with self._lock:
            self._ended = True
            running = list(self._running)
        for process in running:
            with contextlib.suppress(OSError):
                process.send_signal(signal.SIGINT)
        for process in running:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a process and what it started in its own group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def hold(guard: Guard, copy: Copy, processes: Processes) -> Outcome:
    """Apply one guard's edit, run its test, demand that it fails, and take the edit back."""
    with copy.with_edit(guard):
        run = copy.run([guard.test], processes)
    return Outcome(guard=guard, seconds=run.seconds, fault=run.why_not_failed(guard.test), output=run.output)


def hold_all(guards: Sequence[Guard], copies: Sequence[Copy], processes: Processes) -> Iterator[Outcome]:
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
                # Not without end: only between two waits does Python notice Ctrl-C everywhere.
                done, waiting = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.end()
            raise


def describe(outcome: Outcome) -> str:
    """Say which promise a guard that does not hold is of, what was edited, and how its test ended."""
    guard = outcome.guard
    lines = [
        f"does not hold: {guard.name} ({guard.source})",
        f"  promise  {guard.promise}",
        f"  edit     {guard.file}",
        *(f"           - {line}" for line in guard.old.strip("\n").split("\n")),
        *(f"           + {line}" for line in guard.new.strip("\n").split("\n")),
        f"  test     {guard.test}",
        f"  outcome  {outcome.fault}",
    ]
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Write a duration as people do: ``4 min 10 s``."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def select(guards: Sequence[Guard], words: Sequence[str]) -> list[Guard]:
    """Return the guards with one of the words in their name or promise; all, if there are no words."""
    for word in words:
        if not any(word in guard.name or word in guard.promise for guard in guards):
            raise GuardError(f"no guard has {word!r} in its name or promise; --list shows all")
    return [guard for guard in guards if not words or any(w in guard.name or w in guard.promise for w in words)]


def run(guards: Sequence[Guard], tree: Path, *, verbose: bool = False) -> int:
    """Show that the tests pass as the tree is, then hold each guard; return the exit code."""
    begun = time.monotonic()
    if moved := check_texts(guards, tree):
        print(*moved, sep="\n")
        print(f"{len(moved)} of {len(guards)} guards cannot be held.")
        return 1
    processes = Processes()
    held, faults = 0, 0
    with tempfile.TemporaryDirectory(prefix="guards-", ignore_cleanup_errors=True) as folder:
        try:
            first = Copy(tree, Path(folder) / "0")
            tests = list(dict.fromkeys(guard.test for guard in guards))
            count = min(os.cpu_count() or 1, len(guards))
            side_by_side = ["-n", str(count), "--dist", "loadgroup"] if count > 1 else []
            unedited = first.run(tests, processes, options=side_by_side)
            if failing := {test: why for test in tests if (why := unedited.why_not_passed(test))}:
                print(unedited.output)
                for test, why in failing.items():
                    print(f"{test} does not pass without any edit: {why}")
                return 1
            print(f"without any edit, {len(tests)} tests pass ({duration(unedited.seconds)})", flush=True)
            copies = [first, *(first.again(Path(folder) / str(number)) for number in range(1, count))]
            for outcome in hold_all(guards, copies, processes):
                if outcome.fault is None:
                    held += 1
                    print(f"holds {outcome.seconds:5.1f} s  {outcome.guard.name}", flush=True)
                else:
                    faults += 1
                    print(describe(outcome), flush=True)
                if verbose or outcome.fault not in {None, "passed"}:
                    print(outcome.output, flush=True)
        except KeyboardInterrupt:
            processes.end()
            print(f"Interrupted: {held} of {len(guards)} guards had held. The tree is as it was.")
            return 130
    took = duration(time.monotonic() - begun)
    if faults:
        print(f"{faults} of {len(guards)} guards do not hold, in {took}.")
        return 1
    print(f"{held} guards hold, in {took}.")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.guards.run",
        description="Bring past defects back, one at a time, in a copy of the tree, and demand that a test notices each.",
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="only guards with this in their name or promise")
    parser.add_argument("-v", "--verbose", action="store_true", help="show what pytest printed for each guard")
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
    sys.exit(main())
