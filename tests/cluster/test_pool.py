"""Who gets which samples of a run: no worker queues more than its share, and nothing waits for one that never begins."""

from __future__ import annotations

from evenhand.cluster.pool import Held, Pool


def pool_of(samples: int, *, workers: int, places: int) -> Pool[str]:
    source = (Held(number, (number, "", 1, "{}"), 0, {0: 0}) for number in range(samples))
    return Pool(source, repeat=1, samples=samples, workers=workers, places=places)


def finish(pool: Pool[str], owner: str, numbers: list[int]) -> None:
    for number in numbers:
        held = pool.held_of(owner, number, 0)
        assert held is not None
        held.todo.clear()
    pool.end(owner, numbers)


def test_a_worker_that_begins_late_gets_its_share() -> None:
    pool = pool_of(40, workers=3, places=10)

    early = [len(pool.take(owner, 20)) for owner in ("a", "b", "a", "b", "a", "b")]
    late = pool.take("c", 20)

    assert early == [14, 14, 0, 0, 0, 0]
    assert len(late) == 12


def test_those_that_have_begun_do_everything_if_another_never_does() -> None:
    pool = pool_of(40, workers=3, places=4)
    judged: list[int] = []

    while not pool.is_over:
        numbers = [item.number for item in pool.take("a", 8)]
        judged += numbers
        finish(pool, "a", numbers)

    assert judged == list(range(40))


def test_the_last_samples_are_not_queued_behind_others() -> None:
    pool = pool_of(100, workers=2, places=2)
    first = [item.number for item in pool.take("a", 40)]
    second = [item.number for item in pool.take("b", 56)]
    finish(pool, "b", second[:48])

    assert (len(first), len(second)) == (40, 50)
    assert len(pool.take("b", 50)) == 10  # all that nobody has: it holds twelve, of 52 that are unfinished
    finish(pool, "a", first)
    assert pool.take("a", 50) == []


def test_what_comes_back_undone_is_still_unfinished() -> None:
    pool = pool_of(12, workers=2, places=1)
    taken = [item.number for item in pool.take("a", 12)]
    pool.end("a", taken)

    assert len(taken) == 6
    assert len(pool.take("a", 12)) == 6
    assert len(pool.take("b", 12)) == 6
