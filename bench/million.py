"""What every command takes with 10,000, 100,000 or a million cases, on SQLite or on PostgreSQL.

`python -m bench.million 10000 100000 --database postgres` goes through all steps, each in a process of its own. The
judge is behind HTTP on this machine, and answers at once. The first run is killed when half of its cases are judged,
and resumed. The figures are kept in ``million.json``, and written as tables into ``docs/design/scale.md``.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import provider
from bench.judging import SIDE_BY_SIDE
from bench.measure import ended
from bench.million_inputs import FORMS, copied, written
from bench.million_table import Figure, keep
from bench.pages import asked
from bench.postgres import make_database, running_postgres
from bench.running import KEY
from bench.server_process import peak_megabytes, serving, spent
from evenhand.domain.run import RunStatus
from evenhand.store.store import open_store

FOLDER = Path(__file__).resolve().parents[1] / "build" / "million"
REPORTS = ("json", "jsonl", "csv", "md", "xml", "html")
COMPARISONS = ("json", "md", "html")
JUDGING = ("--concurrency", str(SIDE_BY_SIDE), "--quiet")
# A report on standard output may be large; ids are short.
_MOST_READ = 1_000
# After a server has listed the run: what a page costs, by what it shows.
PAGES = {
    "the page of results": "results",
    "results, by verdict and score": "results?verdict=fail&min_score=0.2&max_score=0.4",
    "results, by metadata": "results?metadata.language=de",
    "results, sorted by score": "results?sort=score",
    "the last page of results": "results?offset={last}",
    "the page of evaluations": "evaluations",
    "the page of a case": "results/{middle}",
    "the run's page": "",
}


@dataclass(slots=True)
class Bench:
    """The place of the measurements: how many cases, where the store is, and what was measured."""

    cases: int
    folder: Path
    db: str
    port: int
    # What the database's own processes have spent, where it has some.
    of_database: Callable[[], float]
    figures: dict[str, Figure] = field(default_factory=dict)

    def command(self, step: str, *arguments: str, half: bool = False, code: int = 0) -> str:
        """Run a command, keep what it took, and return what it printed; kill it half-way if asked to."""
        command = [sys.executable, "-m", "evenhand", *arguments, "--db", self.db]
        before, answered = self.of_database(), self._answered()

        def kill(process: int) -> None:
            while self._answered() - answered < self.cases // 2:
                time.sleep(0.02)
            os.kill(process, signal.SIGKILL)

        with (self.folder / "printed").open("w+b") as printed, (self.folder / "errors").open("w+b") as errors:
            found, used = ended(command, {1: printed.fileno(), 2: errors.fileno()}, kill if half else None)
            printed.seek(0)
            errors.seek(0)
            told = printed.read(_MOST_READ).decode(errors="replace")
            assert found == (-signal.SIGKILL if half else code), (command, found, errors.read()[-2000:])
        self.keep(step, used.seconds, self.of_database() - before, used.megabytes)
        return told

    def keep(self, step: str, seconds: float, of_database: float, megabytes: float | None) -> None:
        """Keep a figure, and show it at once."""
        self.figures[step] = Figure(seconds, of_database, megabytes)
        memory = "" if megabytes is None else f"{megabytes:8.0f} MB"
        print(f"{step:<52} {seconds:9.2f} s {of_database:9.2f} s {memory}", flush=True)

    def _answered(self) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/answered")
        answered = int(connection.getresponse().read())
        connection.close()
        return answered


def measured(bench: Bench, *, is_filled: bool = False) -> None:
    """Go through all steps, in the order in which somebody would; or, to save time, without those that judge."""
    first = filled(bench) if is_filled else judged(bench)
    planned(bench)
    reported(bench, first)
    with contextlib.closing(open_store(bench.db)) as store:
        second, third = copied(store, first), copied(store, first, backwards=True)
    summarized(bench, second, third)
    compared(bench, first, second, third)
    listed(bench, first)
    served(bench, first, second)
    moved(bench, first)


def judged(bench: Bench) -> str:
    """Judge the cases in two parts, and return the id of the run."""
    suite = str(bench.folder / "jsonl.yaml")
    bench.command("run of JSONL, killed half-way", "run", suite, *JUDGING, half=True)
    return bench.command("resume, to the end", "resume", *JUDGING).strip()


def filled(bench: Bench) -> str:
    """Plan the run, and write the evaluations of another one like it straight into the store; return its id."""
    run = plan(bench, "JSONL")
    with contextlib.closing(open_store(bench.db)) as store:
        return copied(store, run)


def planned(bench: Bench) -> None:
    for name in ("CSV", "Parquet"):
        plan(bench, name)


def plan(bench: Bench, name: str) -> str:
    """Plan a table, and return the id: with no call to spend, a run stops when all of its cases are stored."""
    suite = str(bench.folder / f"{name.lower()}.yaml")
    no_calls = ("--no-cache", "--max-calls", "0")
    return bench.command(f"run of {name}, planned only", "run", suite, *no_calls, *JUDGING, code=102).strip()


def reported(bench: Bench, run: str) -> None:
    bench.command("report", "report", run)
    for ending in REPORTS:
        path = bench.folder / f"report.{ending}"
        bench.command(f"report -o .{ending}", "report", run, "-o", str(path))
        path.unlink()
    bench.command("report --canonical", "report", run, "--canonical")


def summarized(bench: Bench, *runs: str) -> None:
    """Report runs of which no summary is kept, as those were that another tool, or an older version, has made."""
    for run in runs:
        bench.command("report, of a run without a summary", "report", run)


def compared(bench: Bench, first: str, second: str, third: str) -> None:
    bench.command("compare", "compare", first, second)
    for ending in COMPARISONS:
        path = bench.folder / f"comparison.{ending}"
        bench.command(f"compare -o .{ending}", "compare", first, second, "-o", str(path))
    bench.command("compare, cases in the opposite order", "compare", first, third)


def listed(bench: Bench, run: str) -> None:
    bench.command("runs list", "runs", "list")
    with contextlib.closing(open_store(bench.db)) as store:
        begun = store.runs.mark(store.runs.find(run), RunStatus.RUNNING)  # by this process, which lives
        bench.command("runs list, while a run is in progress", "runs", "list")
        store.runs.mark(begun, RunStatus.FINISHED)
    bench.command("runs show", "runs", "show", run)
    bench.command("show, one case", "show", f"expedition-{bench.cases // 2}", run)
    bench.command("runs verify", "runs", "verify", run)
    bench.command("label --sample 100", "label", run, "--sample", "100", "-o", str(bench.folder / "labels.csv"))


def moved(bench: Bench, run: str) -> None:
    exported = str(bench.folder / "run.jsonl")
    bench.command("export", "export", run, "-o", exported)
    bench.command("runs delete", "runs", "delete", run, "--yes")
    bench.command("import", "import", exported)
    bench.command("runs prune, of two runs and two plans", "runs", "prune", "--keep", "1", "--yes")
    bench.command("runs vacuum", "runs", "vacuum")


def served(bench: Bench, run: str, other: str) -> None:
    """Serve the run, and measure what its pages cost; the first list of all makes the listing."""
    with serving(bench.db, {}) as (server, address):
        asked(address, "/settings")  # loads what the first page of all loads

        def page(step: str, path: str) -> None:
            before, of_database = spent(server), bench.of_database()
            asked(address, path)
            bench.keep(step, spent(server) - before, bench.of_database() - of_database, None)

        page("pages: the first filter, which makes the listing", f"/runs/{run}/results?verdict=fail")
        last, middle = max(0, bench.cases - 30), bench.cases // 2
        for step, path in PAGES.items():
            page(f"pages: {step}", f"/runs/{run}/{path.format(last=last, middle=middle)}")
        page("pages: the comparison of two runs", f"/compare?a={run}&b={other}")
        page("pages: all evaluations as CSV", f"/runs/{run}/evaluations/export.csv")
        page("pages: the report as HTML", f"/runs/{run}/download.html")
        bench.keep("pages: the server, at its peak", spent(server), 0, peak_megabytes(server))


@contextlib.contextmanager
def stored(database: str, folder: Path) -> Iterator[tuple[str, Callable[[], float]]]:
    """Give an empty database, and a function that tells what its own processes have spent."""
    if database == "sqlite":
        yield str(folder / "runs.db"), lambda: 0.0
        return
    with running_postgres() as postgres:

        def spent_by_all() -> float:
            children = Path(f"/proc/{postgres.process}/task/{postgres.process}/children")
            found = [postgres.process, *map(int, children.read_text(encoding="ascii").split())]
            return sum(map(_spent_or_ended, found))

        yield make_database(postgres.url, "million"), spent_by_all


def _spent_or_ended(process: int) -> float:
    with contextlib.suppress(OSError):
        return spent(process)
    return 0.0  # its parent counts it


def main(arguments: Sequence[str]) -> None:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.million", description=__doc__)
    parser.add_argument("cases", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--filled", action="store_true", help="write evaluations to the store instead of judging")
    parser.add_argument("--keep", action="store_true", help="leave the folder in build/million")
    given = parser.parse_args(arguments)
    os.environ[KEY] = "k"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for cases in given.cases:
        folder = FOLDER / f"{given.database}-{cases}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with provider.running("varied") as port, stored(given.database, folder) as (db, of_database):
            for form in FORMS:
                written(folder, form, cases, port)
            bench = Bench(cases=cases, folder=folder, db=db, port=port, of_database=of_database)
            try:
                measured(bench, is_filled=given.filled)
            finally:
                keep(given.database, cases, bench.figures)
        if not given.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
