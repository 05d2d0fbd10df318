"""Killed at any moment and resumed, a run ends as if nothing had happened (SPEC-S3, REL-D1)."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.harness.warm import Started, WarmEvenhand

from evenhand.domain.early_decision import UNTIL_DECIDED, UntilDecided, stopped_decided
from evenhand.domain.exit_code import ExitCode
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.job import Scope
from evenhand.engine.plan import plan
from evenhand.store.sqlite import SQLite
from evenhand.store.store import Store, open_store
from evenhand.suites.suite import job_of, read_suite

AT_ONCE = 32
Process: TypeAlias = "subprocess.Popen[str] | Started"
Start: TypeAlias = Callable[..., Process]


def write_suite(folder: Path, port: int, cases: int) -> Path:
    header = {
        "judge": {"model": "openai/judge", "base_url": f"http://127.0.0.1:{port}/v1", "api_key": "${CANARY_KEY}"},
        "evaluators": [{"name": "quality", "type": "llm_judge"}],
        "cases": "cases.jsonl",
    }
    (folder / "suite.yaml").write_text(json.dumps(header))
    with (folder / "cases.jsonl").open("w") as file:
        for number in range(cases):
            case = {"id": f"c{number}", "input": f"What is {number}?", "candidate_answer": f"It is {number}."}
            file.write(json.dumps({**case, "reference_answer": f"{number}"}) + "\n")
    return folder / "suite.yaml"


def new_process(*arguments: object, folder: Path) -> subprocess.Popen[str]:
    """Start a command in a process that begins by loading Python."""
    command = [sys.executable, "-m", "evenhand", *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def fork(warm: WarmEvenhand) -> Iterator[Start]:
    """Start a command in a process that has loaded everything: most of what is killed is past that."""
    with contextlib.ExitStack() as ending:
        yield lambda *arguments, folder: ending.enter_context(warm.start(*map(str, arguments), cwd=folder))


def ended(process: Process, code: int = 0) -> str:
    out, err = process.communicate(timeout=900)
    assert process.returncode == code, (process.returncode, out, err)
    return out


def canonical(database: str, folder: Path, start: Start) -> str:
    return ended(start("report", "last", "--canonical", "--db", database, folder=folder))


def has_run(database: str) -> bool:
    store = open_store(database)
    try:
        return bool(store.runs.newest(1))
    finally:
        store.close()


def rows_in(database: str) -> int:
    """Return how many evaluations are stored."""
    with contextlib.closing(open_store(database)) as store:
        ((rows,),) = store.database.rows("SELECT COUNT(*) FROM evaluations")
        return int(rows)


def go_on(database: str, suite: Path, start: Start, at_once: int = AT_ONCE) -> Any:
    begin: tuple[object, ...] = ("resume", "last") if has_run(database) else ("run", suite)
    return start(*begin, "--db", database, "-j", at_once, "--quiet", folder=suite.parent)


def run_and_kill(
    database: str, suite: Path, provider: Any, start: Start, *, kills: int, cases: int, chance: random.Random
) -> int:
    """Run to the end, killed so many times: when some is stored, between calls, or at any moment. Tell how often.

    However fast the machine is, no more is done between two kills than leaves something to do for those that follow.
    """
    killed = 0
    step = cases / (kills + 1)
    while killed < kills:
        before = len(provider.calls)
        provider.most = before + int(0.9 * step)
        stored = rows_in(database) if before else 0
        process = go_on(database, suite, start)
        if killed % 2 == 0:
            assert provider.wait_for(before + 1, seconds=60)
            while rows_in(database) == stored:
                time.sleep(0.002)
        elif chance.random() < 0.4:
            provider.wait_for(provider.most, seconds=chance.uniform(0.05, 1.0))  # while it loads, or looks what is left
        else:
            provider.wait_for(before + int(chance.uniform(0.2, 0.9) * step), seconds=60)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if process.returncode != -signal.SIGKILL:  # it was faster
            return killed
        killed += 1
    provider.most = None
    ended(go_on(database, suite, start))
    return killed


def check(
    database: str,
    suite: Path,
    provider: Any,
    fork: Start,
    *,
    kills: int,
    cases: int,
    seed: int,
    start: Start | None = None,
) -> None:
    """Run a suite undisturbed, and with kills of processes that are started so; both must find the same."""
    calm = f"{suite.parent / 'calm.db'}"
    ended(fork("run", suite, "--db", calm, "-j", AT_ONCE, "--quiet", folder=suite.parent))
    expected = canonical(calm, suite.parent, fork)
    assert len(provider.calls) == cases
    provider.calls.clear()

    chance = random.Random(seed)
    killed = run_and_kill(database, suite, provider, start or fork, kills=kills, cases=cases, chance=chance)

    store = open_store(database)
    store.database.check()
    (run,) = store.runs.newest()
    results = list(store.results(run))
    store.close()
    assert killed == kills
    assert [result.id for result in results] == [f"c{number}" for number in range(cases)]
    assert all(len(result.judgments) == 1 and not result.pending for result in results)
    assert cases <= len(provider.calls) <= cases + kills * AT_ONCE
    assert provider.most_in_flight <= 2 * AT_ONCE  # those of a dead process may still be under way
    assert canonical(database, suite.parent, fork) == expected


def suspend(process: subprocess.Popen[str], store: Store) -> None:
    """Suspend a process between two transactions: within one it would hold its locks, and others could only wait."""
    while True:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        if not holds_locks(store):
            return
        process.send_signal(signal.SIGCONT)


def holds_locks(store: Store) -> bool:
    """Return whether another process is in the middle of a transaction."""
    if isinstance(store.database, SQLite):
        try:
            with contextlib.closing(sqlite3.connect(store.database.where, timeout=0, isolation_level=None)) as database:
                database.execute("BEGIN IMMEDIATE")
                database.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return True
        return False
    others = "FROM pg_stat_activity WHERE application_name = 'evenhand' AND pid <> pg_backend_pid()"
    # The server does what it was asked for, unless it waits for the process to take what it asked for, or to ask on.
    busy = f"SELECT 1 {others} AND state = 'active' AND wait_event_type IS DISTINCT FROM 'Client'"
    while store.database.rows(busy):
        time.sleep(0.01)
    writing = "(state LIKE 'idle in transaction%' OR backend_xid IS NOT NULL)"
    return bool(store.database.rows(f"SELECT 1 {others} AND {writing}"))


def check_taken_over(database: str, suite: Path, provider: Any, fork: Start, *, cases: int) -> None:
    """Suspend a process in the middle of its run, let another go on with that, and wake the first one up."""
    calm = f"{suite.parent / 'calm.db'}"
    ended(fork("run", suite, "--db", calm, "-j", AT_ONCE, "--quiet", folder=suite.parent))
    expected = canonical(calm, suite.parent, fork)
    provider.calls.clear()
    first = go_on(database, suite, new_process)
    try:
        assert provider.wait_for(1, seconds=60)
        store = open_store(database)
        assert provider.wait_for(cases // 2, seconds=60)
        suspend(first, store)
        while provider.in_flight:  # what was under way is on its way back
            time.sleep(0.01)
        # As if it were on another machine, and had not been heard of for long.
        store.database.execute("UPDATE runs SET owner = 'elsewhere:1:1:another/1:t', seen = 0")
        store.close()
        second = go_on(database, suite, fork)
        assert provider.wait_for(cases // 2 + AT_ONCE, seconds=60)
    finally:
        first.send_signal(signal.SIGCONT)
    _, told = first.communicate(timeout=300)
    ended(second)

    store = open_store(database)
    (run,) = store.runs.newest()
    results = list(store.results(run))
    ((rows,),) = store.database.rows("SELECT COUNT(*) FROM evaluations")
    store.close()
    assert (first.returncode, "Traceback" in told) == (1, False)
    assert f"run {run.id} was taken over by process {second.pid} on " in told
    assert rows == len(results) == cases
    assert cases <= len(provider.calls) <= cases + AT_ONCE
    assert canonical(database, suite.parent, fork) == expected


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_process_that_was_silent_and_taken_over_stops_when_it_wakes(
    tmp_path: Path, provider: Any, fork: Start
) -> None:
    suite = write_suite(tmp_path, provider.port, 800)

    check_taken_over(str(tmp_path / "shared.db"), suite, provider, fork, cases=800)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.group("postgres-long")
@pytest.mark.parametrize(
    "cases", [pytest.param(800, id="sample"), pytest.param(2000, id="all", marks=pytest.mark.sweep)]
)
def test_a_process_that_was_silent_and_taken_over_stops_when_it_wakes_in_postgresql(
    tmp_path: Path, provider: Any, postgres_url: str, fork: Start, cases: int
) -> None:
    suite = write_suite(tmp_path, provider.port, cases)

    check_taken_over(postgres_url, suite, provider, fork, cases=cases)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("cases", "kills", "seed"),
    [
        pytest.param(400, 3, 4, id="sample"),
        pytest.param(2000, 10, 1, marks=pytest.mark.sweep),
    ],
)
def test_cases_survive_kills(tmp_path: Path, provider: Any, fork: Start, cases: int, kills: int, seed: int) -> None:
    suite = write_suite(tmp_path, provider.port, cases)

    check(str(tmp_path / "killed.db"), suite, provider, fork, kills=kills, cases=cases, seed=seed)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("cases", "kills", "seed"),
    [
        pytest.param(600, 4, 5, id="sample", marks=pytest.mark.long),
        pytest.param(10_000, 50, 2, marks=pytest.mark.sweep),
    ],
)
@pytest.mark.starts(8, "kills new processes")
def test_cases_survive_kills_of_new_processes_which_load_meanwhile(
    tmp_path: Path, provider: Any, fork: Start, cases: int, kills: int, seed: int
) -> None:
    suite = write_suite(tmp_path, provider.port, cases)

    killed = str(tmp_path / "killed.db")
    check(killed, suite, provider, fork, kills=kills, cases=cases, seed=seed, start=new_process)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.group("postgres-long")
@pytest.mark.parametrize(
    ("cases", "kills"), [pytest.param(600, 4, id="sample"), pytest.param(2000, 10, id="all", marks=pytest.mark.sweep)]
)
def test_cases_survive_kills_in_postgresql(
    tmp_path: Path, provider: Any, postgres_url: str, fork: Start, cases: int, kills: int
) -> None:
    suite = write_suite(tmp_path, provider.port, cases)

    check(postgres_url, suite, provider, fork, kills=kills, cases=cases, seed=3)


# Until the gates are decided


def planned_until_decided(database: str, suite: Path, *, seed: int) -> None:
    """Plan a run that stops when its gates are decided, with the order of its cases drawn by that seed."""
    store = open_store(database)
    run = plan(store, job_of(read_suite(suite)), Scope(until_decided=UntilDecided(seed=seed)))
    store.runs.mark(run, RunStatus.STOPPED)  # so that another process may have it
    store.close()


def decided(database: str, suite: Path, fork: Start) -> RunRecord:
    """Go on with a run until its gates are decided, and return it."""
    ended(go_on(database, suite, fork, 8), ExitCode.GATE_FAILED)
    store = open_store(database)
    (run,) = store.runs.newest()
    store.close()
    return run


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_run_is_decided_as_an_undisturbed_one(tmp_path: Path, provider: Any, fork: Start) -> None:
    # Three of eleven scores pass, and the mean is a half: with this order, it takes more than a hundred cases.
    suite = write_suite(tmp_path, provider.port, 600)
    gates = {"min_pass_rate": 0.45, "min_mean": 0.4}
    suite.write_text(json.dumps(json.loads(suite.read_text()) | {"gates": gates}))
    calm, disturbed = str(tmp_path / "calm.db"), str(tmp_path / "killed.db")
    for database in (calm, disturbed):
        planned_until_decided(database, suite, seed=2)
    expected = decided(calm, suite, fork)

    for calls in (1, 40, 40):
        process = go_on(disturbed, suite, fork, 8)
        assert provider.wait_for(len(provider.calls) + calls, seconds=120)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    run = decided(disturbed, suite, fork)

    assert stopped_decided(run)
    assert stopped_decided(expected)
    assert run.options == expected.options
    assert run.reason == expected.reason
    after = {gate["name"]: gate["after"] for gate in run.options[UNTIL_DECIDED]["gates"]}
    assert 100 < after["min_pass_rate"] < 600
