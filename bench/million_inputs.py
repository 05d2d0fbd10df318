"""The same cases as JSONL, CSV and Parquet, each with a suite; and further runs of them, to compare with."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import provider
from bench.judging import case
from bench.large_run import PROMPT
from bench.running import KEY
from evenhand.domain.evaluation import Attempt, Evaluation, Usage
from evenhand.domain.run import Judgment, RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.store.rows import Batch, evaluation_row
from evenhand.store.store import Store

FORMS = ("jsonl", "csv", "parquet")
NAMES = ("id", "input", "candidate_answer", "reference_answer", "expected_outcome", "language")
# Rows of a row group; what a writer takes by default is between this and a million.
GROUP = 100_000


def cells(number: int) -> tuple[str, ...]:
    """Return the cells of a row."""
    one = case(number)
    texts = (one.question, one.candidate_answer, one.reference_answer, one.expected_outcome)
    return f"expedition-{number}", *map(str, texts), ("de", "en", "fr")[number % 3]


def written(folder: Path, form: str, count: int, port: int) -> Path:
    """Write a table and the suite that judges it, and return the suite."""
    table = folder / f"cases.{form}"
    if form == "jsonl":
        _write_jsonl(table, count)
    elif form == "csv":
        with table.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(NAMES)
            rows.writerows(cells(number) for number in range(count))
    else:
        _write_parquet(table, count)
    suite = folder / f"{form}.yaml"
    suite.write_text(
        f"""\
name: million
judge: {{model: openai/bench, base_url: "http://127.0.0.1:{port}/v1", api_key: "${{{KEY}}}", proxy: ""}}
evaluators: [{{name: quality, type: llm_judge}}]
cases: {table.name}
""",
        encoding="utf-8",
    )
    return suite


def _write_jsonl(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            *texts, language = cells(number)
            content: dict[str, Any] = dict(zip(NAMES, texts, strict=False)) | {"metadata": {"language": language}}
            file.write(f"{json.dumps(content)}\n")


def _write_parquet(path: Path, count: int) -> None:
    import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # noqa: PLC0415

    def groups() -> Iterator[Any]:
        for first in range(0, count, GROUP):
            rows = [cells(number) for number in range(first, min(first + GROUP, count))]
            yield pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True)))

    parts = groups()
    beginning = next(parts)
    with pq.ParquetWriter(path, beginning.schema) as writer:
        writer.write_table(beginning)
        for part in parts:
            writer.write_table(part)


def copied(store: Store, run: str, *, backwards: bool = False) -> str:
    """Write another run of the cases of a run straight into the store, with scores of its own; return its id.

    Its rows are as large as those of a run that was judged.
    """
    source = store.runs.find(run)
    made = store.runs.create(
        name=source.name, source=source.source, definition=source.definition, options=source.options
    )
    for page, _ in store.columns(source):
        rows = [
            (made.number, source.cases - 1 - position if backwards else position, *columns)
            for position, *columns, _ in page
        ]
        store.add_cases(rows)
        store.commit(Batch(evaluations=[_evaluation_row(row) for row in rows]))
    return store.runs.mark(made, RunStatus.FINISHED, cases=source.cases).id


def _evaluation_row(case_row: tuple[Any, ...]) -> tuple[Any, ...]:
    run, position, *_, content = case_row
    score = position * 7919 % 101 / 100
    raw = json.dumps(provider.VERDICT | {"score": score})
    attempt = Attempt(kind="reply", raw=raw, latency=0.4, usage=Usage(input_tokens=400, output_tokens=60))
    evaluation = Evaluation.with_score(
        evaluator="quality",
        type="llm_judge",
        score=score,
        verdict=Thresholds().verdict(score),
        reasoning=provider.VERDICT["reasoning"],
        attempts=(attempt,),
        evaluator_provider_request={"systemPrompt": PROMPT, "userPrompt": content},
    )
    judgment = Judgment(evaluation=evaluation, key=os.urandom(16).hex(), cost=0.0, seconds=0.4)
    return evaluation_row(run, position, 0, judgment)
