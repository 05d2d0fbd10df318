"""A text is found by its words wherever it is, in each database."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.store.listed_words import words_of
from evenhand.store.listing import CaseFilter, CaseOrder, CaseReader, Listing
from evenhand.store.store import Store

READER = CaseReader(model_key="model", test_case_key="test_case", group_members=lambda _run, _case: None)
# Few letters, so that much repeats; some are no ASCII, some separate words, and some mean something to a database.
LETTERS = "aaabbc0ßé漢 , _%*[\n"
CASES = 40


@pytest.fixture
def listing(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listing]:
    monkeypatch.setattr("evenhand.store.listed_words._MOST_CASES", 16)
    monkeypatch.setattr("evenhand.store.listed_words._PAGE", 3)
    monkeypatch.setattr("evenhand.store.listed_words._LONGEST", 5)
    with contextlib.closing(Listing(store, READER)) as opened:
        yield opened


def finished(store: Store, made: Any, questions: list[str]) -> RunRecord:
    cases = [Case(id=f"{number:02}", question=question) for number, question in enumerate(questions)]
    return store.runs.mark(made.run(store, cases=cases), RunStatus.FINISHED)


def found(listing: Listing, run: RunRecord, text: str) -> list[int]:
    page = listing.case_page(run, CaseFilter(text=text), CaseOrder(), limit=CASES)
    return [row for _, row in page.rows]


def test_what_is_found_is_what_has_the_text(store: Store, made: Any, listing: Listing) -> None:
    chance = random.Random(7)
    questions = ["".join(chance.choices(LETTERS, k=chance.randint(1, 40))) + "." for _ in range(CASES)]
    run = finished(store, made, questions)
    listing.prepare_texts(run)
    parts = []
    for question in chance.choices(questions, k=150):
        start = chance.randrange(len(question))
        parts.append(question[start : start + chance.randint(1, 9)])

    differing = [
        part
        for part in parts
        if found(listing, run, part)
        != [n for n, question in enumerate(questions) if part.casefold() in question.casefold()]
    ]

    assert store.database.rows("SELECT words FROM listings") == [(CASES,)]
    assert differing == []


def test_only_texts_that_have_the_words_are_read(
    store: Store, made: Any, listing: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished(store, made, [f"Say why, {number}." for number in range(CASES)])
    listing.prepare_texts(run)
    asked: list[str] = []
    rows = store.database.rows

    def watched(sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        asked.append(sql)
        return rows(sql, values)

    monkeypatch.setattr(store.database, "rows", watched)

    one, many, none = (found(listing, run, text) for text in ("why, 17", "ay", "zebra"))

    assert (one, many, none) == ([17], list(range(CASES)), [])
    read = [sql for sql in asked if "FROM listed_texts" in sql]
    assert len(read) == 1
    assert "position" in read[0].partition("WHERE")[2].partition("ORDER")[0]


def test_a_case_is_found_by_a_part_of_a_word_too_long_to_be_kept(store: Store, made: Any, listing: Listing) -> None:
    run = finished(store, made, ["abcdefghijkl and abcdefghijkl", "abc", "xyz"])
    listing.prepare_texts(run)

    assert [found(listing, run, text) for text in ("efgh", "abc", "l and a", "fghijkl", "xyz")] == [
        [0],
        [0, 1],
        [0],
        [0],
        [2],
    ]


def test_words_of_ascii_are_those_of_any_other_text() -> None:
    text = "".join(map(chr, range(128))) * 2

    assert words_of(text) == words_of(f"{text} é") - {"é"}
