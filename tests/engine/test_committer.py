"""Nothing is done before its commit has returned, and what could not be committed reaches everybody concerned."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.errors import StoreError
from evenhand.engine.committer import GATHER_SECONDS, Committer
from evenhand.store import migrations
from evenhand.store.rows import Batch
from evenhand.store.sqlite import SQLite
from evenhand.store.store import Store, open_store


class Watched(Store):
    """A store that notes its commits, and can be made to wait within one, or to fail."""

    def __init__(self, path: Path, *, quick: bool) -> None:
        database = type("Remote", (SQLite,), {"quick": quick})(str(path))
        migrations.migrate(database, migrations.known())
        super().__init__(database)
        self.batches: list[Batch] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self.fails: Exception | None = None

    def commit(self, batch: Batch) -> None:
        assert self.go_on.wait(60)
        self.batches.append(batch)
        if self.fails is not None:
            raise self.fails
        super().commit(batch)


@pytest.fixture(params=[True, False], ids=["on the loop", "in a thread"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched]:
    watched = Watched(tmp_path / "runs.db", quick=request.param)
    watched.runs.create(name="x", source=None, definition={}, options={})
    yield watched
    watched.close()


def answers(position: int) -> tuple[tuple[Any, ...], ...]:
    return ((1, position, 0, 0, "{}"),)


def committed(store: Store) -> int:
    reader = open_store(store.database.where)
    ((count,),) = reader.database.rows("SELECT COUNT(*) FROM answers")
    reader.close()
    return int(count)


def test_whoever_hands_in_rows_waits_until_they_are_committed(store: Watched) -> None:
    async def hand_in() -> list[int]:
        committer = Committer(store)
        seen = []
        for position in range(3):
            await committer.commit(answers=answers(position))
            seen.append(committed(store))
        return seen

    assert asyncio.run(hand_in()) == [1, 2, 3]


def test_what_comes_together_is_committed_together(store: Watched) -> None:
    async def hand_in() -> None:
        committer = Committer(store)
        await asyncio.gather(*(committer.commit(answers=answers(position)) for position in range(50)))

    asyncio.run(hand_in())

    assert [len(batch) for batch in store.batches] == [50]
    assert committed(store) == 50


def test_rows_of_all_kinds_go_into_one_transaction(store: Watched) -> None:
    evaluation = (1, 0, 0, 0, 0, "e", "k", "scored", 1.0, "pass", 1.0, 0, None, 0.5, "{}")

    async def hand_in() -> None:
        await Committer(store).commit(
            answers=answers(0), evaluations=(evaluation,), replies=[("key", "model", 1.0, "{}")]
        )

    asyncio.run(hand_in())

    assert len(store.batches) == 1
    for table in ("answers", "evaluations", "replies"):
        assert store.database.rows(f"SELECT COUNT(*) FROM {table}") == [(1,)]


def test_a_commit_that_fails_is_told_of_before_anybody_goes_on(store: Watched) -> None:
    told: list[str] = []

    async def hand_in() -> list[str]:
        committer = Committer(store, failed=lambda error: told.append(str(error)))
        with pytest.raises(StoreError):
            await committer.commit(answers=((404, 0, 0, 0, "{}"),))
        return list(told)

    (before_anybody_went_on,) = asyncio.run(hand_in())

    assert "FOREIGN KEY" in before_anybody_went_on


def test_what_comes_while_a_commit_is_under_way_goes_into_the_next(tmp_path: Path) -> None:
    store = Watched(tmp_path / "slow.db", quick=False)
    store.runs.create(name="x", source=None, definition={}, options={})

    async def hand_in() -> None:
        committer = Committer(store)
        store.go_on.clear()
        first = asyncio.create_task(committer.commit(answers=answers(0)))
        await asyncio.sleep(GATHER_SECONDS * 4)
        later = [asyncio.create_task(committer.commit(answers=answers(position))) for position in (1, 2)]
        await asyncio.sleep(GATHER_SECONDS * 4)
        assert not first.done()
        assert not any(one.done() for one in later)
        store.go_on.set()
        await asyncio.gather(first, *later)

    asyncio.run(hand_in())

    assert [len(batch) for batch in store.batches] == [1, 2]
    assert committed(store) == 3
    store.close()


def test_a_commit_that_fails_is_told_to_everybody_in_it(store: Watched) -> None:
    async def hand_in() -> list[Any]:
        committer = Committer(store)
        store.fails = StoreError("disk is full")
        lost = await asyncio.gather(*(committer.commit(answers=answers(n)) for n in range(5)), return_exceptions=True)
        store.fails = None
        await committer.commit(answers=answers(9))  # and the next one works
        return lost

    lost = asyncio.run(hand_in())

    assert [str(one) for one in lost] == ["disk is full"] * 5
    assert committed(store) == 1


def test_who_does_not_wait_any_more_does_not_keep_the_others_from_it(store: Watched) -> None:
    async def hand_in() -> None:
        committer = Committer(store)
        tasks = [asyncio.create_task(committer.commit(answers=answers(position))) for position in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.gather(tasks[0], tasks[2])

    asyncio.run(hand_in())

    assert committed(store) == 3  # handed in is handed in


def test_what_was_handed_in_can_be_waited_for(store: Watched) -> None:
    async def hand_in() -> int:
        committer = Committer(store)
        task = asyncio.create_task(committer.commit(answers=answers(0)))
        await asyncio.sleep(0)
        task.cancel()
        await committer.settle()
        return committed(store)

    assert asyncio.run(hand_in()) == 1


def test_with_nothing_handed_in_there_is_nothing_to_wait_for(store: Watched) -> None:
    asyncio.run(Committer(store).settle())

    assert store.batches == []
