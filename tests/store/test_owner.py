"""A process is known by more than its number, which others get after it; where nothing is certain, its silence decides."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.errors import RunBusyError
from evenhand.store.run_owner import SILENT_SECONDS, Owner, this_process
from evenhand.store.store import Store

NOW = 5.0
LONG_AGO = SILENT_SECONDS + 1
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def child() -> Any:
    """A process that lives until the test ends."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def ago(seconds: float) -> float:
    return time.time() - seconds


def test_this_process_lives_however_silent() -> None:
    assert this_process().lives(None)
    assert Owner.read(this_process().text) == this_process()


@on_linux
def test_a_process_that_got_the_number_of_another_is_not_it(child: Any) -> None:
    before = this_process()._replace(process=child.pid, started="1", token="another")

    assert not before.lives(ago(NOW))


@on_linux
def test_a_living_process_keeps_its_run_however_silent(child: Any) -> None:
    seconds = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]

    assert this_process()._replace(process=child.pid, started=seconds, token="another").lives(ago(LONG_AGO))


@on_linux
def test_a_process_that_ended_is_dead_though_nobody_has_asked_for_its_exit_code() -> None:
    child = subprocess.Popen([sys.executable, "-c", "print('ended')"], stdout=subprocess.PIPE)
    known = this_process()._replace(process=child.pid, token="another")
    deadline = time.monotonic() + 60
    while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline

    lives = known.lives(ago(NOW))

    child.communicate()
    assert not lives


@pytest.mark.parametrize("process", [1, None])
def test_in_containers_that_share_host_names_and_numbers_silence_decides(process: int | None) -> None:
    me = this_process()
    elsewhere = me._replace(machine="another/1", process=process or me.process, started="1", token="another")

    assert elsewhere.lives(ago(NOW))
    assert not elsewhere.lives(ago(LONG_AGO))


def test_what_older_versions_wrote_is_understood(child: Any) -> None:
    host = this_process().host
    living, gone, mine = (Owner.read(f"{host}:{number}:t") for number in (child.pid, 2**22 + 1, this_process().process))

    assert living.words == f"process {child.pid} on {host}"
    assert (living.lives(ago(NOW)), living.lives(ago(LONG_AGO))) == (True, False)  # the number may be another's by now
    assert not gone.lives(ago(NOW))
    assert (mine.lives(ago(NOW)), mine.lives(ago(LONG_AGO))) == (True, False)  # as in a container that was started anew
    assert Owner.read("elsewhere:1:t").lives(ago(NOW))
    assert not Owner.read("nonsense").lives(None)


def test_a_run_whose_owners_number_was_given_again_can_be_claimed(store: Store, made: Any, child: Any) -> None:
    run = made.run(store)
    before = this_process()._replace(process=child.pid, started="1", token="another")
    sql = "UPDATE runs SET owner = ?, seen = ? WHERE number = ?"
    store.database.execute(sql, [before.text, ago(NOW), run.number])

    store.runs.claim(run)

    assert store.runs.in_hand(run)


def test_a_run_of_an_older_version_is_free_when_its_process_was_silent(store: Store, made: Any, child: Any) -> None:
    run = made.run(store)
    sql = "UPDATE runs SET owner = ?, seen = ? WHERE number = ?"
    owner = f"{this_process().host}:{child.pid}:t"
    store.database.execute(sql, [owner, ago(NOW), run.number])
    with pytest.raises(RunBusyError, match=f"is in use by process {child.pid} on "):
        store.runs.claim(run)

    store.database.execute(sql, [owner, ago(LONG_AGO), run.number])
    store.runs.claim(run)

    assert store.runs.in_hand(run)
