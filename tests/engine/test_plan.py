"""A run is planned whole, or there is none; and no judge is asked before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, StoreError
from evenhand.domain.run import PlannedCase, RunStatus
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import fill, plan, selected, with_id
from evenhand.evaluators.checks.text import Contains
from evenhand.store.page_size import PAGE
from evenhand.store.store import Store

Judging = Callable[..., Any]


def ids(store: Store, run: Any) -> list[str]:
    return [identity for identity, _ in store.hashes(run)]


def test_a_planned_run_has_all_cases_with_place_hash_and_content(store: Store, made: Any) -> None:
    own = ({"name": "x", "type": "contains"},)
    cases = made.cases(2 * PAGE + 3)
    given = [PlannedCase(position=place + 7, case=case, evaluators=own, line=place) for place, case in enumerate(cases)]
    job = replace(made.job([], evaluators=[Contains(value="x")] * 3), cases=lambda: given, source="suite.yaml")

    run = plan(store, job, Scope(repeat=2), forked_from="before")

    assert (run.status, run.cases, run.repeat, run.source) == (RunStatus.RUNNING, len(cases), 2, "suite.yaml")
    assert (run.name, run.forked_from, run.definition) == ("made", "before", job.definition)
    planned = [one for page in store.planned(run) for one in page]
    assert [one.position for one in planned] == list(range(len(cases)))
    assert [one.case for one in planned] == cases
    assert all(one.evaluators == own for one in planned)
    assert len({one.hash for one in planned}) == len(cases)
    assert store.extent(run) == (len(cases) * 3 * 2, 0)
    assert store.runs.in_hand(run)


# Which cases


@pytest.mark.parametrize(
    ("scope", "taken"),
    [
        ({"only": ("a-1",)}, ["a-1"]),
        ({"only": ("a-*",)}, ["a-1", "a-2", "a-10"]),
        ({"only": ("b[1]",)}, ["b[1]", "b1"]),
        ({"only": ("a-?", "b*")}, ["a-1", "a-2", "b[1]", "b1"]),
        ({"limit": 2}, ["a-1", "a-2"]),
        ({"only": ("b*",), "limit": 1}, ["b[1]"]),
        ({}, ["a-1", "a-2", "a-10", "b[1]", "b1"]),
    ],
)
def test_only_and_limit_choose_cases(scope: dict[str, Any], taken: list[str]) -> None:
    cases = [PlannedCase(position=0, case=Case(id=one)) for one in ("a-1", "a-2", "a-10", "b[1]", "b1")]

    assert [one.case.id for one in selected(cases, Scope(**scope))] == taken


def test_cases_that_are_left_out_are_read_all_the_same(store: Store, made: Any) -> None:
    def cases() -> Iterator[PlannedCase]:
        yield PlannedCase(position=0, case=Case(id="a"))
        raise ConfigError("suite.yaml:9: no such key")

    job = replace(made.job([], evaluators=[Contains(value="x")]), cases=cases)

    with pytest.raises(ConfigError, match=r"suite\.yaml:9"):
        plan(store, job, Scope(limit=1))


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        ({}, "made: there are no cases; give at least one"),
        ({"only": ("case-11",)}, "no case has the id 'case-11'; did you mean 'case-1'?"),
        ({"only": ("case-0", "x")}, "no case has the id 'x'; known: case-0, case-1"),
    ],
)
def test_a_run_without_cases_is_refused(store: Store, made: Any, scope: dict[str, Any], message: str) -> None:
    cases = made.cases(2) if scope else []
    job = made.job(cases, evaluators=[Contains(value="x")])

    with pytest.raises(ConfigError) as caught:
        plan(store, job, Scope(**scope))

    assert str(caught.value) == message
    assert store.runs.newest() == []


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": True}, {"repeat": 0}, {"repeat": 1.5}, {"repeat": "2"}])
def test_a_scope_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match=r"(limit|repeat) is .*; it must be a whole number, 1 or more"):
        Scope(**wrong)


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, "8"])
def test_a_concurrency_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match=r"concurrency is .*; it must be a whole number, 1 or more"):
        Pace(concurrency=wrong)


# Mistakes


@pytest.mark.parametrize("count", [1, PAGE, PAGE + 1])
def test_a_mistake_in_any_case_leaves_no_run(store: Store, judging: Judging, made: Any, count: int) -> None:
    judge = judging()

    def cases() -> Iterator[PlannedCase]:
        for place, case in enumerate(made.cases(count)):
            yield PlannedCase(position=place, case=case)
        raise ConfigError("suite.yaml:99: no such key")

    job = replace(made.job([], judge), cases=cases)

    with pytest.raises(ConfigError, match=r"suite\.yaml:99"):
        plan(store, job, Scope())

    assert store.runs.newest() == []
    assert store.database.rows("SELECT COUNT(*) FROM cases") == [(0,)]
    assert judge.asked == []


@pytest.mark.parametrize("second", [1, PAGE - 1, PAGE, PAGE + 5])
def test_two_cases_of_one_id_are_refused_by_name(store: Store, made: Any, second: int) -> None:
    cases = made.cases(PAGE + 10)
    cases[second] = replace(cases[second], id="case-0")

    with pytest.raises(ConfigError, match="two cases have the id 'case-0'; ids must differ"):
        plan(store, made.job(cases, evaluators=[Contains(value="x")]), Scope())

    assert store.runs.newest() == []


@pytest.mark.parametrize("identity", ["a\0b", "\ud800"])
def test_an_id_that_cannot_be_kept_is_refused(store: Store, made: Any, identity: str) -> None:
    job = made.job([Case(id=identity)], evaluators=[Contains(value="x")])

    with pytest.raises(ConfigError, match="its id contains characters that a database cannot store"):
        plan(store, job, Scope())

    assert store.runs.newest() == []


@pytest.mark.parametrize("metadata", [{(1, 2): 3}, {"n": 10**5000}])
def test_a_case_that_cannot_be_written_is_refused_by_name(store: Store, made: Any, metadata: Any) -> None:
    job = made.job([Case(id="odd", metadata=metadata)], evaluators=[Contains(value="x")])

    with pytest.raises(ConfigError, match="case 'odd' cannot be written as JSON: "):
        plan(store, job, Scope())

    assert store.runs.newest() == []


def test_an_evaluator_that_cannot_be_made_leaves_no_run(store: Store, made: Any) -> None:
    def no_key(planned: PlannedCase) -> Any:
        raise ConfigError("OPENAI_API_KEY is not set")

    job = made.job(made.cases(2), evaluators=[Contains(value="x")], evaluators_for=no_key)

    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        plan(store, job, Scope())

    assert store.runs.newest() == []


def test_the_first_trouble_is_the_one_that_is_told(store: Store, made: Any) -> None:
    def cases() -> Iterator[PlannedCase]:
        yield PlannedCase(position=0, case=Case(id="a"))
        store.database.execute("CREATE TRIGGER t BEFORE DELETE ON runs BEGIN SELECT RAISE(FAIL, 'no more'); END")
        raise ConfigError("suite.yaml:9: no such key")

    job = replace(made.job([], evaluators=[Contains(value="x")]), cases=cases)

    with pytest.raises(ConfigError, match=r"suite\.yaml:9"):
        plan(store, job, Scope())


def test_planning_that_was_broken_off_can_be_done_again(store: Store, made: Any) -> None:
    class Killed(BaseException):
        pass

    def cases() -> Iterator[PlannedCase]:
        yield from (PlannedCase(position=place, case=case) for place, case in enumerate(made.cases(PAGE + 5)))
        raise Killed

    job = made.job(made.cases(PAGE + 9), evaluators=[Contains(value="x")])
    with pytest.raises(Killed):
        plan(store, replace(job, cases=cases), Scope())
    (run,) = store.runs.newest()
    assert run.status is RunStatus.PLANNING
    assert len(ids(store, run)) == PAGE

    store.forget_cases(run)
    run = fill(store, run, job, Scope())

    assert (run.status, run.cases) == (RunStatus.RUNNING, PAGE + 9)
    assert ids(store, run) == [f"case-{n}" for n in range(PAGE + 9)]


def test_a_store_that_refuses_for_another_reason_says_that(store: Store, made: Any) -> None:
    store.database.execute("CREATE TRIGGER t BEFORE INSERT ON cases BEGIN SELECT RAISE(FAIL, 'no more'); END")

    with pytest.raises(StoreError, match="no more"):
        plan(store, made.job(made.cases(2), evaluators=[Contains(value="x")]), Scope())


# Ids


def test_a_case_without_an_id_gets_one_by_its_content() -> None:
    taken: dict[str, int] = {}
    given = [Case(question="a"), Case(question="b"), Case(question="a"), Case(id="mine"), Case(question="a")]

    named = [with_id(PlannedCase(position=place, case=case), taken).case.id for place, case in enumerate(given)]

    assert named[0] is not None
    assert named[2:] == [f"{named[0]}-2", "mine", f"{named[0]}-3"]
    assert len(set(named)) == 5
    again = with_id(PlannedCase(position=9, case=Case(question="b")), {})
    assert again.case.id == named[1]
