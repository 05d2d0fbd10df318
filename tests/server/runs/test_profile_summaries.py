"""What rankings came to: worked out once, also while a run goes on."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from evenhand import rank
from evenhand.domain.run import RunStatus
from evenhand.profiles.ranking import fit
from evenhand.server.runs.profile_summaries import ProfileNumbers
from evenhand.store.store import open_store


def test_of_a_run_that_goes_on_one_ranking_is_worked_out_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = str(tmp_path / "evenhand.db")
    judge = json.dumps({"reasoning": "So.", "order": ["A", "B", "C"]})
    made = rank(["One.", "Two.", "Three."], criteria="Worth", judge=lambda _: judge, rounds=3, store=db).run.id
    begun: list[bool] = []
    may_end = threading.Event()
    usual = fit.ranks_from

    def slowly(results: Any, *more: Any) -> Any:
        begun.append(True)
        may_end.wait(60)
        return usual(results, *more)

    monkeypatch.setattr(fit, "ranks_from", slowly)
    store = open_store(db)
    store.runs.claim(store.runs.find(made))
    run = store.runs.mark(store.runs.find(made), RunStatus.RUNNING)
    numbers = ProfileNumbers()

    for _ in range(2):
        with pytest.raises(TimeoutError):
            numbers.ranks(store, run, 0.0)
        store.database.execute("DELETE FROM evaluations WHERE run = ? AND position = 2", [run.number])
    may_end.set()
    numbers.ranks(store, run)
    assert len(begun) == 1
    later = numbers.ranks(store, run)
    store.close()

    assert (len(begun), later.pending) == (2, 1)
