"""Change lines of the source at random, one at a time, and tell which changes no test notices.

    python -m tests.mutation --lines 200 --seed 41

The same seed picks the same lines as long as the source is the same. Each change is made in a copy of the source. The
examples of the changed module run, and those tests of its package that come by the line: the quick ones, with few
examples of each property. What they do not notice is printed. Some of it says the same in other words, or changes only
what a message says; the rest lacks a test. ``--wide`` runs tests elsewhere too, and the slow ones; ``--only 3,17`` takes
some of the changes alone.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeVar

import pytest

import coverage

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("stats", "domain", "evaluators", "engine")
QUICK: Final = "not slow and not long and not sweep"
# A change that makes the tests take so much longer than all of a package is noticed: it goes on for ever.
MOST_CPU_SECONDS: Final = 150
MOST_SECONDS: Final = 900
# What takes too long for a single change, or needs what is not on every machine.
NOT_IN_WIDE: Final = {"attacks", "bench", "browser", "cluster", "faults", "growth", "kill"}

# Python 3.11 cannot always trace a thread that starts while another does, and says so.
UNTRACED: Final = "ignore:Exception ignored in thread started by:pytest.PytestUnraisableExceptionWarning"
Result = TypeVar("Result")

COMPARED: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
COMPUTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Pow: ast.Mult,
    ast.Mod: ast.FloorDiv,
}  # fmt: skip
CALLED: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A place in a file, and what is to be there instead."""

    path: Path
    line: int
    lines: range  # of the statement
    at_import: bool
    start: int
    end: int
    old: str
    new: str

    def applied(self) -> str:
        """Return the source with the change."""
        source = self.path.read_text(encoding="utf-8")
        return source[: self.start] + self.new + source[self.end :]

    @property
    def module(self) -> str:
        """The dotted name of the module."""
        return ".".join(self.path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")

    @property
    def package(self) -> str:
        """The package that the module is in."""
        return self.path.relative_to(ROOT / "src/evenhand").parts[0]

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.path.relative_to(ROOT)}:{self.line}  {old}  ->  {new}"


class Changes(ast.NodeVisitor):
    """Finds all changes that can be made to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source = path.read_text(encoding="utf-8")
        self.lines = self.source.splitlines(keepends=True)
        self.found: list[Change] = []
        self._statement = range(0)
        self._functions = 0
        self.visit(ast.parse(self.source))

    @cached_property
    def starts(self) -> list[int]:
        """Where each line starts."""
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))
        return starts

    def place(self, line: int, column: int) -> int:
        """Return where a node starts, or ends, whose columns are counted in bytes."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def change(self, node: ast.expr | ast.stmt, new: str) -> None:
        """Note that something can be there in place of a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.place(node.lineno, node.col_offset)
        end = self.place(node.end_lineno, node.end_col_offset)
        old = self.source[start:end]
        change = Change(
            path=self.path, line=node.lineno, lines=self._statement, at_import=not self._functions, start=start, end=end,
            old=old, new=new,
        )  # fmt: skip
        self.found.append(change)

    def visit(self, node: ast.AST) -> None:
        """Visit a node, knowing the lines of the statement that it is in, without those of statements within that."""
        before = self._statement
        if isinstance(node, ast.stmt):
            assert node.end_lineno is not None
            body: list[ast.stmt] = getattr(node, "body", [])
            end = max(node.lineno + 1, body[0].lineno) if body else node.end_lineno + 1
            self._statement = range(node.lineno, end)
        super().visit(node)
        self._statement = before

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and ast.unparse(node.annotation) != "TypeAlias":
            self.visit(node.value)

    def visit_arguments(self, node: ast.arguments) -> None:
        for default in (*node.defaults, *node.kw_defaults):
            if default is not None:
                self.visit(default)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if any(ast.unparse(one).endswith("overload") for one in node.decorator_list):
            return
        self.visit(node.args)
        self._functions += 1
        for statement in node.body:
            self.visit(statement)
        self._functions -= 1

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Compare(self, node: ast.Compare) -> None:
        for place, operator in enumerate(node.ops):
            for other in COMPARED[type(operator)]:
                ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                self.change(node, f"({ast.unparse(ast.Compare(node.left, ops, node.comparators))})")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self.change(node, f"({ast.unparse(ast.BoolOp(other, node.values))})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if (other := COMPUTED.get(type(node.op))) is not None and not isinstance(node.left, ast.JoinedStr):
            self.change(node, f"({ast.unparse(ast.BinOp(node.left, other(), node.right))})")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if (other := COMPUTED.get(type(node.op))) is not None:
            self.change(node, ast.unparse(ast.AugAssign(node.target, other(), node.value)))
        self.visit(node.value)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self.change(node, f"({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        match node.value:
            case bool():
                self.change(node, str(not node.value))
            case int() | float():
                self.change(node, repr(node.value + 1))
                self.change(node, f"({node.value - 1!r})")

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and (other := CALLED.get(node.func.id)):
            self.change(node.func, other)
        self.generic_visit(node)

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        for always in ("True", "False"):
            self.change(node.test, always)
        for statement in node.body if isinstance(node, ast.If) else ():
            if isinstance(statement, ast.Return) and ast.unparse(statement) not in {"return", "return None"}:
                self.change(statement, "return None")
        self.generic_visit(node)

    visit_IfExp = visit_If  # noqa: N815

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self.change(condition, "True")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.change(node, "pass")  # and nothing of its message

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.change(node, "pass")
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave what is within a text: it is what a message says."""


def picked(packages: Sequence[str], lines: int, seed: int) -> list[Change]:
    """Pick lines at random, each as likely as any other, and one change of each."""
    by_line: dict[tuple[Path, int], list[Change]] = {}
    for package in packages:
        for path in sorted((ROOT / "src/evenhand" / package).rglob("*.py")):
            for change in Changes(path).found:
                by_line.setdefault((path, change.line), []).append(change)
    chance = random.Random(seed)
    places = chance.sample(sorted(by_line), min(lines, len(by_line)))
    return [chance.choice(by_line[place]) for place in places]


def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Note which lines a test runs, where this is loaded into a traced run."""
    if (traced := coverage.Coverage.current()) is not None:
        traced.switch_context(item.nodeid)


class Tried:
    """A copy of the source, in which one change after another is tried."""

    def __init__(self, folder: Path, *, wide: bool) -> None:
        self._folder = folder
        self._wide = wide
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "tmp").mkdir()
        python_path = str(folder / "src")
        self._env = {**os.environ, "PYTHONPATH": python_path, "PYTHONDONTWRITEBYTECODE": "", "TMPDIR": f"{folder}/tmp"}

    def trace(self, package: str) -> coverage.CoverageData:
        """Return which tests of a package come by each line; without any change, all have to pass."""
        settings, data = self._folder / f"{package}.ini", self._folder / f"{package}.coverage"
        settings.write_text(f"[run]\ninclude = {self._folder}/src/*\ndata_file = {data}\n", encoding="utf-8")
        traced = [
            sys.executable,
            "-m",
            "coverage",
            "run",
            f"--rcfile={settings}",
            "-m",
            "pytest",
            "-p",
            "tests.mutation",
        ]
        if not self._passes([*traced, *self._options(QUICK), "-W", UNTRACED, f"tests/{package}"], cpu_seconds=600):
            sys.exit(f"without any change, tests/{package} fails")
        found = coverage.CoverageData(str(data))
        found.read()
        return found

    def noticed_by(self, change: Change, traced: coverage.CoverageData) -> str | None:
        """Return what noticed a change, None where nothing did."""
        path = self._folder / change.path.relative_to(ROOT)
        before = path.read_text(encoding="utf-8")
        try:
            path.write_text(change.applied(), encoding="utf-8")
            self._forget_compiled(path)
            return self._noticed_by(change, traced)
        finally:
            path.write_text(before, encoding="utf-8")
            self._forget_compiled(path)

    def _forget_compiled(self, path: Path) -> None:
        # A change of the same length within the same second would not be seen.
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)

    def _noticed_by(self, change: Change, traced: coverage.CoverageData) -> str | None:
        examples = f"import doctest, sys, {change.module} as m; sys.exit(doctest.testmod(m).failed > 0)"
        if not self._passes([sys.executable, "-c", examples]):
            return "examples"
        for name, tests, marks in self._stages(change, traced):
            if tests and not self._passes([sys.executable, "-m", "pytest", "-x", *self._options(marks), *tests]):
                return name
        return None

    def _options(self, marks: str) -> list[str]:
        return [
            "-q", "-p", "no:schemathesis", "-p", "no:cacheprovider", f"--basetemp={self._folder}/tmp/pytest",
            "--hypothesis-profile=fast", "--timeout=120", "-m", marks,
        ]  # fmt: skip

    def _stages(self, change: Change, traced: coverage.CoverageData) -> Iterator[tuple[str, list[str], str]]:
        measured = [path for path in traced.measured_files() if path.endswith(f"/{change.path.relative_to(ROOT)}")]
        by_line = traced.contexts_by_lineno(*measured) if measured else {}  # some are used by other packages alone
        tests = sorted({test for line in change.lines for test in by_line.get(line, ())} - {""})
        yield "tests", [f"tests/{change.package}"] if change.at_import else tests, QUICK
        if self._wide:
            yield "slow tests", [f"tests/{change.package}"], "slow and not long and not sweep"
            yield "tests elsewhere", list(map(str, self._elsewhere(change))), "not long and not sweep"

    def _elsewhere(self, change: Change) -> Iterator[Path]:
        """Yield the tests that import the module, or one that imports it."""
        users = [change.module]
        for path in (ROOT / "src/evenhand").rglob("*.py"):
            if f"from {change.module} import" in path.read_text(encoding="utf-8"):
                users += [".".join(path.relative_to(ROOT / "src").with_suffix("").parts)]
        for path in sorted((ROOT / "tests").rglob("test_*.py")):
            folder = path.relative_to(ROOT / "tests").parts[0]
            text = path.read_text(encoding="utf-8")
            if folder not in {change.package, *NOT_IN_WIDE} and any(f"from {user} import" in text for user in users):
                yield path

    def _passes(self, command: Sequence[str], *, cpu_seconds: int = MOST_CPU_SECONDS) -> bool:
        with subprocess.Popen(
            command, cwd=ROOT, env=self._env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        ) as process:  # fmt: skip
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
            try:
                return process.wait(timeout=MOST_SECONDS) in {0, 5}  # 5: there are none
            except subprocess.TimeoutExpired:
                return False
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--package", action="append", choices=PACKAGES)
    parser.add_argument("--only", type=lambda text: {int(number) for number in text.split(",")}, help="some of them")
    parser.add_argument("--wide", action="store_true", help="run the slow tests and those of other packages too")
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()

    changes = dict(enumerate(picked(given.package or PACKAGES, given.lines, given.seed), start=1))
    if given.only:
        changes = {number: change for number, change in changes.items() if number in given.only}
    print(f"seed {given.seed}: {len(changes)} changes", flush=True)
    survived: list[str] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.workers) as workers:
        free: SimpleQueue[Tried] = SimpleQueue()
        for number in range(given.workers):
            free.put(Tried(Path(folder, str(number)), wide=given.wide))
        packages = sorted({change.package for change in changes.values()})
        traced = dict(
            zip(
                packages, workers.map(lambda package: lent(free, lambda one: one.trace(package)), packages), strict=True
            )
        )
        futures = {
            number: workers.submit(
                lent, free, lambda one, change=change: one.noticed_by(change, traced[change.package])
            )
            for number, change in changes.items()
        }
        for number, future in futures.items():
            noticed = future.result()
            told = f"{number:4}  {noticed or 'NOT NOTICED':15}  {changes[number]}"
            print(told, flush=True)
            if noticed is None:
                survived.append(told)
    print(f"\n{len(changes)} tried, {len(changes) - len(survived)} noticed, {len(survived)} not:")
    print(*survived, sep="\n")


def lent(free: SimpleQueue[Tried], work: Callable[[Tried], Result]) -> Result:
    """Do some work in a copy that is free."""
    tried = free.get()
    try:
        return work(tried)
    finally:
        free.put(tried)


if __name__ == "__main__":
    main()
