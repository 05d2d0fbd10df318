"""Labels of a file serve another run of the same answers, and no other answers."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, Contains, evaluate
from evenhand.domain.errors import ConfigError
from evenhand.domain.label import answer_hash
from evenhand.domain.run import RunRecord
from evenhand.labels.draw import make_draw
from evenhand.labels.file import write_labels
from evenhand.labels.reuse import LabelFile
from evenhand.store.store import Store, open_store

COUNT = 40
Made = Callable[..., RunRecord]


def cases(count: int = COUNT, *, changed: int = 0) -> list[Case]:
    """Return cases, the first of which have other answers than they had."""
    return [
        Case(id=f"c{number}", candidate_answer=f"Paris {number}{'!' if number < changed else ''}")
        for number in range(count)
    ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'runs.db'}")
    yield opened
    opened.close()


@pytest.fixture
def made(store: Store, tmp_path: Path) -> Made:
    def make(count: int = COUNT, **more: Any) -> RunRecord:
        run = evaluate(cases(count, **more), Contains(value="Paris"), store=str(tmp_path / "runs.db"))
        return store.runs.find(run.id)

    return make


@pytest.fixture
def file(store: Store, made: Made, tmp_path: Path) -> Path:
    """Draw half of a run's cases, and fill in the file."""
    run, path = made(), tmp_path / "labels.csv"
    draw = make_draw(store, run, sample=COUNT // 2, seed=7)
    with path.open("w", encoding="utf-8", newline="") as out:
        write_labels(store, run, out, draw=draw, labels=(), rater="Ann")
    with path.open(encoding="utf-8", newline="") as given:
        rows = list(csv.DictReader(given))
    written(path, [row | {"human": "pass"} for row in rows])
    return path


def written(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def read(path: Path) -> LabelFile:
    return LabelFile.read(str(path), rater="me", name=path.name)


def test_in_a_run_of_the_same_answers_they_count_as_drawn_again(store: Store, made: Made, file: Path) -> None:
    run = made()

    reused = read(file).add_to(store, run)

    labels = store.labels.of(run)
    assert (reused.added.stored, len(labels)) == (20, 20)
    assert {label.p for label in labels} == {0.5}
    assert {label.rater for label in labels} == {"Ann"}
    assert list(reused.words("labels.csv")) == [
        "labels.csv: 20 labels stored with the run",
        "labels.csv: drawn at random: the draw of 20 of 40 cases with seed 7",
    ]
    again = read(file).add_to(store, run)
    assert (again.added.stored, again.added.same) == (0, 20)


def test_a_part_of_the_cases_keeps_its_part_of_the_draw(store: Store, made: Made, file: Path) -> None:
    run = made(20)

    reused = read(file).add_to(store, run)

    (draw,) = reused.draws
    assert (draw.size, draw.eligible) == (10, 20)
    assert len(reused.absent) + len(store.labels.of(run)) == 20
    assert any("left out of this run" in words for words in reused.words("labels.csv"))


def test_labels_of_answers_that_changed_do_not_count_and_the_others_do_not_stand_for_them(
    store: Store, made: Made, file: Path
) -> None:
    run = made(changed=30)

    reused = read(file).add_to(store, run)

    kept = store.labels.of(run)
    assert 0 < len(kept) < 20
    assert len(reused.changed) == 20 - len(kept)
    assert {label.p for label in kept} == {None}
    said = " ".join(reused.words("labels.csv"))
    assert "do not count, since the answers are not those that were labelled" in said
    assert "count as not drawn at random" in said


def test_cases_that_had_no_chance_of_being_drawn_make_a_draw_worthless(store: Store, made: Made, file: Path) -> None:
    run = made(60)

    reused = read(file).add_to(store, run)

    assert {label.p for label in store.labels.of(run)} == {None}
    assert "drawn among 40 cases, and the run has 60" in " ".join(reused.words("labels.csv"))


def test_another_draw_of_the_run_stays_as_it_is(store: Store, made: Made, file: Path) -> None:
    run = made()
    make_draw(store, run, sample=10, seed=8)

    reused = read(file).add_to(store, run)

    assert {label.p for label in store.labels.of(run)} == {None}
    assert "has a draw with seed 8 already" in " ".join(reused.words("labels.csv"))


HASH = answer_hash("Paris 0")
WRONG: tuple[tuple[str, str], ...] = (
    ("id,human\nc0,maybe\n", "labels.csv:2: 'maybe' is no label"),
    ("id,human\nc0,\n", "labels.csv: no row has a label"),
    ("id,rater\nc0,Ann\n", "there is no column 'human'"),
    ("id,human,rater\nc0,pass,Ann\nc0,fail,Ann\n", "labels.csv:3: Ann has labelled case 'c0' in line 2 already"),
    ("id,human,p,seed\nc0,pass,0.5,\n", "need the seed of their draw"),
    ("id,human,p,seed\nc0,pass,2,7\n", "labels.csv:2: '2' is no chance"),
    ("id,human,p,seed\nc0,pass,0.5,7\nc1,pass,0.25,7\n", "drawn with unequal chances"),
    ("id,human\nnobody,pass\n", "labels.csv:2: the suite has no case 'nobody'"),
    (f"id,human,answer_hash\nc1,pass,{HASH}\n", "the answer of case 'c1' is not the one that was labelled"),
)


@pytest.mark.parametrize(("text", "told"), WRONG)
def test_what_is_wrong_is_refused_before_the_run(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError) as raised:
        read(path).check(cases(), has_target=False, is_whole=True)

    assert told in str(raised.value)


def test_what_cannot_be_known_before_the_run_is_not_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"id,human,answer_hash\nc0,pass,{HASH}\nnobody,pass,h0\n", encoding="utf-8")
    unanswered = [Case(id="c0", question="Capital of France?")]

    read(path).check(cases(), has_target=False, is_whole=False)
    read(path).check(unanswered, has_target=True, is_whole=False)

    with pytest.raises(ConfigError, match="'c0' has no answer"):
        read(path).check(unanswered, has_target=False, is_whole=False)
    path.write_text("id,human\nc0,pass\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="answer_hash is empty, and the target answers anew"):
        read(path).check(unanswered, has_target=True, is_whole=True)
    with pytest.raises(ConfigError, match="there is no such file"):
        read(tmp_path / "nowhere.csv")
