"""The guards fit the code as it is, and the runner tells what it must of each."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.guards import run
from tests.guards.run import Copy, Guard, GuardError, Processes, find_moved, hold, read_guards, select

ROOT = Path(__file__).resolve().parents[2]
GUARDS = read_guards(Path(__file__).parent)

# The guards


def test_each_edit_fits_the_code_as_it_is() -> None:
    assert find_moved(GUARDS, ROOT) == []


@functools.cache
def functions_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_the_test_of_each_guard_is_there() -> None:
    tests = [guard.test.partition("[")[0].split("::") for guard in GUARDS]

    assert [f"{file}::{name}" for file, name in tests if name not in functions_in(file)] == []


def test_no_two_guards_are_alike() -> None:
    edits = Counter((guard.file, guard.old, guard.new) for guard in GUARDS)
    promises = Counter((guard.promise, guard.test) for guard in GUARDS)

    assert [key for key, count in (edits + promises).items() if count > 1] == []


def test_there_are_guards_of_promises_that_are_made_somewhere() -> None:
    rules = set(
        re.findall(r"^\| ([A-Z]+-[\w.]+) \|", (ROOT / "docs/specification.md").read_text("utf-8"), re.MULTILINE)
    )
    made = {"README", "SECURITY"} | rules

    assert len(GUARDS) >= 40
    assert [guard.promise for guard in GUARDS if guard.promise.partition(":")[0] not in made] == []
    assert [guard.name for guard in GUARDS if not guard.commit] == []


# The runner

SOURCE = '''"""Two functions."""

import math


def double(number: int) -> int:
    """Double a number."""
    return number * 2


def half(number: int) -> float:
    """Halve a number."""
    return number / math.sqrt(4)
'''
# Without what takes most of the time that pytest takes to start.
PYTEST = "[pytest]\naddopts = -p no:langsmith_plugin -p no:evenhand -p no:hypothesispytest -p no:anyio\n"
# The tree has no harness, whose workers the runner asks for where it has many tests to run.
CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--workers")
"""
TESTS = """
import tiny


def test_double():
    assert tiny.double(2) == 4


def test_half():
    assert tiny.half(tiny.double(3)) == 3
"""


def guard(name: str, old: str, new: str, *, test: str = "test_double", file: str = "src/tiny.py") -> Guard:
    return Guard(
        name=name, source="tiny.toml", promise=f"README: {name}", commit="Begin", file=file, old=old, new=new,
        test=f"tests/test_tiny.py::{test}",
    )  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a tree with one source and one file of tests."""
    root = tmp_path_factory.mktemp("tiny")
    files = {"src/tiny.py": SOURCE, "tests/conftest.py": CONFTEST, "tests/test_tiny.py": TESTS, "pytest.ini": PYTEST}
    for path, text in files.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    return root


class Ran(NamedTuple):
    code: int
    said: str


def ran(guards: list[Guard], tree: Path) -> Ran:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run.run(guards, tree)
    return Ran(code, out.getvalue())


@pytest.mark.slow
@pytest.mark.starts(6, "runs pytest on a copy of a tree, with one defect after the other")
def test_a_guard_holds_if_its_test_fails_by_the_edit_and_by_nothing_else(tree: Path, tmp_path: Path) -> None:
    copy, processes = Copy(tree, tmp_path), Processes()
    same_size = guard("same size", "number * 2", "number * 3")  # only its time tells the one file from the other
    others = [
        guard("unnoticed", "sqrt(4)", "sqrt(4.0)", test="test_half"),
        guard("uncollected", "import math\n", "raise RuntimeError\n"),
        guard("misspelt", "number * 2", "numbr * 2"),
        guard("another test", "number * 2", "number * 3", test="test_third"),
    ]

    first, again, *rest = [hold(one, copy, processes) for one in (same_size, same_size, *others)]

    assert (first.fault, first.noticed, again.noticed) == ("", "assert 6 == 4", "assert 6 == 4")
    assert [one.fault for one in rest] == [
        "passed",
        "its file could not be collected",
        "it failed by a mistake in the edit: NameError: name 'numbr' is not defined",
        "there is no such test",
    ]
    assert (copy.root / "src/tiny.py").read_text() == SOURCE


@pytest.mark.slow
@pytest.mark.starts(5, "runs pytest without any defect, and with two")
def test_guards_that_do_not_hold_are_named_with_promise_edit_and_outcome(tree: Path) -> None:
    found = ran([guard("noticed", "number * 2", "number * 3"), guard("unnoticed", "sqrt(4)", "sqrt(4.0)")], tree)

    first, *told, last = found.said.splitlines()
    assert re.fullmatch(r"without any edit, 1 test passes \(\d+ s\)", first)
    assert any(re.fullmatch(r"holds +\d+\.\d s  noticed", line) for line in told)
    start = told.index("does not hold: unnoticed (tiny.toml)")
    assert told[start + 1 : start + 7] == [
        "  promise  README: unnoticed",
        "  edit     src/tiny.py",
        "           - sqrt(4)",
        "           + sqrt(4.0)",
        "  test     tests/test_tiny.py::test_double",
        "  outcome  passed",
    ]
    assert re.fullmatch(r"1 of 2 guards do not hold, in \d+ s\.", last)
    assert found.code == 1


@pytest.mark.slow
@pytest.mark.starts(1, "runs pytest without any defect")
def test_a_test_that_fails_without_any_edit_guards_nothing(tree: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(tree, tmp_path / "broken")
    (broken / "tests/test_tiny.py").write_text(TESTS.replace("== 4", "== 5"))

    found = ran([guard("broken", "number * 2", "number * 3")], broken)

    *_, why, last = found.said.splitlines()
    assert why == "tests/test_tiny.py::test_double does not pass without any edit: failed: assert 4 == 5"
    assert last == "No guard was held: a test that fails anyway notices nothing."
    assert found.code == 1


def test_a_guard_whose_text_is_gone_fails_before_anything_runs(tree: Path) -> None:
    found = ran(
        [
            guard("gone", "number * 4", "number"),
            guard("twice", "number: int", "number: str"),
            guard("away", "a", "b", file="src/large.py"),
            guard("same", "number * 2", "number * 2"),
            guard("torn", "return number * 2", "return number *"),
        ],
        tree,
    )

    *told, last = found.said.splitlines()
    assert found.code == 1
    assert last == "5 of 5 guards cannot be held."
    assert [line.partition(":")[0] for line in told] == [
        f"{name} (tiny.toml)" for name in ("gone", "twice", "away", "same", "torn")
    ]
    assert "no longer in src/tiny.py, where it is expected once. Whoever moved the code renews the guard." in told[0]
    assert "2 times in src/tiny.py" in told[1]
    assert "src/large.py is not there. Whoever moved the code renews the guard." in told[2]
    assert "its new text is the old one" in told[3]
    assert "with its edit, src/tiny.py is no Python" in told[4]


def test_a_file_of_guards_that_is_wrong_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[first]\npromise = "README: x"\n')
    with pytest.raises(GuardError, match=r"first \(a.toml\): a guard has promise, commit, file, old, new and test"):
        read_guards(tmp_path)

    whole = '[first]\npromise = "p"\ncommit = "c"\nfile = "f"\nold = "o"\nnew = "n"\ntest = "t"\n'
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(whole)
    with pytest.raises(GuardError, match=r"first \(b.toml\): a.toml has a guard of this name too"):
        read_guards(tmp_path)


def test_guards_are_chosen_by_words_of_their_name_or_promise() -> None:
    guards = [guard("lease", "a", "b"), guard("cache-key", "a", "b")]

    assert [one.name for one in select(guards, ["README: lea", "key"])] == ["lease", "cache-key"]
    assert select(guards, []) == guards
    with pytest.raises(GuardError, match="no guard has 'lock' in its name or promise"):
        select(guards, ["lease", "lock"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
@pytest.mark.starts(1, "interrupts the runner itself")
def test_an_interrupted_runner_ends_its_tests_and_leaves_the_tree_as_it_was(tree: Path, tmp_path: Path) -> None:
    """The defect tells the number of its process through a pipe, and then waits for ever."""
    begun, copies, guards = tmp_path / "begun", tmp_path / "copies", tmp_path / "guards"
    os.mkfifo(begun)
    copies.mkdir()
    guards.mkdir()
    waits = f'(open({str(begun)!r}, "w").write(str(__import__("os").getpid())), __import__("signal").pause())'
    (guards / "tiny.toml").write_text(
        '[waiting]\npromise = "README: waiting"\ncommit = "Begin"\nfile = "src/tiny.py"\nold = "number * 2"\n'
        f"new = '''{waits}'''\n"
        'test = "tests/test_tiny.py::test_double"\n'
    )

    runner = subprocess.Popen(
        [sys.executable, "-m", "tests.guards.run", "--tree", str(tree), "--guards", str(guards)],
        cwd=ROOT, env=os.environ | {"TMPDIR": str(copies)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    test = int(begun.read_text())
    runner.send_signal(signal.SIGINT)
    said, _ = runner.communicate()

    assert runner.returncode == 130
    assert said.splitlines()[-1] == "Interrupted: 0 of 1 guards had held. The tree is as it was."
    assert list(copies.iterdir()) == []
    assert (tree / "src/tiny.py").read_text() == SOURCE
    with pytest.raises(ProcessLookupError):
        os.kill(test, 0)
