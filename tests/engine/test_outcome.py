"""A run as a program gets it."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, ConfigError, Contains, Equals, EvenhandError, PromptEvaluator, Run, Scripted, evaluate
from evenhand.domain.errors import RunNotFoundError, StoreError
from evenhand.engine.store_location import StoreLocation
from evenhand.reports.csv import COLUMNS

CASES = [
    Case(id="france", candidate_answer="Paris", expected_outcome="Paris"),
    Case(id="italy", candidate_answer="Milan", expected_outcome="Rome"),
    Case(id="spain", candidate_answer="Madrid", expected_outcome="Madrid"),
]
REPLIES: list[str | Exception] = ['{"score": 0.9}', '{"score": 0.1, "misses": ["Rome"]}', ConnectionError("gone")]


@pytest.fixture
def run() -> Run:
    """A run with a pass, a fail and a judge that failed."""
    return evaluate(CASES, PromptEvaluator(judge=Scripted(REPLIES)), concurrency=1, name="capitals", store=None)


def test_it_says_in_one_line_how_it_came_out(run: Run) -> None:
    said = repr(run)

    assert said.startswith(f"Run {run.id} finished: mean 0.50 [")
    assert said.endswith("over 2 of 3; 1 judge error; 0.33 if counted as 0")


def test_the_numbers_are_worked_out_once(run: Run) -> None:
    assert run.summary is run.summary


def test_it_can_be_gone_through_more_than_once_and_at_the_same_time(run: Run) -> None:
    pairs = [(one.id, other.id) for one, other in zip(run, run, strict=True)]

    assert pairs == [("france", "france"), ("italy", "italy"), ("spain", "spain")]


def test_a_notebook_shows_the_numbers(run: Run) -> None:
    shown = run._repr_html_()

    assert "capitals" in shown
    assert "1 judge error" in shown
    assert "<script" not in shown


@pytest.mark.parametrize(
    ("kind", "sign"),
    [("text", "Worst cases"), ("md", "#"), ("json", '"summary"'), ("csv", '"case_id"'), ("xml", "<testsuite"), ("html", "<!doctype")],
)  # fmt: skip
def test_it_gives_reports_as_text(run: Run, kind: str, sign: str) -> None:
    assert sign in run.report(kind)


def test_it_writes_reports_to_files(run: Run, tmp_path: Path) -> None:
    path = run.save(tmp_path / "results.jsonl")

    assert [json.loads(line)["case_id"] for line in path.read_text().splitlines()] == ["france", "italy", "spain"]


@pytest.mark.parametrize(("kind", "hint"), [("markdown", "known: "), ("htlm", "'html'"), ("a.html", "run.save(path)")])
def test_a_format_that_does_not_exist_is_named(run: Run, kind: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"no report format '{kind}'") as raised:
        run.report(kind)

    assert hint in str(raised.value)


def test_the_cases_as_dicts_have_all_their_evaluations(run: Run) -> None:
    rows = run.to_dicts()

    assert [(row["case_id"], row["status"]) for row in rows] == [
        ("france", "scored"),
        ("italy", "scored"),
        ("spain", "error"),
    ]
    assert rows[1]["evaluations"][0]["misses"] == ["Rome"]


def test_a_data_frame_has_a_row_for_each_case_evaluator_and_sample() -> None:
    run = evaluate(CASES, [Contains(value="Paris"), Equals(value="Paris")], repeat=2, store=None)

    frame = run.to_pandas()

    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == 3 * 2 * 2
    assert frame.groupby("evaluator")["score"].mean().to_dict() == {"contains": 1 / 3, "equals": 1 / 3}


def test_without_pandas_it_says_how_to_get_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(ConfigError, match=r"pip install 'evenhand\[pandas\]'"):
        run.to_pandas()


# Gates


@pytest.mark.parametrize(
    ("gates", "passed"),
    [
        (None, False),  # a judge failed, and nothing says that it may
        ({"max_unscored": 1}, True),
        ({"max_unscored": 1, "min_mean": 0.9}, False),
        ({"max_unscored": 0}, False),
    ],
)
def test_it_passes_if_its_gates_hold(gates: dict[str, Any] | None, passed: bool) -> None:
    evaluator = PromptEvaluator(judge=Scripted(REPLIES))

    run = evaluate(CASES, evaluator, concurrency=1, gates=gates, store=None)

    assert run.passed is passed
    assert len(run.gates) == len(gates or {})


# Stored runs


def test_a_stored_run_is_opened_by_its_id_the_beginning_of_it_or_as_the_last(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    first = evaluate(CASES, Contains(value="Paris"), store=store, gates={"min_mean": 0.9})
    last = evaluate(CASES, Contains(value="M"), store=store)

    assert Run.open(store=store).id == last.id
    assert Run.open(first.id, store=store).gates == first.gates
    assert Run.open(first.id[:-1], store=f"sqlite:///{store}").summary == first.summary
    with pytest.raises(RunNotFoundError, match="no run 'nothing'"):
        Run.open("nothing", store=store)


def test_it_stays_the_same_run_when_the_working_directory_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = evaluate(CASES, Contains(value="Paris"), store="runs.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert [result.id for result in run] == ["france", "italy", "spain"]


def test_a_database_that_is_gone_or_another_one_is_no_run_without_cases(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    run = evaluate(CASES, Contains(value="Paris"), store=store)
    for path in tmp_path.iterdir():
        path.unlink()

    assert f"there is no {store}" in repr(run)
    with pytest.raises(RunNotFoundError, match="there is no"):
        Run.open(store=store)
    assert list(tmp_path.iterdir()) == []
    evaluate(CASES, Contains(value="Paris"), store=store)
    with pytest.raises(RunNotFoundError, match=f"no run '{run.id}'"):
        list(run)


@pytest.mark.slow
def test_a_database_in_memory_lives_as_long_as_its_run() -> None:
    run = evaluate(CASES, Contains(value="Paris"), store="sqlite://")
    with run._place.opened() as store:
        pass

    assert len(list(run)) == 3
    del run
    gc.collect()
    with pytest.raises(StoreError, match="closed"):
        store.runs.newest()


def test_two_places_in_memory_are_two() -> None:
    one, other = StoreLocation(None), StoreLocation("sqlite:///:memory:")
    evaluate(CASES, Contains(value="Paris"), store=one)

    with other.opened() as store:
        assert store.runs.newest() == []
    assert isinstance(StoreError("x"), EvenhandError)
