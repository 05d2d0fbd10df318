"""Lists are filtered, sorted and searched in the same way whichever database the runs are in."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.run import MadeAnswer, RunRecord
from evenhand.store import listed_metadata, scratch_listing
from evenhand.store.listing import CaseReader, Filter, Listing, Order
from evenhand.store.rows import dumps
from evenhand.store.store import Store

CASES = [
    Case(id="a", question="Straße nach Oslo?", metadata={"model": "x/one"}),
    Case(id="b", question="50 % of it!", metadata={"model": "x/two"}),
    Case(id="c", metadata={"group": [{"id": "p1", "text": "Nurse"}, {"id": "p2", "text": "Pilot"}]}),
]


# In a label and in details, quotes and the word itself are only text.
LABELS: list[dict[str, Any]] = [{"label": 'a "label": b\0ü'}, {"details": {"label": "wrong"}}, {"label": "wrong"}]


def group_members(_run: RunRecord, case: Mapping[str, Any]) -> Sequence[Mapping[str, Any]] | None:
    members: Sequence[Mapping[str, Any]] | None = case.get("metadata", {}).get("group")
    return members


READER = CaseReader(model_key="model", test_case_key="test_case", group_members=group_members)


@pytest.fixture
def run(store: Store, made: Any) -> RunRecord:
    run: RunRecord = made.run(store, cases=CASES)
    for position, score in enumerate((0.9, 0.1, 0.5)):
        made.judge(store, run, position, made.judgment(score, evaluation={"retry_count": position, **LABELS[position]}))
    made.answer(store, run, 1, MadeAnswer(text="Halb so viel"))
    return run


@pytest.fixture
def listing(store: Store) -> Iterator[Listing]:
    with contextlib.closing(Listing(store, READER)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("condition", "positions"),
    [
        (Filter(), [0, 1, 2]),
        (Filter(verdict=("pass", "fail")), [0, 1, 2]),
        (Filter(min_score=0.4, max_score=0.6), [2]),
        (Filter(model=("x/two",)), [1]),
        (Filter(retried=True), [1, 2]),
        (Filter(label=("wrong",)), [2]),
        (Filter(label=('a "label": b\0ü',)), [0]),
        (Filter(label=("wrong", "right")), [2]),
        (Filter(has_error=True), []),
        (Filter(text="STRAßE"), [0]),
        (Filter(text="50 % OF"), [1]),
        (Filter(text="halb"), [1]),
        (Filter(text="pilot"), [2]),
        (Filter(text="question"), []),
        (Filter(profile="p2"), [2]),
        (Filter(profile="p"), []),
        (Filter(profile="a"), [0]),
        (Filter(metadata=(("model", ("x/two",)),)), [1]),
        (Filter(metadata=(("model", ("x/one", "x/two")),)), [0, 1]),
        (Filter(metadata=(("model", ("(none)",)),)), [2]),
        (Filter(metadata=(("model", ("x",)),)), []),
        (Filter(metadata=(("lang", ("(none)",)), ("model", ("x/one",)))), [0]),
        (Filter(metadata=(("group", ("(other)",)),)), [2]),
        (Filter(metadata=(("model", ("x/one",)),), min_score=0.95), []),
    ],
    ids=repr,
)
def test_a_filter_leaves_what_matches(
    listing: Listing, run: RunRecord, condition: Filter, positions: list[int]
) -> None:
    page, total = listing.page(run, condition, Order(), limit=10, after=None)

    assert ([place[0] for _, place in page], total) == (positions, len(positions))


def test_pages_follow_each_other_in_their_order(listing: Listing, run: RunRecord) -> None:
    order = Order(by="score", descending=True)

    first, total = listing.page(run, Filter(), order, limit=2, after=None)
    rest, _ = listing.page(run, Filter(), order, limit=2, after=first[-1])

    assert [(key, place[0]) for key, place in (*first, *rest)] == [(0.9, 0), (0.5, 2), (0.1, 1)]
    assert total == 3


def test_evaluators_are_named_once_a_run_is_listed(listing: Listing, run: RunRecord) -> None:
    before = listing.evaluators(run, 10)

    listing.prepare(run)

    assert (before, listing.evaluators(run, 10)) == (None, ["quality"])


def test_values_of_metadata_are_those_that_slices_name(store: Store, made: Any, listing: Listing) -> None:
    values = ["de", True, 3, 3.5, "", None, "3"]
    run = made.run(store, cases=[Case(id=f"c{n}", metadata={"kind": value}) for n, value in enumerate(values)])
    for position in range(len(values)):
        made.judge(store, run, position, made.judgment(0.5))

    def positions(value: str) -> list[int]:
        page, _ = listing.page(run, Filter(metadata=(("kind", (value,)),)), Order(), limit=10, after=None)
        return [place[0] for _, place in page]

    assert [positions(value) for value in ("de", "true", "3", "3.5", "(none)", "None")] == [
        [0], [1], [2, 6], [3], [4, 5], [],
    ]  # fmt: skip


def test_cases_that_are_added_later_are_found_too(
    store: Store, made: Any, listing: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch_listing, "_STALE_SECONDS", -1.0)
    condition = Filter(metadata=(("model", ("x/two",)),))
    first = made.run(store, cases=CASES[:1])
    assert listing.page(first, condition, Order(), limit=10, after=None) == ([], 0)

    store.add_cases([(first.number, 1, "b", "h", 1, dumps({"case": {"id": "b", "metadata": {"model": "x/two"}}}))])
    made.judge(store, first, 1, made.judgment(0.5))

    page, total = listing.page(replace(first, cases=2), condition, Order(), limit=10, after=None)
    assert ([place[0] for _, place in page], total) == ([1], 1)


def test_more_keys_than_are_kept_are_read_again(
    listing: Listing, run: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listed_metadata, "MOST_KEYS", 1)
    conditions = [Filter(metadata=((key, ("(none)",)), ("model", ("x/two",)))) for key in ("lang", "topic", "lang")]

    pages = [listing.page(run, condition, Order(), limit=10, after=None) for condition in conditions]

    assert [[place[0] for _, place in page] for page, _ in pages] == [[1], [1], [1]]
