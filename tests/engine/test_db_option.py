"""The option by which a command finds a run: what reports and messages tell people to type must work."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand import Case, Contains, Run, evaluate
from evenhand.engine.store_location import VARIABLE, db_option

CASES = [Case(id="capital", candidate_answer="Paris")]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)


def told(store: str | None) -> tuple[Run, str]:
    run = evaluate(CASES, Contains(value="Paris"), store=store)
    return run, run.report().splitlines()[-1]


def test_the_default_database_needs_no_option(monkeypatch: pytest.MonkeyPatch) -> None:
    run, last = told("default")
    assert last == f"All cases: evenhand report {run.id} --output report.html"
    monkeypatch.setenv(VARIABLE, "elsewhere.db")
    run, last = told("default")
    assert last == f"All cases: evenhand report {run.id} --output report.html"
    monkeypatch.delenv(VARIABLE)
    assert db_option("elsewhere.db") == " --db elsewhere.db"


@pytest.mark.parametrize(
    ("store", "option"),
    [
        ("runs.db", " --db runs.db"),
        ("of mine/runs.db", " --db 'of mine/runs.db'"),
        ("sqlite:///runs.db", " --db runs.db"),
    ],
)
def test_a_report_names_the_database_that_its_run_is_in(tmp_path: Path, store: str, option: str) -> None:
    (tmp_path / "of mine").mkdir()
    run, last = told(store)
    assert last == f"All cases: evenhand report {run.id}{option} --output report.html"
    assert Run.open(run.id, store=store).report().splitlines()[-1] == last


def test_a_run_in_memory_is_said_to_be_in_memory() -> None:
    _, last = told(None)
    assert last == "The run is in memory only: save a report, such as report.html, to keep its cases."
    assert db_option("sqlite:///:memory:") is None


def test_no_password_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://me:secret@db.example/evals"
    assert db_option(url) == " --db 'postgresql://me:***@db.example/evals'"
    monkeypatch.setenv(VARIABLE, url)
    assert db_option(url) == db_option("postgresql://me:***@db.example/evals") == ""
