"""Commands on real Ray: interrupted, on a cluster whose node is taken away, and beside what they find without it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.marked import marked

from evenhand.domain.exit_code import ExitCode
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.store.store import open_store

Suite = Callable[..., Path]

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc"),
]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return {**kept, "OPENAI_API_KEY": "sk-test", **more}


def command(*arguments: str, folder: Path, **more: str) -> subprocess.Popen[str]:
    """Start a command as a shell does: in a group of processes of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "evenhand", *arguments],
        cwd=folder,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def done(process: subprocess.Popen[str], code: int = 0) -> str:
    out, err = process.communicate(timeout=300)
    assert process.returncode == code, (process.returncode, out, err)
    return out + err


def newest(database: Path) -> tuple[RunRecord, int]:
    """Return the last run, and how many evaluations the store has of it."""
    store = open_store(str(database))
    (run,) = store.runs.newest(1)
    ((rows,),) = store.database.rows("SELECT COUNT(*) FROM evaluations")
    store.close()
    return run, rows


def report(database: str, folder: Path) -> str:
    return done(command("report", "last", "--canonical", "--db", database, folder=folder))


def asking(provider: Any) -> dict[str, Any]:
    judge = {"model": "openai/judge", "base_url": provider.url}
    return {"judge": judge, "evaluators": [{"name": "quality", "type": "llm_judge"}]}


def interrupt(process: subprocess.Popen[str]) -> None:
    """Press Ctrl-C, which all processes of the command hear."""
    os.killpg(process.pid, signal.SIGINT)


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Make a folder for what commands leave, apart from what other tests have; paths of sockets must be short."""
    with tempfile.TemporaryDirectory(prefix="eh-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.mark.starts(8, "interrupts commands")
def test_ctrl_c_drains_and_a_second_one_ends_at_once(suite: Suite, provider: Any, temporary: Path) -> None:
    path = suite(120, **asking(provider))
    on = ("--on", "ray", "--workers", "2", "--db", "ray.db", "-j", "8", "--quiet")
    provider.most = 20
    mark = uuid.uuid4().hex
    process = command("run", path.name, *on, folder=path.parent, EVENHAND_TEST_MARK=mark, TMPDIR=str(temporary))
    assert provider.wait_for(28, seconds=120)
    interrupt(process)
    while not newest(path.parent / "ray.db")[1]:
        time.sleep(0.05)
    interrupt(process)  # while eight wait for their replies
    assert "stopped at once; resume with: evenhand resume" in done(process, ExitCode.INTERRUPTED)
    while any(marked(mark)):  # workers outlast it by a moment
        time.sleep(0.05)
    left = list(temporary.glob("evenhand-ray-*/owner"))
    _, kept = newest(path.parent / "ray.db")

    asked = len(provider.calls)
    provider.most = asked + 20
    process = command("resume", "last", *on, folder=path.parent, TMPDIR=str(temporary))
    assert provider.wait_for(asked + 28, seconds=120)
    interrupt(process)
    provider.most = None
    done(process, ExitCode.INTERRUPTED)
    run, rows = newest(path.parent / "ray.db")
    assert (run.status, rows) == (RunStatus.INTERRUPTED, kept + len(provider.calls) - asked)  # all that was asked
    assert len(left) == 1
    assert not left[0].exists()  # what the command that ended at once had left

    done(command("resume", "last", "--db", "ray.db", "--quiet", folder=path.parent))
    assert newest(path.parent / "ray.db")[1] == 120
    assert len(provider.calls) == 120 + asked - kept
    done(command("run", path.name, "--db", "alone.db", "--quiet", folder=path.parent))
    assert report("ray.db", path.parent) == report("alone.db", path.parent)


TOKEN = "t" * 32


@contextlib.contextmanager
def two_nodes(folder: Path, *sizes: str, **more: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """Start a cluster of two nodes, and give its address, and what takes one of them away."""
    program = [sys.executable, str(Path(__file__).with_name("two_nodes.py")), str(folder), *sizes]
    variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    variables["RAY_TMPDIR"] = str(folder)
    (folder / "ray").mkdir()  # it notes its address in there, and makes no folder for that
    with subprocess.Popen(
        program, env=environment(**variables, **more), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as nodes:
        assert nodes.stdin
        assert nodes.stdout
        address = nodes.stdout.readline().strip()
        assert address, "the cluster did not start"

        def take_away() -> None:
            assert nodes.stdin
            assert nodes.stdout
            print(file=nodes.stdin, flush=True)
            assert nodes.stdout.readline().strip() == "gone"

        try:
            yield address, take_away
        finally:
            nodes.stdin.close()


@pytest.mark.starts(8, "starts two nodes, and commands")
def test_a_cluster_gets_the_files_of_the_suite_and_loses_a_node(suite: Suite, provider: Any) -> None:
    target = {"python": "shop:answer"}
    path = suite(240, **asking(provider), target=target)
    rows = json.loads(path.read_text())
    for case in rows["cases"]:
        del case["candidate_answer"]
    path.write_text(json.dumps(rows))
    (path.parent / "shop.py").write_text("from words import said\n\ndef answer(case):\n    return said(case)\n")
    (path.parent / "words.py").write_text("def said(case):\n    return f'Answer to {case.id}.'\n")
    (path.parent / "secret.env").write_text("OPENAI_API_KEY=sk-secret-file")
    on = ("--on", "ray", "--db", "ray.db", "-j", "8")
    with tempfile.TemporaryDirectory(prefix="eh-") as folder, two_nodes(Path(folder)) as (address, take_away):
        there = {"RAY_ADDRESS": address, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
        lacking = command("run", path.name, *on, "--worker-env", "NOBODY_HAS_IT", folder=path.parent, **there)
        assert "on a worker: NOBODY_HAS_IT is not set on" in done(lacking, ExitCode.USAGE)

        provider.most = 90
        process = command("run", path.name, *on, folder=path.parent, **there)
        assert provider.wait_for(95, seconds=120)
        take_away()
        provider.most = None
        assert "on Ray: 2 workers on 2 nodes" in done(process)

        files = [each for each in Path(folder).rglob("*") if each.is_file() and not each.is_symlink()]
        assert any(each.name == "words.py" for each in files)
        assert not any(each.name in ("secret.env", "ray.db") for each in files)
        for secret in (b"sk-test", b"sk-secret-file", TOKEN.encode()):
            assert [str(each) for each in files if secret in each.read_bytes()] == []

    done(command("run", path.name, "--db", "alone.db", "--quiet", folder=path.parent))
    assert newest(path.parent / "ray.db")[1] == 240
    assert report("ray.db", path.parent) == report("alone.db", path.parent)
