"""The cases of two runs meet by their ids, in whatever order they are, and few of them wait."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from evenhand import Case, Contains, compare, evaluate
from evenhand.domain.comparison import Comparison
from evenhand.engine import case_pairs
from evenhand.engine.case_pairs import CaseSource, joined
from evenhand.reports.paired_cases import JudgedCase

IDS = tuple(f"case-{number}" for number in range(60))
SHUFFLED = tuple(random.Random(4).sample(IDS, len(IDS)))


class Terms:
    """Terms that note when they are let go of."""

    settled = 0

    def settle(self) -> None:
        Terms.settled += 1


def case(identity: str, position: int) -> JudgedCase:
    return JudgedCase(id=identity, position=position, cluster=None, judged_by=Terms(), found={})


def source(ids: Sequence[str], *, counted: bool = False) -> CaseSource:
    cases = {identity: case(identity, position) for position, identity in enumerate(ids)}

    def by_id(wanted: Sequence[str]) -> Mapping[str, JudgedCase]:
        return {identity: cases[identity] for identity in wanted if identity in cases}

    return CaseSource(cases.values(), by_id, lambda: len(ids) if counted else None)


@pytest.fixture
def few_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_pairs, "MOST_WAITING", 5)
    monkeypatch.setattr(case_pairs, "_AT_ONCE", 7)
    Terms.settled = 0


@pytest.mark.usefixtures("few_wait")
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (IDS, IDS),
        (IDS, IDS[::-1]),
        (IDS, SHUFFLED),
        (IDS[10:], SHUFFLED[:50]),
        (IDS[:30], IDS[30:]),
        (IDS, ()),
        ((), IDS),
        (IDS, IDS[1:]),
    ],
)
@pytest.mark.parametrize("counted", [False, True])
def test_each_case_meets_its_counterpart_once(a: Sequence[str], b: Sequence[str], counted: bool) -> None:
    sources = source(a, counted=counted), source(b, counted=counted)

    pairs = [(one and one.id, other and other.id) for one, other in joined(*sources)]

    expected = {(name if name in a else None, name if name in b else None) for name in {*a, *b}}
    assert len(pairs) == len(expected)
    assert set(pairs) == expected


@pytest.mark.usefixtures("few_wait")
def test_few_cases_wait_for_those_of_the_other_run() -> None:
    pairs = list(joined(source(IDS), source(IDS[::-1])))

    assert len(pairs) == len(IDS)
    assert Terms.settled <= 2 * (case_pairs.MOST_WAITING + 1)


def test_where_cases_cannot_be_looked_up_they_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_pairs, "MOST_WAITING", 5)

    pairs = list(joined(source(IDS)._replace(by_id=None), source(IDS[::-1])))

    assert len(pairs) == len(IDS)
    assert all(one is not None and other is not None and one.id == other.id for one, other in pairs)


def test_a_comparison_of_stored_runs_does_not_depend_on_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "runs.db"
    answers = {identity: "Paris" if number % 3 else "Rome" for number, identity in enumerate(IDS)}
    a = judged(store, IDS[5:], answers)
    b = judged(store, SHUFFLED, {**answers, IDS[7]: "Oslo"})

    waited = compare(a, b, store=store)
    monkeypatch.setattr(case_pairs, "MOST_WAITING", 5)
    looked_up = compare(a, b, store=store)

    assert isinstance(waited, Comparison)
    assert (waited.cases.in_common, waited.cases.only_b, waited.changed) == (55, 5, 1)
    assert numbers(looked_up) == numbers(waited)


def judged(store: Path, ids: Sequence[str], answers: Mapping[str, str]) -> str:
    cases = [Case(id=identity, candidate_answer=answers[identity]) for identity in ids]
    return evaluate(cases, Contains(value="Paris"), store=store).id


def numbers(found: Comparison) -> tuple[object, ...]:
    """Return all that does not depend on the order: which cases are named first does."""
    differences = found.differences
    assert differences is not None
    return found.cases, found.evaluators, found.changes, found.changed, found.notes, differences.only_b.count


@pytest.mark.usefixtures("few_wait")
def test_a_run_whose_cases_have_all_been_met_is_not_read_to_its_end() -> None:
    other = source(IDS[::-1], counted=True)
    unread = iter(other.cases)

    pairs = list(joined(source(IDS), other._replace(cases=unread)))

    assert len(pairs) == len(IDS)
    assert next(unread, None) is not None
