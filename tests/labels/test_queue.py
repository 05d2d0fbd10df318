"""A person labels the cases of a draw in their order, and sees how people agree."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evenhand import Case, evaluate
from evenhand.domain.errors import NotFoundError
from evenhand.domain.label import Label
from evenhand.domain.run import RunRecord
from evenhand.labels.draw import make_draw
from evenhand.labels.queue import Queue, case_of, give_label, people_agreement
from evenhand.labels.undecided import undecided_queue
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


def test_what_a_cascade_left_to_people_is_a_queue_of_its_own(store: Store) -> None:
    stages = [
        {"name": "cheap", "type": "levenshtein", "value": "Paris"},
        {"name": "same", "type": "levenshtein", "value": "paris"},
    ]
    cascade = {"name": "way", "type": "cascade", "stages": stages, "confident": 0.5, "then": "people"}
    answers = ["Paris", "Pari", "xyz", "Parus"]
    cases = [Case(id=f"c{number}", candidate_answer=answer) for number, answer in enumerate(answers)]
    run = evaluate(cases, [cascade, {"type": "contains", "value": "P"}], store=store)
    record = store.runs.find(run.id)

    queue = undecided_queue(store, record, rater="Ann", evaluator="way")
    first = queue.next()

    assert [case.case for case in queue.draw.cases] == ["c1", "c3"]
    assert first is not None
    label = give_label(store, record, case_of(store, record, first), rater="Ann", value="pass", from_draw=False)
    assert not label.is_drawn
    assert (after := undecided_queue(store, record, rater="Ann")).done == 1
    assert (after.next(), after.last) == (after.draw.cases[1], label)
    with pytest.raises(NotFoundError, match="has left no case to people; a cascade with then: people does"):
        undecided_queue(store, record, rater="Ann", evaluator="contains")
