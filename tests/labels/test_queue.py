"""A person labels the cases of a draw in their order, and sees how people agree."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evenhand.domain.errors import NotFoundError
from evenhand.domain.label import Label
from evenhand.domain.run import RunRecord
from evenhand.labels.draw import make_draw
from evenhand.labels.queue import Queue, case_of, give_label, people_agreement
from evenhand.store.store import Store

Judged = Callable[..., RunRecord]


def test_a_queue_goes_on_where_each_person_was(store: Store, judged: Judged) -> None:
    run = judged(*[("a", 1.0)] * 5)
    draw = make_draw(store, run, sample=3, seed=1)
    first, second, third = draw.cases
    give_label(store, run, case_of(store, run, first), rater="Ann", value="pass", from_draw=True)

    ann, bob = (Queue.of(store, run, rater=name) for name in ("Ann", "Bob"))

    assert (ann.done, ann.size, ann.next()) == (1, 3, second)
    assert (bob.done, bob.next(), bob.last) == (0, first, None)
    assert ann.next({second.position}) == third
    assert ann.next({second.position, third.position}) == second
    assert (ann.after(second.position), ann.after(third.position)) == (third, second)


def test_a_queue_without_a_draw_says_how_to_make_one(store: Store, judged: Judged) -> None:
    run = judged(("a", 1.0))

    with pytest.raises(NotFoundError, match=f"evenhand label {run.id} --sample 100"):
        Queue.of(store, run, rater="Ann")


def test_a_label_outside_the_draw_leaves_the_case_in_the_queue(store: Store, judged: Judged) -> None:
    run = judged(("a", 1.0))
    (only,) = make_draw(store, run, sample=1, seed=1).cases
    give_label(store, run, case_of(store, run, only), rater="Ann", value="pass", from_draw=False)

    queue = Queue.of(store, run, rater="Ann")

    assert (queue.done, queue.next()) == (0, only)


def test_agreement_is_counted_over_cases_that_several_people_labelled() -> None:
    def label(case: int, rater: str, value: str, answer: str = "h1") -> Label:
        return Label(case=str(case), position=case, rater=rater, value=value, answer=answer)  # type: ignore[arg-type]

    labels = [
        *(label(case, rater, "pass" if case < 3 else "fail") for case in range(5) for rater in ("Ann", "Bob")),
        label(5, "Ann", "pass"),
        label(5, "Bob", "fail"),
        label(6, "Ann", "pass"),  # alone
        label(7, "Ann", "pass"),
        label(7, "Bob", "pass", "h2"),  # of another answer
    ]

    found = people_agreement(labels)

    assert (found.raters, found.cases, found.pairs, found.same) == (("Ann", "Bob"), 6, 6, 5)
    assert found.share == pytest.approx(5 / 6)
    assert found.alpha == pytest.approx(1 - 11 * 2 / (2 * 7 * 5), abs=1e-9)
    assert people_agreement([]).share is None
