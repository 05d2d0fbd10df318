"""A run that people have labelled says what they would say of all cases, and is read for that once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, Contains, Run, compare, evaluate
from evenhand.domain.errors import StoreError
from evenhand.domain.exit_code import ExitCode, exit_code
from evenhand.domain.gates import Gates
from evenhand.domain.run import RunRecord
from evenhand.domain.summary import CorrectedNumbers
from evenhand.engine.judge_card import card_of, kept_card
from evenhand.engine.labelled import cards_are_kept, labelled_overview, trust_results
from evenhand.labels.draw import make_draw
from evenhand.labels.file import add_label_rows
from evenhand.reports.json import canonical
from evenhand.store.store import Store, open_store
from evenhand.trust.kept_card import card_from

# The judge passes what names Paris; people pass "the city of light" too.
ANSWERS = ("It is Paris.", "Paris, of course.", "The city of light.", "It is Rome.")
GATES = {"min_pass_rate_corrected": 0.7, "evaluators": {"contains": {"min_pass_rate_corrected_low": 0.1}}}


class Labelled:
    """A run in a store of its own, and people who label it."""

    def __init__(self, db: str, **more: Any) -> None:
        self.db = db
        cases = [Case(id=f"c{number}", candidate_answer=ANSWERS[number % 4]) for number in range(80)]
        self.made = evaluate(cases, Contains(value="Paris"), store=db, **more)
        self.store: Store = open_store(f"sqlite:///{db}")

    @property
    def run(self) -> RunRecord:
        return self.store.runs.find(self.made.id)

    def label(self, *, sample: int = 40, rater: str = "Ann", **more: Any) -> None:
        draw = make_draw(self.store, self.run, sample=sample, seed=7)
        add_label_rows(self.store, self.run, [row_of(one, **more) for one in draw.cases], rater=rater)

    @property
    def shown(self) -> Run:
        return Run.open(self.made.id, store=self.db)


def row_of(drawn: Any, *, scores: bool = False, evaluator: str = "") -> dict[str, Any]:
    passes = int(drawn.case[1:]) % 4 != 3
    human = str(0.9 * passes) if scores else "pass" if passes else "fail"
    row = {"id": drawn.case, "human": human, "p": drawn.p, "seed": 7, "answer_hash": drawn.answer}
    return {"id": drawn.case, "human": human, "evaluator": evaluator} if evaluator else row


@pytest.fixture
def labelled(tmp_path: Path) -> Iterator[Labelled]:
    made = Labelled(str(tmp_path / "runs.db"), gates=GATES)
    yield made
    made.store.close()


def test_without_labels_nothing_is_said_of_people(labelled: Labelled) -> None:
    shown = labelled.shown

    assert shown.corrected is None
    assert "corrected" not in json.dumps(json.loads(shown.report("json"))["summary"])
    assert [gate.found for gate in shown.gates] == [None, None]
    assert "no labels by people that count; draw cases with evenhand label RUN --sample 100" in shown.gates[0].words
    assert "corrected" not in shown.report("text").partition("Gates")[0]


def test_with_labels_every_report_has_the_corrected_numbers_beside_the_raw_ones(labelled: Labelled) -> None:
    before = canonical(labelled.shown.whole_report)
    labelled.label()
    shown = labelled.shown

    found = shown.corrected

    assert isinstance(found, CorrectedNumbers)
    assert found.pass_rate is not None
    assert found.pass_rate.interval.low < 0.75 < found.pass_rate.interval.high
    assert (found.judged, found.labels, found.raters, found.basis) == (80, 40, ("Ann",), "drawn")
    assert shown.summary.cases.pass_rate == 0.5
    sentence = f"corrected pass rate {found.pass_rate.value:.2f} ["
    for format in ("text", "md", "html"):  # noqa: A001 - what it is called
        assert sentence in shown.report(format)
        assert "labels of Ann for 40 of 80" in " ".join(shown.report(format).split())
    summary = json.loads(shown.report("json"))["summary"]
    assert summary["corrected"]["pass_rate"]["value"] == found.pass_rate.value
    assert "corrected" not in summary["evaluators"]["contains"]
    gates = {gate.name: gate for gate in shown.gates}
    assert gates["min_pass_rate_corrected"].found == found.pass_rate.value
    assert not gates["contains.min_pass_rate_corrected_low"].ok
    # What was found by the run itself is the same as before.
    assert json.loads(canonical(shown.whole_report))["summary"] == json.loads(before)["summary"]


def test_labels_of_an_evaluator_correct_its_numbers_and_scores_the_mean(labelled: Labelled) -> None:
    labelled.label(evaluator="contains")
    labelled.label(scores=True, sample=60)

    shown = labelled.shown

    corrected = shown.summary.evaluators["contains"].corrected
    assert corrected is not None
    assert corrected.basis == "not_drawn"
    assert shown.corrected is not None
    assert shown.corrected.mean is not None
    assert abs(shown.corrected.mean.value - 0.675) < 0.1
    assert "corrected mean 0." in shown.report("text")
    assert "contains: corrected pass rate" in " ".join(shown.report("text").split())


def test_the_run_is_read_for_its_card_once_until_somebody_labels_more(
    labelled: Labelled, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = labelled.shown.summary
    labelled.label()
    store, run = labelled.store, labelled.run
    assert not cards_are_kept(store, run, summary)
    first, card = labelled_overview(store, run), card_of(store, run)
    asked: list[str] = []
    rows = type(store.database).rows

    def counted(self: Any, sql: str, values: Any = ()) -> Any:
        asked.append(sql)
        return rows(self, sql, values)

    monkeypatch.setattr(type(store.database), "rows", counted)

    again, same = labelled_overview(store, run), card_of(store, run)

    assert (again, same) == (first, card)
    assert cards_are_kept(store, run, summary)
    assert len(asked) <= 16
    assert not [sql for sql in asked if "content" in sql and ("FROM evaluations" in sql or "FROM labels" in sql)]
    labelled.label(rater="Ben")
    assert card_of(store, run).labels.raters == ("Ann", "Ben")


def test_a_card_is_read_back_as_it_was_and_a_damaged_one_is_worked_out_again(labelled: Labelled) -> None:
    labelled.label(scores=True, sample=60)
    labelled.label(scores=True, sample=60, rater="Ben")
    store, run = labelled.store, labelled.run
    card = card_of(store, run)

    assert card_from(json.loads(json.dumps(card.as_dict()))) == card
    assert kept_card(store, run) == card
    store.database.execute("UPDATE judge_cards SET content = '{}'")
    assert kept_card(store, run) is None
    assert card_of(store, run) == card == kept_card(store, run)
    for broken in ({}, {"run": 1}, card.as_dict() | {"basis": "never"}, card.as_dict() | {"curve": "none"}):
        with pytest.raises((KeyError, TypeError, ValueError)):
            card_from(broken)


def test_a_store_that_can_only_be_read_shows_them_too(labelled: Labelled, monkeypatch: pytest.MonkeyPatch) -> None:
    labelled.label()

    def refuse(*_: Any, **__: Any) -> None:
        raise StoreError("attempt to write a readonly database")

    monkeypatch.setattr(labelled.store.judge_cards, "keep", refuse)

    assert labelled_overview(labelled.store, labelled.run).summary.cases.corrected is not None


def test_a_comparison_has_both_sides_and_says_plainly_which_has_no_labels(labelled: Labelled, tmp_path: Path) -> None:
    other = Labelled(labelled.db, gates=GATES)
    neither = compare(labelled.made.id, other.made.id, store=labelled.db)
    labelled.label()
    one = compare(labelled.made.id, other.made.id, store=labelled.db)
    other.label()
    both = compare(labelled.made.id, other.made.id, store=labelled.db)
    other.store.close()

    neither.save(tmp_path / "neither.md")
    one.save(tmp_path / "one.md")
    both.save(tmp_path / "both.html")
    assert "corrected" not in neither.as_dict()
    assert "What people would say" not in (tmp_path / "neither.md").read_text(encoding="utf-8")
    assert one.as_dict()["corrected"]["b"] is None
    text = (tmp_path / "one.md").read_text(encoding="utf-8")
    text = text.replace("\\", "")
    assert "A: corrected pass rate" in text
    assert f"B: no labels that count, so nothing is known of what people would say of run {other.made.id}" in text
    assert both.as_dict()["corrected"]["a"]["pass_rate"] == both.as_dict()["corrected"]["b"]["pass_rate"]
    assert (tmp_path / "both.html").read_text(encoding="utf-8").count("corrected pass rate") == 2


def test_what_the_suite_demands_of_its_judge_is_checked_where_there_are_labels(labelled: Labelled) -> None:
    demanded = {"min_sensitivity_low": 0.9, "min_specificity_low": 0.1}
    run = replace(labelled.run, definition={**labelled.run.definition, "trust": demanded})
    given = replace(run, options={**run.options, "labels": "labels.csv"})
    elsewhere = replace(run, definition={"trust": {**demanded, "evaluator": "nobody"}})

    assert trust_results(labelled.store, run) == ()
    assert [gate.problem for gate in trust_results(labelled.store, given)] == ["there are no labels that count"] * 2
    labelled.label()
    assert "no evaluator 'nobody'" in trust_results(labelled.store, elsewhere)[0].problem
    found = trust_results(labelled.store, run)

    assert [(gate.name, gate.ok) for gate in found] == [
        ("trust.min_sensitivity_low", False),
        ("trust.min_specificity_low", True),
    ]
    assert exit_code(labelled.shown.summary, Gates(), found) is ExitCode.JUDGE_NOT_TRUSTED
