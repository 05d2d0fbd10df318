"""What the pages and lists of a large run cost a server that was just started, on SQLite and on PostgreSQL.

The CPU time is that of the server's process, and of all processes of PostgreSQL's.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from bench.large_run import filled
from bench.measure import ROUNDS, Row
from bench.postgres import make_database, running_postgres
from bench.server_process import TOKEN, peak_megabytes, serving, spent
from evenhand.domain.run import RunRecord
from evenhand.engine.judge_card import card_of
from evenhand.engine.overview import overview_of
from evenhand.labels.draw import make_draw
from evenhand.labels.file import add_label_rows
from evenhand.server.runs.results import CASE_READER
from evenhand.store.listing import CaseFilter, CaseOrder, Listing
from evenhand.store.store import Store, open_store

SIZES = (100_000, 1_000_000)
EVALUATORS = ("criteria", "tone")
FIRST, PAGE, OTHER, KILOBYTES, MEGABYTES = "500 ms", "150 ms", "300 ms", "60 KB", "200 MB"
RESULTS = "results"
# In this order after each start: the first is the first filter, and later ones find what earlier ones left.
PAGES = {
    "the first filter after a start": ("results?verdict=fail", FIRST),
    "the page of results": (RESULTS, PAGE),
    "results, by verdict and score": ("results?verdict=fail&min_score=0.2&max_score=0.4", OTHER),
    "results, by evaluator": ("results?evaluator=tone&status=error", OTHER),
    "results, by metadata": ("results?metadata.lang=de", OTHER),
    "results, where evaluators differ": ("results?differ=1", OTHER),
    "results, sorted by score": ("results?sort=score", OTHER),
    "results, sorted by id, from the end": ("results?sort=case_id&descending=1", OTHER),
    "results, with a rare text": ("results?text=capital of country 7123", OTHER),
    "results, with a common word": ("results?text=capital", OTHER),
    "the page of evaluations": ("evaluations", PAGE),
    "evaluations, by model": ("evaluations?model=openai/b&has_error=0", OTHER),
    "evaluations, sorted by score": ("evaluations?sort=score&descending=1", OTHER),
    "the page of a case": ("results/1234", PAGE),
    "the run's page": ("", PAGE),
    "the judge card of a labelled run": ("card", PAGE),
}


def rows(*sizes: int) -> Iterator[Row]:
    for size in sizes or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            yield from measured(str(Path(folder) / "large.db"), size, "SQLite", spent)
        with running_postgres() as postgres:

            def both(server: int, postmaster: int = postgres.process) -> float:
                children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text(encoding="ascii").split()
                return sum(spent(process) for process in (server, postmaster, *map(int, children)))

            yield from measured(make_database(postgres.url, "large"), size, "PostgreSQL", both)


def measured(db: str, size: int, kind: str, cost: Callable[[int], float]) -> Iterator[Row]:
    """Measure what is made once, and each page after that."""
    about = f"{size:,}, {kind}"
    with contextlib.closing(open_store(db)) as store:
        run = filled(store, size, EVALUATORS)
        overview_of(store, run)  # which a run that was judged has
        label(store, run)
        before = cost(os.getpid())
        card_of(store, run)
        yield f"pages: judge card, made once, of {about}", milliseconds(cost(os.getpid()) - before), ""
        with contextlib.closing(Listing(store, CASE_READER)) as listing:
            for what, make in (("listing", listing.prepare), ("texts and words", listing.prepare_texts)):
                before = cost(os.getpid())
                make(run)
                yield f"pages: {what}, made once, of {about}", milliseconds(cost(os.getpid()) - before), ""
            listing.case_page(run, CaseFilter(metadata=(("lang", ("de",)),)), CaseOrder(), limit=1)
    yield from pages_of(db, run.id, about, cost)


def label(store: Store, run: RunRecord) -> None:
    """Label a hundred answers, as somebody would."""
    draw = make_draw(store, run, sample=100, seed=7)
    rows = [
        {"id": drawn.case, "human": "fail" if number % 3 else "pass", "p": drawn.p, "answer_hash": drawn.answer}
        for number, drawn in enumerate(draw.cases)
    ]
    add_label_rows(store, run, rows, rater="Ann")


def pages_of(db: str, run: str, about: str, cost: Callable[[int], float]) -> Iterator[Row]:
    """Measure each page after each of several starts; the least counts."""
    found = [once(db, run, cost) for _ in range(ROUNDS)]
    for what, (path, goal) in PAGES.items():
        yield f"pages: {what}, of {about}", milliseconds(min(costs[path] for costs, _, _ in found)), goal
    _, kilobytes, megabytes = found[0]
    yield f"pages: the size of the page of results, of {about}", f"{kilobytes:.0f} KB", KILOBYTES
    yield f"pages: the server's memory, of {about}", f"{megabytes:.0f} MB", MEGABYTES


def once(db: str, run: str, cost: Callable[[int], float]) -> tuple[Mapping[str, float], float, float]:
    """Return what each page cost after a start, by its path, the size of the page of results, and the memory."""
    costs: dict[str, float] = {}
    kilobytes = 0.0
    with serving(db, {}) as (process, address):
        asked(address, "/settings")  # loads what the first page of all loads
        for path, _ in PAGES.values():
            before = cost(process)
            page = asked(address, f"/runs/{run}/{path}")
            costs[path] = cost(process) - before
            if path == RESULTS:
                kilobytes = len(page) / 1024
        return costs, kilobytes, peak_megabytes(process)


def asked(address: tuple[str, int], path: str) -> bytes:
    connection = http.client.HTTPConnection(*address, timeout=600)
    connection.request("GET", quote(path.rstrip("/"), safe="/?=&"), headers={"Authorization": f"Bearer {TOKEN}"})
    response = connection.getresponse()
    page = response.read()
    connection.close()
    assert response.status == 200, (path, page)
    return page


def milliseconds(taken: float) -> str:
    return f"{taken * 1000:.0f} ms"


if __name__ == "__main__":
    for what, figure, goal in rows(*map(int, sys.argv[1:])):
        print(f"{what:<78} {figure:>10}  {goal}", flush=True)
