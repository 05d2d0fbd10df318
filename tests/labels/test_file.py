"""Labels go out as a file to fill in, and come back as a whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.domain.label import Draw, answer_hash
from evenhand.domain.run import RunRecord
from evenhand.labels.draw import make_draw
from evenhand.labels.file import COLUMNS, add_label_rows, add_labels_file, write_labels
from evenhand.store.store import Store

Judged = Callable[..., RunRecord]
Row = dict[str, Any]


@pytest.fixture
def run(judged: Judged) -> RunRecord:
    return judged(*[(f"answer {number}", number / 10) for number in range(8)], ("=1+1", 0.9), ("no", None))


@pytest.fixture
def draw(store: Store, run: RunRecord) -> Draw:
    return make_draw(store, run, sample=6, seed=3)


@pytest.fixture
def rows(store: Store, run: RunRecord, draw: Draw) -> list[Row]:
    """The rows of the file that somebody gets to fill in."""
    out = io.StringIO()
    write_labels(store, run, out, draw=draw, labels=[])
    return list(csv.DictReader(io.StringIO(out.getvalue())))


def written(rows: list[Row], *, delimiter: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def test_the_file_has_the_draw_in_its_order_and_nothing_of_the_judge(
    store: Store, run: RunRecord, draw: Draw, rows: list[Row]
) -> None:
    assert [row["id"] for row in rows] == [one.case for one in draw.cases]
    assert {row["human"] for row in rows} == {""}
    assert {(row["p"], row["seed"]) for row in rows} == {(str(6 / 9), "3")}
    assert all(row["answer_hash"] == one.answer for row, one in zip(rows, draw.cases, strict=True))
    assert list(rows[0]) == list(COLUMNS)
    assert not any("score" in name or "verdict" in name or "reason" in name for name in COLUMNS)


def test_the_file_is_the_same_whatever_the_judge_said(store: Store, judged: Judged) -> None:
    files = []

    for score in (0.1, 1.0):
        run = judged(*[(f"answer {number}", score) for number in range(4)])
        out = io.StringIO()
        write_labels(store, run, out, draw=make_draw(store, run, sample=3, seed=5), labels=[])
        files.append(out.getvalue())

    assert files[0] == files[1]


def test_an_answer_that_a_spreadsheet_might_run_is_escaped_and_its_label_comes_back(
    store: Store, judged: Judged
) -> None:
    run = judged(("=1+1", 1.0))
    out = io.StringIO()
    write_labels(store, run, out, draw=make_draw(store, run, sample=1, seed=1), labels=[])
    (row,) = csv.DictReader(io.StringIO(out.getvalue()))

    added = add_labels_file(store, run, written([row | {"human": "pass", "rater": "Ann"}]))

    assert row["answer"] == "'=1+1"
    assert (added.new, store.labels.of(run)[0].answer) == (1, answer_hash("=1+1"))


def test_what_was_filled_in_is_stored_and_what_was_not_is_counted(
    store: Store, run: RunRecord, rows: list[Row]
) -> None:
    filled = [
        rows[0] | {"human": "Pass", "rater": "Ann"},
        rows[1] | {"human": "fail", "rater": "Ann", "note": "rude"},
        rows[2] | {"human": "0,25", "rater": "Bob"},
        *rows[3:],
    ]

    added = add_labels_file(store, run, written(filled, delimiter=";"))

    assert (added.new, added.changed, added.same, added.empty, added.not_drawn) == (3, 0, 0, 3, 0)
    assert added.raters == ("Ann", "Bob")
    found = store.labels.of(run)
    assert [(label.rater, label.value, label.note) for label in found] == [
        ("Ann", "pass", ""),
        ("Ann", "fail", "rude"),
        ("Bob", 0.25, ""),
    ]
    assert {label.p for label in found} == {6 / 9}


def test_the_same_file_again_changes_nothing_and_another_opinion_replaces_the_last(
    store: Store, run: RunRecord, rows: list[Row]
) -> None:
    filled = [row | {"human": "pass"} for row in rows]
    add_labels_file(store, run, written(filled), rater="Ann")

    again = add_labels_file(store, run, written(filled), rater="Ann")
    filled[0]["human"] = "fail"
    changed = add_labels_file(store, run, written(filled), rater="Ann")

    assert (again.stored, again.same) == (0, 6)
    assert (changed.new, changed.changed, changed.same) == (0, 1, 5)
    assert sorted(str(label.value) for label in store.labels.of(run)) == ["fail", *["pass"] * 5]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"id": "case-99"}, "has no case 'case-99'"),
        ({"id": "case-9", "p": "", "answer_hash": ""}, None),
        ({"human": "maybe"}, "human: 'maybe' is no label; it must be pass, fail, or a score from 0 to 1"),
        ({"human": "1.5"}, "human: '1.5' is no label"),
        ({"human": "nan"}, "human: 'nan' is no label"),
        ({"answer_hash": "h0123456789abcdef"}, "is not the one that was labelled"),
        ({"answer_hash": ""}, "answer_hash is empty, and a drawn case needs it"),
        ({"p": "0.5"}, "p is 0.5, but the chance of case"),
        ({"p": "2"}, "p: '2' is no chance; it must be above 0, and at most 1"),
        ({"p": "many"}, "p: 'many' is no chance"),
        ({"seed": "4"}, "seed is '4', but the draw of run"),
        ({"rater": "a\tb"}, "it must be a line of 1 to 100 characters"),
        ({"evaluator": "speed"}, "has no evaluator 'speed'"),
        ({"evaluator": "quality"}, "has no draw for evaluator 'quality' here; repeat the draw with its seed"),
        ({"note": "x" * 10_001}, "note has more than 10,000 characters"),
    ],
)
def test_a_mistake_is_named_with_its_row_and_nothing_is_stored(
    store: Store, run: RunRecord, rows: list[Row], change: Row, told: str | None
) -> None:
    filled = [row | {"human": "pass", "rater": "Ann"} for row in rows]
    filled[1] |= change

    if told is None:
        assert add_labels_file(store, run, written(filled), name="labels.csv").not_drawn == 1
        return
    with pytest.raises(ConfigError) as refused:
        add_labels_file(store, run, written(filled), name="labels.csv")

    assert str(refused.value).startswith("labels.csv:3: ")
    assert told in str(refused.value)
    assert str(refused.value).endswith("nothing was stored")
    assert store.labels.of(run) == []


def test_every_mistake_of_a_file_is_named(store: Store, run: RunRecord, rows: list[Row]) -> None:
    filled = [row | {"human": "so so", "rater": "Ann"} for row in rows]
    filled[2]["human"] = "pass"

    with pytest.raises(ConfigError) as refused:
        add_labels_file(store, run, written(filled), name="labels.csv")

    lines = str(refused.value).splitlines()
    assert [line.partition(": ")[0] for line in lines[:-1]] == [f"labels.csv:{number}" for number in (2, 3, 5, 6, 7)]


def test_two_labels_by_one_person_for_a_case_are_refused_and_two_by_two_people_taken(
    store: Store, run: RunRecord, rows: list[Row]
) -> None:
    ann, bob = (rows[0] | {"human": "pass", "rater": name} for name in ("Ann", "Bob"))

    with pytest.raises(ConfigError, match=r":3: Ann has labelled case 'case-\d' in line 2 already"):
        add_labels_file(store, run, written([ann, ann | {"human": "fail"}]))
    added = add_labels_file(store, run, written([ann, bob]))

    assert added.new == 2


def test_a_case_that_was_not_drawn_cannot_be_declared_random(store: Store, run: RunRecord, draw: Draw) -> None:
    outside = next(n for n in range(9) if draw.at(n) is None)
    answer = answer_hash(f"answer {outside}" if outside < 8 else "=1+1")
    row = {"id": f"case-{outside}", "human": "pass", "p": "0.6666666", "seed": "3", "answer_hash": answer}

    with pytest.raises(ConfigError, match=r"was not drawn \(seed 3\); leave p empty for labels that were not drawn"):
        add_labels_file(store, run, written([row]), rater="Ann")
    added = add_labels_file(store, run, written([row | {"p": ""}]), rater="Ann")

    assert added.not_drawn == 1
    assert not store.labels.of(run)[0].is_drawn


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file is empty"),
        (b"id,human\n", "there are no rows after the first line"),
        (b"id,verdict\na,pass\n", "there is no column 'human'"),
        (b"Id,human\na,pass\n", "there is no column 'id'; known: Id, human"),
        (b"id,human,human\na,pass,fail\n", "have the same name, 'human'"),
        (b"id,human\ncase-1\n", "this row has 1 cell, "),
        (b"id,human\ncase-1,pass\n", "rater is empty"),
        (b"PK\x03\x04aaaa", "Excel workbook"),
    ],
)
def test_a_file_that_is_none_says_what_is_missing(store: Store, run: RunRecord, content: bytes, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        add_labels_file(store, run, content, name="labels.csv")


def test_a_file_that_is_not_there_is_said_to_be_missing(store: Store, run: RunRecord, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        add_labels_file(store, run, tmp_path / "labels.csv")


def test_labels_can_be_given_as_mappings_too(store: Store, run: RunRecord) -> None:
    added = add_label_rows(store, run, [{"id": "case-1", "human": 0.5}, {"id": "case-2", "human": "pass"}], rater="Ann")

    assert (added.new, added.not_drawn) == (2, 2)
    with pytest.raises(ConfigError, match="label:1: human: 'true' is no label"):
        add_label_rows(store, run, [{"id": "case-1", "human": "true"}], rater="Ann")
    with pytest.raises(ConfigError, match="label 1 is 'case-1'"):
        add_label_rows(store, run, ["case-1"], rater="Ann")  # type: ignore[list-item]  # wrong on purpose
    with pytest.raises(ConfigError, match="no column 'human'"):
        add_label_rows(store, run, [{"id": "case-1"}], rater="Ann")
    with pytest.raises(ConfigError, match="or a list of mappings, not int"):
        add_label_rows(store, run, 7, rater="Ann")  # type: ignore[arg-type]  # wrong on purpose


def test_labels_of_several_people_have_a_row_each(store: Store, run: RunRecord, draw: Draw, rows: list[Row]) -> None:
    filled = [rows[0] | {"human": "pass", "rater": name} for name in ("Ann", "Bob")]
    add_labels_file(store, run, written([*filled, {"id": "case-9", "human": "fail", "rater": "Bob"}]))
    out = io.StringIO()

    count = write_labels(store, run, out, draw=draw, labels=store.labels.of(run))

    found = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert count == len(found) == 8
    assert [(row["id"], row["rater"]) for row in found[:2]] == [(rows[0]["id"], "Ann"), (rows[0]["id"], "Bob")]
    assert (found[-1]["id"], found[-1]["human"], found[-1]["p"]) == ("case-9", "fail", "")
    assert add_labels_file(store, run, written(found), rater="Ann").stored == 0
