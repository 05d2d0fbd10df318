"""A damaged file never gives another report: it gives the same one, or an error that says what is damaged (SPEC-S3)."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, StoreError
from evenhand.domain.reply import Reply
from evenhand.domain.run import PlannedCase, RunStatus
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.engine.targets.model import ModelTarget
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.reports.json import canonical
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize
from evenhand.store.sqlite import SQLite
from evenhand.store.store import Store, open_store

CASES: Final = 30
PAGE: Final = 16384

Damage: TypeAlias = Callable[[bytearray, random.Random], None]


class Model:
    """Answers and judges in a way that only the question decides on."""

    keeps_deadlines = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.identity = {"model": name}

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
        said = ask.messages[-1].content
        text = f"The answer, at length: {said * 3}"
        return Reply.said(
            text if ask.contract is None else f'{{"score": 0.{len(said) % 10}, "reasoning": "{text[:40]}"}}'
        )


def judge(store: Store, name: str) -> None:
    """Judge some cases, each with an answer that a target makes and two evaluators."""
    evaluators = tuple(PromptEvaluator(judge=Model(one), name=one) for one in ("a", "b"))
    cases = [
        Case(id=f"case-{n}", question=f"Question {n}? " * (1 + n % 5), expected_outcome="good") for n in range(CASES)
    ]
    planned = [PlannedCase(position=place, case=case) for place, case in enumerate(cases)]
    job = Job(
        name=name,
        definition={"judge": "a"},
        cases=lambda: planned,
        evaluators_for=lambda _: evaluators,
        target=ModelTarget(client=Model("target")),
    )
    run = asyncio.run(Runner(store, plan(store, job, Scope()), job, Pace(concurrency=8)).run())
    assert run.status is RunStatus.FINISHED


def report(path: Path) -> str:
    """Return the canonical report of the second run, as ``evenhand report --canonical`` makes it."""
    with contextlib.closing(open_store(str(path))) as store:
        run = store.runs.find("last")
        return canonical(Report(run=run, summary=summarize(store.results(run)), results=lambda: store.results(run)))


def flip_a_bit(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def flip_bits(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randrange(2, 60)):
        flip_a_bit(data, chance)


def swap_bytes(data: bytearray, chance: random.Random) -> None:
    one, other = chance.randrange(len(data)), chance.randrange(len(data))
    data[one], data[other] = data[other], data[one]


def overwrite(data: bytearray, chance: random.Random) -> None:
    size = chance.randrange(1, 600)
    at = chance.randrange(max(len(data) - size, 1))
    data[at : at + size] = chance.randbytes(min(size, len(data) - at))


def zero(data: bytearray, chance: random.Random) -> None:
    size = chance.choice([1, 2, 8, 64, 512, 4096])
    at = chance.randrange(len(data)) // size * size
    data[at : at + size] = bytes(len(data[at : at + size]))


def zero_a_page(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data)) // PAGE * PAGE
    data[at : at + PAGE] = bytes(len(data[at : at + PAGE]))


def copy_a_block(data: bytearray, chance: random.Random) -> None:
    size = chance.choice([16, 100, 512, PAGE])
    one, other = (chance.randrange(len(data)) // size * size for _ in range(2))
    data[one : one + size] = data[other : other + size].ljust(len(data[one : one + size]), b"\0")[
        : len(data[one : one + size])
    ]


def put_a_page_elsewhere(data: bytearray, chance: random.Random) -> None:
    pages = len(data) // PAGE
    one, other = chance.randrange(pages) * PAGE, chance.randrange(pages) * PAGE
    data[one : one + PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[one : one + PAGE]


def change_a_page_head(data: bytearray, chance: random.Random) -> None:
    """Change where a page says what it is, how many cells it has and where these begin."""
    data[chance.randrange(len(data) // PAGE) * PAGE + chance.randrange(64)] = chance.randrange(256)


def change_a_head_of_the_file(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(100)] = chance.randrange(256)


def truncate(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


DAMAGES: Final[tuple[Damage, ...]] = (
    flip_a_bit, flip_a_bit, flip_bits, swap_bytes, overwrite, zero, zero_a_page, copy_a_block, put_a_page_elsewhere,
    change_a_page_head, change_a_head_of_the_file, truncate,
)  # fmt: skip


def damaged(path: Path, seed: int, damages: Sequence[Damage]) -> str:
    """Damage a file in one of many ways, and tell which."""
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    damage = chance.choice(damages)
    damage(data, chance)
    path.write_bytes(data)
    return f"seed {seed}: {damage.__name__}"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of two finished runs, the second from the cache of the first."""
    path = tmp_path_factory.mktemp("sound") / "runs.db"
    with contextlib.closing(open_store(str(path))) as store:
        judge(store, "first")
        judge(store, "second")
    return path


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a killed process leaves it: all that was committed stands in the log."""
    folder = tmp_path_factory.mktemp("left")
    with contextlib.closing(open_store(str(folder / "working.db"))) as store:
        judge(store, "first")
        judge(store, "second")
        for ending in ("", "-wal"):
            shutil.copy(folder / f"working.db{ending}", folder / f"runs.db{ending}")
    return folder / "runs.db"


def check_all(
    sound: Path, folder: Path, seeds: range, *, damages: Sequence[Damage] = DAMAGES, ending: str = ""
) -> dict[str, int]:
    """Damage the database once for each seed; the report is the same, or there is an error in words."""
    files = {one.name.removeprefix(sound.name): one.read_bytes() for one in sound.parent.glob(f"{sound.name}*")}
    path = folder / "damaged.db"
    ends = {"same": 0, "error": 0}
    expected = ""
    for seed in (None, *seeds):
        for before in folder.glob("damaged.db*"):
            before.unlink()
        for name, content in files.items():
            Path(f"{path}{name}").write_bytes(content)
        if seed is None:
            expected = report(path)
            continue
        what = damaged(Path(f"{path}{ending}"), seed, damages)
        try:
            is_same = report(path) == expected
        except (StoreError, ConfigError):
            ends["error"] += 1
        except Exception as error:
            pytest.fail(f"{what}: {type(error).__name__}: {error}")
        else:
            assert is_same, f"{what}: another report, without a word"
            ends["same"] += 1
    return ends


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("seeds", "least"),
    [
        pytest.param(range(40), 4, id="sample"),
        pytest.param(range(3200), 320, id="all", marks=pytest.mark.sweep),
    ],
)
def test_a_damaged_file_gives_the_same_report_or_says_so(sound: Path, tmp_path: Path, seeds: range, least: int) -> None:
    ends = check_all(sound, tmp_path, seeds)

    assert min(ends.values()) > least


# A log that breaks off is as if the process had ended before.
WITHIN_THE_LOG: Final = tuple(one for one in DAMAGES if one is not truncate)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("seeds", "least"),
    [
        pytest.param(range(24), 8, id="sample"),
        pytest.param(range(1060), 320, id="all", marks=pytest.mark.sweep),
    ],
)
def test_a_damaged_log_gives_the_same_report_or_says_so(left: Path, tmp_path: Path, seeds: range, least: int) -> None:
    ends = check_all(left, tmp_path, seeds, damages=WITHIN_THE_LOG, ending="-wal")

    assert ends["error"] > least


def ends_of_commits(log: bytearray) -> list[int]:
    """Return where the commits of a log end. A frame is a header of 24 bytes and a page; that of a commit has a size."""
    frame = 24 + PAGE
    starts = range(32, len(log), frame)
    return [start + frame for start in starts if int.from_bytes(log[start + 4 : start + 8], "big")]


@pytest.mark.parametrize(
    ("lost", "status"),
    [
        pytest.param(1, RunStatus.FINISHED, id="the overview, which is read from the rows again"),
        pytest.param(2, RunStatus.RUNNING, id="the overview, and that the run has finished"),
    ],
)
def test_commits_that_a_log_lost_are_told_once_and_the_rest_is_kept(
    left: Path, sound: Path, tmp_path: Path, lost: int, status: RunStatus
) -> None:
    path, log = tmp_path / "runs.db", tmp_path / "runs.db-wal"
    shutil.copy(left, path)
    written = bytearray(Path(f"{left}-wal").read_bytes())
    written[ends_of_commits(written)[-lost] - 100] ^= 1
    log.write_bytes(written)

    with pytest.raises(
        StoreError, match=rf"runs\.db-wal is damaged: {lost} commits in it cannot be read any more, and all "
    ):
        open_store(str(path))

    assert Path(f"{log}.damaged").read_bytes() == written
    with contextlib.closing(open_store(str(path))) as again:
        again.database.check()
        assert [run.status for run in again.runs.newest()] == [status, RunStatus.FINISHED]
    if status is RunStatus.FINISHED:
        assert report(path) == report(sound)


def test_a_log_that_a_living_process_writes_is_no_damage(tmp_path: Path) -> None:
    with contextlib.closing(open_store(str(tmp_path / "runs.db"))) as store:
        judge(store, "first")

        assert report(tmp_path / "runs.db")


def test_a_file_that_lost_its_tables_is_not_taken_for_a_new_one(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    data = bytearray(sound.read_bytes())
    data[103:105] = b"\0\0"  # how many cells the first page has
    path.write_bytes(data)

    with pytest.raises(StoreError, match=r"is damaged: it has \d+ pages, and no tables; restore a backup"):
        open_store(str(path))

    assert path.read_bytes() == data


def test_a_damage_that_cannot_be_said_in_letters_is_told(sound: Path, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    data = sound.read_bytes().replace(b"tablerunsruns", b"table\xf3unsruns")
    path.write_bytes(data.replace(b"CREATE TABLE runs (", b"CREATE TABLF runs ("))

    with pytest.raises(StoreError, match=r"cannot open .*runs\.db"):
        open_store(str(path))


@pytest.mark.parametrize("statement", ["page_count", "freelist_count", "sqlite_master"])
def test_a_file_in_which_another_process_makes_the_tables_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    path = str(tmp_path / "runs.db")
    run = SQLite._run
    waiting = [statement]

    def run_after_the_other(self: SQLite, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        if waiting and statement in sql:
            waiting.clear()
            open_store(path).close()
        return run(self, sql, values)

    monkeypatch.setattr(SQLite, "_run", run_after_the_other)

    with contextlib.closing(open_store(path)) as store:
        assert store.runs.newest() == []

    assert waiting == []
