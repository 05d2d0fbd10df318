"""What it takes the server to show, filter and sort the evaluations of a large run."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from bench.measure import ROUNDS, Row
from evenhand.domain.evaluation import Attempt, Evaluation, Usage
from evenhand.domain.run import Judgment, MadeAnswer, RunRecord, RunStatus
from evenhand.domain.secret import Secret
from evenhand.domain.verdict import Thresholds
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings
from evenhand.store.rows import Batch, answer_row, dumps, evaluation_row
from evenhand.store.store import Store, open_store

EVALUATIONS = 100_000
FIRST, OTHER = "150 ms", "300 ms"
PAGE = 1_000
REASON = "The answer names the city and says why, but it does not mention the year that the question asked for. " * 4
PROMPT = "You are judging an answer by the criteria below. " * 40
PAGE_KILOBYTES = 40
LISTS = {
    "results: first rows": ("", FIRST),
    "results: the next rows": ("cursor", OTHER),
    "results: filter": ("verdict=fail&min_score=0.2&max_score=0.4", OTHER),
    "results: filter by model": ("model=openai/b&has_error=false", OTHER),
    "results: filter by text": ("text=capital of country 77123", OTHER),
    "results: sort": ("sort=score&descending=true", OTHER),
    "results: sort and filter": ("sort=cost&status=scored&evaluator=criteria", OTHER),
}


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        db = str(Path(folder) / "large.db")
        with contextlib.closing(open_store(db)) as store:
            run = filled(store, EVALUATIONS)
        settings = ServerSettings(db=db, token=Secret("t" * 16))
        with TestClient(make_app(settings), base_url="http://localhost:8642") as client:
            path = f"/api/runs/{run.id}/evaluations"
            cursor = client.get(path).json()["next"]
            began = time.perf_counter()
            client.get(f"{path}?retried=true")  # waits for the listing that the first look began
            yield "results: the listing that filters need, made once", milliseconds(time.perf_counter() - began), ""
            for what, (query, goal) in LISTS.items():
                asked = f"cursor={cursor}" if query == "cursor" else query
                taken = min(seconds(client, f"{path}?{asked}&limit=100") for _ in range(ROUNDS))
                yield f"{what}, of {EVALUATIONS:,} (clock)", milliseconds(taken), goal
            page = f"/runs/{run.id}/results"
            taken = min(page_seconds(client, page) for _ in range(ROUNDS))
            yield f"results: the page with its first rows, of {EVALUATIONS:,} (clock)", milliseconds(taken), FIRST
            size = len(client.get(page).content) / 1024
            yield "results: the size of that page", f"{size:.1f} KB", f"{PAGE_KILOBYTES} KB"


def seconds(client: TestClient, path: str) -> float:
    began = time.perf_counter()
    answer = client.get(path)
    taken = time.perf_counter() - began
    assert answer.status_code == 200, answer.text
    assert answer.json()["items"], path
    return taken


def page_seconds(client: TestClient, path: str) -> float:
    began = time.perf_counter()
    answer = client.get(path)
    taken = time.perf_counter() - began
    assert answer.status_code == 200, answer.text
    return taken


def milliseconds(taken: float) -> str:
    return f"{taken * 1000:.0f} ms"


def filled(store: Store, count: int) -> RunRecord:
    """Make a run of so many evaluations, each as large as those of a real run."""
    definition = {"name": "large", "evaluators": [{"name": "criteria", "type": "llm_judge"}]}
    run = store.runs.create(name="large", source="large.yaml", definition=definition, options={})
    for first in range(0, count, PAGE):
        positions = range(first, min(first + PAGE, count))
        store.add_cases([case_row(run, position) for position in positions])
        store.commit(
            Batch(
                answers=[answer_row(run.number, position, made(position)) for position in positions],
                evaluations=[evaluation_row(run.number, position, 0, judged(position)) for position in positions],
            )
        )
    return store.runs.mark(run, RunStatus.FINISHED, cases=count)


def case_row(run: RunRecord, position: int) -> tuple[Any, ...]:
    case = {
        "id": f"case-{position:06}",
        "question": f"What is the capital of country {position}? " + "Say why. " * 20,
        "metadata": {"model": f"openai/{'ab'[position % 2]}"},
    }
    return run.number, position, case["id"], "hash", 1, dumps({"case": case})


def made(position: int) -> MadeAnswer:
    return MadeAnswer(text=f"The capital of country {position} is called so. " * 5, cost=0.001, latency=0.5)


def judged(position: int) -> Judgment:
    score = (position * 7919 % 101) / 100
    raw = dumps({"score": score, "reasoning": REASON})
    attempts = (Attempt(kind="reply", raw=raw, latency=0.4, usage=Usage(input_tokens=900, output_tokens=90)),)
    if position % 50 == 0:
        evaluation = Evaluation.with_error(evaluator="criteria", type="llm_judge", error="unparsable: no JSON in it")
    else:
        evaluation = Evaluation.with_score(
            evaluator="criteria",
            type="llm_judge",
            score=score,
            verdict=Thresholds().verdict(score),
            reasoning=REASON,
            attempts=attempts,
            retry_count=int(position % 40 == 1),
            evaluator_provider_request={"systemPrompt": PROMPT, "userPrompt": REASON},
        )
    return Judgment(evaluation=evaluation, key=os.urandom(16).hex(), cost=score / 100, seconds=0.4)


if __name__ == "__main__":
    for what, measured, goal in rows():
        print(f"{what:<68} {measured:>10}  {goal}", flush=True)
