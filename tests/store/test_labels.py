"""Labels by people beside a run: nothing is overwritten, the last one counts, and they go where the run goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError, NotFoundError, StoreError
from evenhand.domain.label import Draw, DrawnCase, Label
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.store.store import IN_MEMORY, Store, open_store
from evenhand.store.transfer import export_lines, import_lines
from evenhand.store.verification import verify_database, verify_run


def label(position: int = 0, rater: str = "Ann", value: Any = "pass", **rest: Any) -> Label:
    return Label(case=f"case-{position}", position=position, rater=rater, value=value, answer="h1", **rest)


def draw(*positions: int, **rest: Any) -> Draw:
    cases = tuple(DrawnCase(case=f"case-{each}", position=each, p=0.5, answer="h1") for each in positions)
    fields: dict[str, Any] = {"seed": 7, "uncertain": 0.0, "evaluator": None, "eligible": 3, "unsure": 1}
    return Draw(cases=cases, **(fields | rest))


@pytest.fixture
def run(store: Store, made: Any) -> RunRecord:
    begun: RunRecord = made.run(store, cases=3)
    for position in range(3):
        made.judge(store, begun, position, made.judgment(0.5))
    return store.runs.mark(begun, RunStatus.FINISHED)


def said(store: Store, run: RunRecord) -> list[tuple[str, str, Any]]:
    return [(each.case, each.rater, each.value) for each in store.labels.of(run)]


def test_the_last_label_of_a_person_counts_and_people_are_kept_apart(store: Store, run: RunRecord) -> None:
    store.labels.add(run, [label(), label(rater="Bob\u00fc", value=0.25), label(1, evaluator="quality")])
    store.labels.add(run, [label(value="fail")])

    found = store.labels.of(run)

    assert said(store, run) == [("case-0", "Bobü", 0.25), ("case-1", "Ann", "pass"), ("case-0", "Ann", "fail")]
    assert all(each.at > 0 for each in found)
    assert [each.rater for each in store.labels.of(run, position=0)] == ["Bobü", "Ann"]
    assert [each.case for each in store.labels.of(run, evaluator="quality")] == ["case-1"]
    assert [each.case for each in store.labels.of(run, rater="Ann", evaluator=None)] == ["case-0"]


def test_a_label_that_is_taken_back_is_gone_and_can_be_given_again(store: Store, run: RunRecord) -> None:
    store.labels.add(run, [label(), label(rater="Bob")])

    taken = store.labels.withdraw(run, position=0, rater="Ann")
    with pytest.raises(NotFoundError, match="'Ann' has no label for this case"):
        store.labels.withdraw(run, position=0, rater="Ann")

    assert taken.value == "pass"
    assert said(store, run) == [("case-0", "Bob", "pass")]
    store.labels.add(run, [label(value="fail")])
    assert said(store, run)[-1] == ("case-0", "Ann", "fail")


def test_labels_are_stored_as_a_whole_or_not_at_all(store: Store, run: RunRecord) -> None:
    def half_done() -> None:
        with store.transaction():
            store.labels.add(run, [label(), label(1)])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half_done()

    assert store.labels.of(run) == []


def test_labels_and_draws_go_with_the_run_when_it_is_deleted(store: Store, run: RunRecord) -> None:
    store.labels.keep_draw(run, draw(0, 1))
    store.labels.add(run, [label(p=0.5)])

    store.runs.delete(run)

    assert store.database.rows("SELECT COUNT(*) FROM labels") == [(0,)]
    assert store.database.rows("SELECT COUNT(*) FROM label_draws") == [(0,)]
    assert verify_database(store) == []


def test_labels_survive_a_run_that_is_resumed(store: Store, run: RunRecord, made: Any) -> None:
    store.labels.add(run, [label()])

    store.runs.claim(run)
    again = store.runs.mark(run, RunStatus.RUNNING)
    made.judge(store, again, 0, made.judgment(1.0, round=1))
    finished = store.runs.mark(again, RunStatus.FINISHED)

    assert said(store, finished) == [("case-0", "Ann", "pass")]


def test_an_exported_run_brings_its_labels_and_draws_with_all_that_was_changed(store: Store, run: RunRecord) -> None:
    store.labels.keep_draw(run, draw(2, 0, left_out={"without an answer": 1}))
    store.labels.add(run, [label(p=0.5, note="é\n=1"), label(1, value=0.125), label(2, rater="Bob")])
    store.labels.add(run, [label(p=0.5, value="fail")])
    store.labels.withdraw(run, position=2, rater="Bob")
    lines = list(export_lines(store, run))

    with closing(open_store(IN_MEMORY)) as other:
        imported = other.runs.find(import_lines(other, lines).id)
        assert other.labels.of(imported) == store.labels.of(run)
        assert other.labels.draw(imported) == store.labels.draw(run)
        assert verify_run(other, imported.id).is_sound
        assert list(export_lines(other, imported))[1:] == lines[1:]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda head, case: case.update(labels={}), "labels is {}; it must be a list"),
        (lambda head, case: case["labels"][0].update(rater="a\nb"), "label: rater is 'a\\nb'"),
        (lambda head, case: case["labels"][0].update(value="perhaps"), "label: value is 'perhaps'"),
        (lambda head, case: case["labels"][0].update(value=7), "label: value is 7"),
        (lambda head, case: case["labels"][0].pop("value"), "label: value is missing"),
        (lambda head, case: case["labels"][0].update(p=0), "label: p is 0"),
        (lambda head, case: case["labels"][0].update(number=-1), "label: number is -1"),
        (lambda head, case: case["labels"].append(case["labels"][0]), "label: duplicate number 0"),
        (lambda head, case: head.update(label_draws={}), "label_draws is {}"),
        (lambda head, case: head["label_draws"][0].update(seed=-1), "label_draws: seed is -1"),
        (lambda head, case: head["label_draws"][0].update(cases=[[0, "a"]]), "label_draws: cases is"),
        (lambda head, case: head["label_draws"][0]["cases"][0].__setitem__(0, 3), "label_draws: position is 3"),
        (lambda head, case: head["label_draws"][0]["cases"][0].__setitem__(2, 2), "label_draws: p is 2"),
        (
            lambda head, case: head["label_draws"][0]["cases"].append(head["label_draws"][0]["cases"][0]),
            "label_draws: a case is drawn twice",
        ),
    ],
)
def test_labels_from_elsewhere_are_checked_before_anything_is_stored(
    made: Any, change: Callable[[dict[str, Any], dict[str, Any]], object], told: str
) -> None:
    with closing(open_store(IN_MEMORY)) as store, closing(open_store(IN_MEMORY)) as other:
        run = store.runs.mark(made.run(store, cases=3), RunStatus.STOPPED)
        store.labels.keep_draw(run, draw(0, 1))
        store.labels.add(run, [label(p=0.5)])
        head, case, *rest = map(json.loads, export_lines(store, run))
        change(head, case)

        with pytest.raises(ConfigError) as refused:
            import_lines(other, [json.dumps(line).encode() for line in (head, case, *rest)])

        assert told in str(refused.value)
        assert other.runs.newest() == []


def test_a_damaged_label_or_draw_is_not_passed_on(store: Store, run: RunRecord) -> None:
    store.labels.keep_draw(run, draw(0, 1))
    store.labels.add(run, [label(p=0.5)])

    with store.transaction():
        store.database.execute("UPDATE labels SET content = REPLACE(content, 'pass', 'fail')")
    with pytest.raises(
        StoreError, match="the label of the case at position 0, rater 'Ann' does not match its checksum"
    ):
        store.labels.of(run)
    with store.transaction():
        store.database.execute("UPDATE label_draws SET content = REPLACE(content, '0.5', '0.9')")

    with pytest.raises(StoreError, match="the draw of number 0 does not match its checksum"):
        store.labels.draws(run)
    assert verify_run(store, run.id).damages == 2
