"""The command `evenhand` itself, without any verb."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.warm import WarmEvenhand

import evenhand.version
from evenhand.cli.main import COLLECT_AFTER

COMMAND = [str(Path(sys.executable).with_name("evenhand"))]
MODULE = [sys.executable, "-m", "evenhand"]
both = pytest.mark.parametrize("program", [COMMAND, MODULE], ids=["command", "module"])


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


@both
def test_it_tells_its_version(program: list[str]) -> None:
    done = run(*program, "--version")

    assert (done.returncode, done.stdout, done.stderr) == (0, f"evenhand {evenhand.version.__version__}\n", "")


def test_it_explains_itself() -> None:
    done = run(*COMMAND, "--help")

    assert done.returncode == 0
    assert "Usage: evenhand [OPTIONS] COMMAND" in done.stdout
    assert done.stderr == ""


def test_without_a_verb_it_explains_itself_as_a_usage_error() -> None:
    done = run(*MODULE)

    assert done.returncode == 2
    assert "Usage: evenhand [OPTIONS] COMMAND" in done.stdout + done.stderr


def test_a_verb_it_does_not_have_is_a_usage_error(warm: WarmEvenhand) -> None:
    done = warm.run("jugde")

    assert done.returncode == 2
    assert "No such command 'jugde'" in done.stderr


IMPORTING = """
import sys
import evenhand.cli.main
heavy = {"httptools", "jsonschema_rs", "numpy", "orjson", "rich", "sqlite3", "yaml"}
assert not heavy & sys.modules.keys(), f"the command line loaded {heavy & sys.modules.keys()}"
"""


RANKING = """
import json, re, sys
import evenhand.cli.commands.profiles
import evenhand.cli.runs.start

def judge(messages):
    shown = re.findall(r"<profile_([A-Z])", messages[-1]["content"])
    return json.dumps({"reasoning": "", "order": shown})

profiles = [{"id": name, "text": name * 3} for name in "abc"]
evenhand.rank(profiles, criteria="Worth", judge=judge, store=None).report()
heavy = {"evenhand.suites.suite", "numpy.ma", "yaml"}
assert not heavy & sys.modules.keys(), f"a ranking loaded {heavy & sys.modules.keys()}"
"""


@pytest.mark.parametrize("code", [IMPORTING, RANKING], ids=["the command line", "a ranking"])
def test_the_heavy_parts_are_loaded_by_the_verbs_that_need_them(code: str) -> None:
    done = run(sys.executable, "-c", code)

    assert done.stderr == ""


def test_it_looks_for_cycles_of_garbage_less_often_than_python_does() -> None:
    code = "import gc, sys, evenhand.cli; sys.exit = print; evenhand.cli.main(); print(gc.get_threshold()[0])"

    done = run(sys.executable, "-c", code, "--version")

    assert done.stdout.splitlines()[-1] == str(COLLECT_AFTER)


HEAPS = """
import ctypes, sys, threading, evenhand.cli
sys.exit = print
evenhand.cli.main()
together = threading.Barrier(4)
def allocate():
    kept = [bytes(1000) for _ in range(1000)]
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has a heap for each thread")
@pytest.mark.parametrize(("setting", "heaps"), [(None, 1), ("3", 3)])
def test_all_threads_share_one_heap_unless_somebody_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, setting: str | None, heaps: int
) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    if setting is not None:
        monkeypatch.setenv("MALLOC_ARENA_MAX", setting)

    done = run(sys.executable, "-c", HEAPS, "--version")

    assert done.stdout.count("<heap nr=") == heaps
