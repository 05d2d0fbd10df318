"""What it takes to plan a run of the rows of a table: CPU time for a row, and memory, which must not grow with them."""

from __future__ import annotations

import contextlib
import csv
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Row, used_by
from evenhand.engine.job import Scope
from evenhand.engine.plan import plan
from evenhand.store.store import open_store
from evenhand.suites.suite import job_of, read_suite

FORMS = ("jsonl", "csv", "parquet")
SOME, MANY = 10_000, 1_000_000
# Of each id eight bytes are remembered, in a table that doubles: 24 MB. A large row group of Parquet has larger pages.
MORE_MEGABYTES = 64
NAMES = ("id", "input", "candidate_answer", "reference_answer", "topic")


def rows(some: int = SOME, many: int = MANY) -> Iterator[Row]:
    """Plan a table of some rows and one of many, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMS:
            few, all_of_them = (used_by(planning(Path(folder), form, count)) for count in (some, many))
            took = f"{(all_of_them.seconds - few.seconds) / (many - some) * 1e6:.0f} µs"
            more = all_of_them.megabytes - few.megabytes
            yield f"planning a row of {form}", took, ""
            yield f"peak memory with {many:,} rows of {form}, over {some:,}", f"{more:+.0f} MB", f"{MORE_MEGABYTES} MB"


def planning(folder: Path, form: str, count: int) -> list[str]:
    """Write a table and its suite, and return the command that plans it."""
    table = folder / f"{count}.{form}"
    write(table, form, count)
    suite = table.with_suffix(".yaml")
    suite.write_text(f"evaluators: [{{type: contains}}]\ncases: {table.name}\n", encoding="utf-8")
    return [sys.executable, "-m", "bench.tables", str(suite), str(folder / f"{count}-{form}.db")]


def cells(number: int) -> tuple[str, ...]:
    """Return the cells of a row; some are in quotes, since they have a comma in them."""
    question = f"What is the capital of country number {number}, please?"
    return str(number), question, f"It is the city number {number}.", f"city number {number}", "geography"


def write(path: Path, form: str, count: int) -> None:
    """Write a table of so many rows."""
    if form == "parquet":
        write_parquet(path, count)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if form == "csv":
            csv.writer(file).writerows([NAMES, *map(cells, range(count))])
        else:
            for number in range(count):
                *case, topic = cells(number)
                content = dict(zip(NAMES, case, strict=False)) | {"metadata": {"topic": topic}}
                file.write(f"{json.dumps(content)}\n")


def write_parquet(path: Path, count: int) -> None:
    """Write a table in one row group, as pyarrow does by default."""
    import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # noqa: PLC0415

    columns = zip(*map(cells, range(count)), strict=True)
    pq.write_table(pa.table(dict(zip(NAMES, map(list, columns), strict=True))), path)


def main() -> None:
    """Plan the suite and the database of the arguments."""
    suite, database = sys.argv[1:]
    with contextlib.closing(open_store(database)) as store:
        plan(store, job_of(read_suite(suite)), Scope())


if __name__ == "__main__":
    main()
