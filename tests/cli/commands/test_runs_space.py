"""`evenhand runs prune` and `evenhand runs vacuum`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evenhand import Case, Contains, add_labels, evaluate
from evenhand.store.store import open_store

# Commands of their own take a while.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]

DATABASE = ".evenhand/evenhand.db"


def run(name: str, *, cases: int = 1, label: str | None = None) -> str:
    judged = [Case(id=f"case-{number}", candidate_answer="Paris " * 50) for number in range(cases)]
    return evaluate(judged, Contains(value="Paris"), name=name, store=DATABASE, label=label).id


def test_old_runs_are_deleted_and_what_somebody_needs_is_kept(command: Callable[..., Any]) -> None:
    plain = [run("one", cases=200) for _ in range(3)]
    other = run("other")
    labelled = run("one", label="release 3")
    judged = evaluate([Case(id="case", candidate_answer="Paris")], Contains(value="Paris"), name="one", store=DATABASE)
    add_labels(judged, [{"id": "case", "human": "pass"}], rater="Ann")
    newest = run("one")

    listed = command("runs", "prune", "--keep", "1", "--dry-run")
    young = command("runs", "prune", "--keep", "1", "--older-than", "1", "--yes")
    unasked = command("runs", "prune", "--keep", "1")

    assert [line.split()[0] for line in listed.out.splitlines()] == plain[::-1]
    assert "3 runs would be deleted" in listed.err
    assert "kept 1 old run with a label\n" in listed.err
    assert "kept 1 old run with labels by people\n" in listed.err
    assert "there is nothing to delete" in young.err
    assert unasked.code == 2

    done = command("runs", "prune", "--keep", "1", "--yes")
    vacuumed = command("runs", "vacuum")

    assert "deleted 3 runs with 600 cases: " in done.err
    assert " MB are free for new runs" in done.err
    assert "evenhand runs vacuum returns them to the disk" in done.err
    assert f"{DATABASE}: " in vacuumed.err
    assert " MB freed" in vacuumed.err
    store = open_store(DATABASE)
    assert set(store.runs.ids()) == {other, labelled, judged.id, newest}
    assert store.space().free == 0


def test_what_is_old_must_be_said(command: Callable[..., Any]) -> None:
    refused = command("runs", "prune")

    assert refused.code == 2
    assert "nothing says which runs are old; give --keep N, --older-than DAYS, or both" in refused.err
