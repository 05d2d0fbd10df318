"""`last` where labels are given or used: the latest run of a suite, whatever was done since."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from evenhand import draw_labels, examine_judge

Command = Callable[..., Any]
STORE = Path(".evenhand") / "evenhand.db"


def passes_all(_: Any) -> dict[str, Any]:
    return {"reasoning": "Fine.", "hits": [], "misses": [], "score": 0.9}


def test_an_examination_is_not_labelled_in_place_of_the_last_run(command: Command, finished: str) -> None:
    before = command("label", "last", "--sample", "2", "--seed", "1", "-o", "labels.csv")
    examined = examine_judge(passes_all, probes=["null_answers"], size=1, store=STORE).run.id

    after = command("label", "last", "--sample", "2", "--seed", "1", "-o", "labels.csv")
    refused = [command(*words) for words in (("calibrate",), ("tune", "last"))]
    named = command("calibrate", examined)

    told = f"last is run {finished}, "
    assert told not in before.err
    assert told in after.err
    assert f"{examined} is newer, but examines a judge" in after.err
    assert f"evenhand label {finished} --from labels.csv" in after.err
    assert all(told in each.err for each in refused)
    assert f"run {finished} has no labels that count" in refused[0].err
    assert f"run {examined} has no labels that count" in named.err
    assert draw_labels(sample=1, store=STORE).size == 1


def test_where_there_is_no_other_run_it_is_the_last_one(command: Command, folder: Path) -> None:
    examined = examine_judge(passes_all, probes=["null_answers"], size=1, store=STORE).run.id

    assert f"run {examined} has no labels that count" in command("calibrate").err
