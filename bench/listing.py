"""What it takes a server that was just started to filter, sort and search the evaluations and cases of a large run."""

from __future__ import annotations

import contextlib
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.measure import Row, cpu_seconds
from bench.serving import filled
from evenhand.server.runs.results import CASE_READER
from evenhand.store.listing import CaseFilter, CaseOrder, Filter, Listing, Order
from evenhand.store.store import open_store

EVALUATIONS = 100_000
FIRST, OTHER, MEMORY = "500 ms", "300 ms", "200 MB"
FAILED = ("fail", "error")
FILTER, KEPT, MEGABYTES = "listing: the first filter after a start", "kept", "megabytes"
EVALUATION_LISTS = {
    "evaluations, by verdict and score": (Filter(verdict=("fail",), min_score=0.2, max_score=0.4), Order()),
    "evaluations, by model": (Filter(model=("openai/b",), has_error=False), Order()),
    "evaluations, sorted by score": (Filter(), Order(by="score", descending=True)),
}
CASE_LISTS = {
    "cases, by standing": (CaseFilter(standing=FAILED), CaseOrder()),
    "cases, by standing, sorted by cost": (CaseFilter(standing=FAILED), CaseOrder(by="cost", descending=True)),
    "cases, by evaluator and standing": (CaseFilter(evaluator=("criteria",), standing=FAILED), CaseOrder()),
    "cases, sorted by score": (CaseFilter(), CaseOrder(by="score")),
}
SEARCHES = {
    "cases, with a rare text": CaseFilter(text="capital of country 77123"),
    "cases, with a common word": CaseFilter(text="capital"),
    "cases, with a word that most judges use": CaseFilter(text="mention the year"),
}


def rows(count: int = EVALUATIONS) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        db = str(Path(folder) / "large.db")
        with contextlib.closing(open_store(db)) as store:
            filled(store, count)
        before, after = measured(db), measured(db)
    yield f"listing: the first filter of all, which makes it, of {count:,}", milliseconds(before[FILTER]), ""
    yield f"listing: texts to be searched, kept once, of {count:,}", milliseconds(before[KEPT]), ""
    del after[KEPT]
    megabytes = after.pop(MEGABYTES)
    for what, seconds in after.items():
        yield f"{what}, of {count:,}", milliseconds(seconds), FIRST if what == FILTER else OTHER
    yield f"listing: memory, of {count:,}", f"{megabytes:.0f} MB", MEMORY


def milliseconds(taken: float) -> str:
    return f"{taken * 1000:.0f} ms"


def measured(db: str) -> dict[str, float]:
    """Measure in a process of its own, as after the start of a server."""
    command = [sys.executable, "-m", "bench.listing", "--measure", db]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, float] = json.loads(told)
    return found


def measure(db: str) -> dict[str, float]:
    with contextlib.closing(open_store(db)) as store, contextlib.closing(Listing(store, CASE_READER)) as listing:
        run = store.runs.find("last")

        def evaluations(condition: Filter, order: Order) -> Callable[[], Any]:
            return lambda: listing.page(run, condition, order, limit=100, after=None)

        def cases(condition: CaseFilter, order: CaseOrder) -> Callable[[], Any]:
            return lambda: listing.case_page(run, condition, order, limit=100, after=None)

        found = {FILTER: cpu_seconds(evaluations(Filter(verdict=("fail",)), Order()))}
        lists = {what: evaluations(*asked) for what, asked in EVALUATION_LISTS.items()}
        lists |= {what: cases(*asked) for what, asked in CASE_LISTS.items()}
        for what, ask in lists.items():
            found[f"listing: {what}"] = cpu_seconds(ask)  # once, since how many match is remembered
        found[KEPT] = cpu_seconds(lambda: listing.prepare_texts(run))
        for what, condition in SEARCHES.items():
            found[f"listing: {what}"] = cpu_seconds(cases(condition, CaseOrder()))
    return found | {MEGABYTES: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--measure", db]:
            print(json.dumps(measure(db)))
        case counts:
            for what, taken, goal in rows(*map(int, counts)):
                print(f"{what:<68} {taken:>10}  {goal}", flush=True)
