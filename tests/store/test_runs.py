"""Runs are made, found, claimed, ended and deleted, in both databases."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from evenhand.domain.errors import RunBusyError, RunNotFoundError
from evenhand.domain.run import RunStatus
from evenhand.store.run_owner import SILENT_SECONDS
from evenhand.store.store import Store, open_store

# Makes a run, or claims one, says so, and lives until its standard input ends.
AT_WORK = """
import sys
from evenhand.store.store import open_store

url, wanted = sys.argv[1:]
store = open_store(url)
if wanted:
    run = store.runs.find(wanted)
    store.runs.claim(run)
else:
    run = store.runs.create(name="theirs", source=None, definition={}, options={})
print(run.id, flush=True)
sys.stdin.read()
"""

Within = Callable[..., subprocess.Popen[str]]


@contextmanager
def another_process(within: Within, url: str, wanted: str = "") -> Iterator[str]:
    """Have a process at work on a run while this is entered; it is killed then."""
    process = within(AT_WORK, url, wanted)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def owned_by(store: Store, run: Any, owner: str, *, seen: float) -> None:
    store.database.execute("UPDATE runs SET owner = ?, seen = ? WHERE number = ?", [owner, seen, run.number])


# Making


def test_a_run_comes_back_as_it_was_made(store: Store) -> None:
    definition = {"judge": "openai/x", "evaluators": [{"name": "a", "score_ranges": {0: "bad"}}], "big": 2**70 + 1}

    run = store.runs.create(
        name="refunds", source="suite.yaml", definition=definition, options={"only": ["a*"]}, repeat=3, forked_from="x"
    )

    assert (run.name, run.source, run.repeat, run.forked_from) == ("refunds", "suite.yaml", 3, "x")
    assert run.definition == {**definition, "evaluators": [{"name": "a", "score_ranges": {"0": "bad"}}]}
    assert run.options == {"only": ["a*"]}
    assert (run.status, run.cases, run.reason, run.finished) == (RunStatus.PLANNING, 0, "", None)
    assert time.time() - 60 < run.created <= time.time()


def test_a_definition_keeps_the_order_in_which_it_was_written(store: Store, made: Any) -> None:
    run = made.run(store, definition={"z": 1, "a": {"y": 1, "b": 2}})

    assert list(run.definition) == ["z", "a"]
    assert list(run.definition["a"]) == ["y", "b"]


@pytest.mark.parametrize(("given", "back"), [("a\0b", "a�b"), ("\ud800", "?"), ("?%s'\"", "?%s'\"")])
def test_any_name_and_reason_can_be_stored(store: Store, made: Any, given: str, back: str) -> None:
    run = made.run(store, name=given, source=given, definition={"name": given})

    stopped = store.runs.mark(run, RunStatus.STOPPED, given)

    assert (stopped.name, stopped.source, stopped.reason) == (back, back, back)
    assert stopped.definition == {"name": given.replace("\ud800", "?")}
    assert [one.id for one in store.runs.newest(source=given)] == [run.id]


def test_ids_differ_sort_by_time_and_can_be_typed(store: Store, made: Any) -> None:
    ids = [made.run(store).id for _ in range(50)]

    assert len(set(ids)) == 50
    assert all(re.fullmatch(r"\d{8}-\d{6}-[a-z2-9]{4}", one) for one in ids)
    assert [one[:15] for one in ids] == sorted(one[:15] for one in ids)


def test_the_number_of_a_deleted_run_is_not_given_again(store: Store, made: Any) -> None:
    run = store.runs.mark(made.run(store), RunStatus.FINISHED)
    store.runs.delete(run)

    assert made.run(store).number != run.number


# Finding


def with_id(store: Store, made: Any, identity: str) -> Any:
    run = made.run(store)
    store.database.execute(
        "UPDATE runs SET id = ?, covered = 0, checksum = NULL WHERE number = ?", [identity, run.number]
    )
    return identity


def test_a_run_is_found_by_the_beginning_of_its_id(store: Store, made: Any) -> None:
    for identity in ("20260101-aaaa", "20260102-bbbb", "20260102-bbcc"):
        with_id(store, made, identity)

    assert store.runs.find("20260101-aaaa").id == "20260101-aaaa"
    assert store.runs.find("20260101").id == "20260101-aaaa"
    assert store.runs.find("20260102-bbb").id == "20260102-bbbb"
    assert store.runs.find("last").id == "20260102-bbcc"


def test_an_id_that_others_begin_with_is_found(store: Store, made: Any) -> None:
    for identity in ("a", "ab", "abc", "abcd", "abcde"):
        with_id(store, made, identity)

    assert store.runs.find("a").id == "a"


def test_a_beginning_that_several_share_is_refused_with_them(store: Store, made: Any) -> None:
    for identity in ("20260102-bbbb", "20260102-bbcc"):
        with_id(store, made, identity)

    with pytest.raises(RunNotFoundError, match="several runs start with '20260102-b': 20260102-bbcc, 20260102-bbbb"):
        store.runs.find("20260102-b")


@pytest.mark.parametrize("wanted", ["%", "_", "a%", "_b", "a!", "!", "%%", "A", "a\0", "\udcff", "'"])
def test_a_beginning_is_taken_letter_by_letter(store: Store, made: Any, wanted: str) -> None:
    with_id(store, made, "ab")

    with pytest.raises(RunNotFoundError, match=r"no run .*; the latest are ab"):
        store.runs.find(wanted)


@pytest.mark.parametrize("identity", ["100%", "a_b", "wow!", "!%_"])
def test_an_id_with_signs_of_a_pattern_is_found(store: Store, made: Any, identity: str) -> None:
    for one in (identity, identity.replace("%", "x").replace("_", "x").replace("!", "x")):
        with_id(store, made, one)

    assert store.runs.find(identity).id == identity


def test_without_runs_the_message_says_so(store: Store) -> None:
    with pytest.raises(RunNotFoundError, match=r"no run 'a' in .*; there is none yet"):
        store.runs.find("a")
    with pytest.raises(RunNotFoundError, match=r"there is no run in .* yet; start one with: evenhand run SUITE"):
        store.runs.find("last")


def test_the_newest_come_first_of_all_or_of_one_suite(store: Store, made: Any) -> None:
    runs = [made.run(store, source=source) for source in ("a.yaml", "b.yaml", "a.yaml")]

    assert [one.number for one in store.runs.newest()] == [one.number for one in reversed(runs)]
    assert [one.number for one in store.runs.newest(2)] == [runs[2].number, runs[1].number]
    assert [one.number for one in store.runs.newest(source="a.yaml")] == [runs[2].number, runs[0].number]


# Ending


@pytest.mark.parametrize("status", list(RunStatus))
def test_a_run_that_is_not_at_work_is_let_go(store: Store, made: Any, status: RunStatus) -> None:
    run = store.runs.mark(made.run(store), status, "because", cases=7)

    assert (run.status, run.reason, run.cases) == (status, "because", 7)
    assert store.runs.in_hand(run) is (status in {RunStatus.PLANNING, RunStatus.RUNNING})
    assert (run.finished is not None) is (status is RunStatus.FINISHED)


# Claiming


@pytest.mark.slow
def test_a_run_that_a_living_process_works_on_is_busy(url: str, within: Within) -> None:
    store = open_store(url)

    with another_process(within, url) as identity:
        run = store.runs.find(identity)

        assert store.runs.in_hand(run)
        with pytest.raises(RunBusyError, match=rf"run {identity} is in use by process \d+ on "):
            store.runs.claim(run)
        with pytest.raises(RunBusyError, match=rf"run {identity} is in progress; stop it first"):
            store.runs.delete(run)
        assert store.runs.find(identity) == run

    store.close()


@pytest.mark.slow
def test_a_run_whose_process_was_killed_can_be_claimed(url: str, within: Within) -> None:
    store = open_store(url)
    with another_process(within, url) as identity:
        pass
    run = store.runs.find(identity)

    assert not store.runs.in_hand(run)
    store.runs.claim(run)
    assert store.runs.in_hand(run)

    store.close()


@pytest.mark.slow
def test_of_two_processes_only_one_gets_a_run(url: str, within: Within, made: Any) -> None:
    store = open_store(url)
    run = store.runs.mark(made.run(store), RunStatus.INTERRUPTED)

    with another_process(within, url, run.id) as first, another_process(within, url, run.id) as second:
        assert sorted([first, second]) == ["", run.id]

    store.close()


def test_the_same_process_may_claim_its_run_again(store: Store, made: Any) -> None:
    run = made.run(store)

    store.runs.claim(run)

    assert store.runs.in_hand(run)


def test_a_process_before_this_one_with_its_number_is_dead(store: Store, made: Any) -> None:
    run = made.run(store)
    ((owner,),) = store.database.rows("SELECT owner FROM runs")
    owned_by(store, run, owner.rpartition(":")[0] + ":another", seen=time.time())

    assert not store.runs.in_hand(run)
    store.runs.claim(run)


def test_another_machine_is_taken_for_dead_when_it_was_silent_for_long(store: Store, made: Any) -> None:
    run = made.run(store)
    owned_by(store, run, "elsewhere.example:1:t", seen=time.time() - SILENT_SECONDS / 2)

    with pytest.raises(RunBusyError, match=r"by process 1 on elsewhere\.example"):
        store.runs.claim(run)

    owned_by(store, run, "elsewhere.example:1:t", seen=time.time() - SILENT_SECONDS - 1)
    store.runs.claim(run)
    assert store.runs.in_hand(run)


def test_a_sign_of_life_keeps_a_run(store: Store, made: Any) -> None:
    run = made.run(store)
    owned_by(store, run, "elsewhere.example:1:t", seen=0)

    store.runs.alive(run)

    assert store.runs.in_hand(run)


@pytest.mark.parametrize("action", ["claim", "in_hand", "delete"])
def test_a_run_that_was_deleted_meanwhile_is_not_found(store: Store, made: Any, action: str) -> None:
    run = store.runs.mark(made.run(store), RunStatus.FINISHED)
    store.runs.delete(run)

    with pytest.raises(RunNotFoundError, match=run.id):
        getattr(store.runs, action)(run)


def test_previous_is_the_run_before_the_last_of_the_same_suite(store: Store) -> None:
    sources = ["/suite.yaml", "/suite.yaml", "/other.yaml", None, "/suite.yaml"]
    runs = [store.runs.create(name="suite", source=source, definition={}, options={}) for source in sources]

    assert store.runs.find("previous").id == runs[1].id


def test_of_runs_without_a_suite_previous_has_the_same_name(store: Store) -> None:
    whose = [("ours", None), ("theirs", None), ("ours", "/suite.yaml"), ("ours", None)]
    runs = [store.runs.create(name=name, source=source, definition={}, options={}) for name, source in whose]

    assert store.runs.find("previous").id == runs[0].id


@pytest.mark.parametrize(
    ("source", "whose"), [(None, "the first named 'suite'"), ("/suite.yaml", "the first of /suite.yaml")]
)
def test_where_there_is_no_previous_run_that_is_said(store: Store, source: str | None, whose: str) -> None:
    store.runs.create(name="other", source="/other.yaml", definition={}, options={})
    last = store.runs.create(name="suite", source=source, definition={}, options={})

    with pytest.raises(RunNotFoundError, match=f"there is no previous run: {last.id}, the last one, is {whose}"):
        store.runs.find("previous")


def test_where_there_is_no_run_there_is_no_previous_one(store: Store) -> None:
    with pytest.raises(RunNotFoundError, match="there is no run in"):
        store.runs.find("previous")
