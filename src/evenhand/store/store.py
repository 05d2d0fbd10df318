"""The store of runs: their cases, answers and evaluations, each done once its commit has returned."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, TypeVar

from evenhand import registry
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.run import CaseResult, MadeAnswer, PlannedCase, RunRecord, RunStatus
from evenhand.store import checksum, migrations
from evenhand.store.batches import Batches
from evenhand.store.case_digests import CaseDigests
from evenhand.store.database import Database, Space, atomic
from evenhand.store.idempotency import IdempotencyKeys
from evenhand.store.judge_cards import JudgeCards
from evenhand.store.labels import Labels
from evenhand.store.location import require_location, without_password
from evenhand.store.page_size import PageSize
from evenhand.store.prompts import Prompts
from evenhand.store.records import ANSWERS, CASES, EVALUATIONS, Row, Table, by_position, refuse_damage
from evenhand.store.replies import Replies
from evenhand.store.rows import Batch, RunPage, answer_of, loads, planned_from, planned_of_row
from evenhand.store.runs import Runs
from evenhand.store.saved_filters import SavedFilters
from evenhand.store.shared_texts import SharedTexts
from evenhand.store.summaries import Summaries

Result = TypeVar("Result")

STORES: Final = "evenhand.stores"
DEFAULT_URL: Final = ".evenhand/evenhand.db"
IN_MEMORY: Final = "sqlite://"

_BETWEEN: Final = "position BETWEEN ? AND ?"
# Databases read evaluations in the order of their key; to sort them here takes less time than there.
_BY_KEY: Final = "position, place, sample, round"
# By position, sample, place and round.
_BY_SAMPLE: Final = itemgetter(0, 2, 1, 3)
_AT_WORK: Final = (RunStatus.PLANNING, RunStatus.RUNNING)

_ADD_ANSWER: Final = f"{ANSWERS.insert} ON CONFLICT DO NOTHING"
_ADD_EVALUATION: Final = f"{EVALUATIONS.insert} ON CONFLICT DO NOTHING"
_COPY_ANSWER: Final = (
    "INSERT INTO answers (run, position, sample, round, content, checksum) SELECT ?, ?, sample, round, content, ? "
    "FROM answers WHERE run = ? AND position = ? AND sample = ? AND round = ?"
)
_COPY_EVALUATION: Final = (
    "INSERT INTO evaluations (run, position, place, sample, round, evaluator, key, status, score, verdict, weight, "
    "required, cost, seconds, content, checksum) SELECT ?, ?, ?, sample, 0, evaluator, key, status, score, verdict, "
    "weight, required, cost, seconds, content, ? FROM evaluations "
    "WHERE run = ? AND position = ? AND place = ? AND sample = ? AND round = ?"
)


def open_store(url: str = DEFAULT_URL) -> Store:
    """Open a store: the path of a file, ``sqlite:///path``, or ``postgresql://user@host/database``.

    >>> open_store("sqlite://").runs.newest()
    []
    """
    require_location(url)
    scheme = url.partition("://")[0] if "://" in url else "sqlite"
    scheme = {"postgres": "postgresql"}.get(scheme, scheme)
    known = registry.points(STORES)
    if scheme not in known:
        raise ConfigError(f"unsupported database {scheme!r}{did_you_mean(scheme, known)}; or give the path of a file")
    database: Database = known[scheme].load()(url)
    try:
        migrations.migrate(database, migrations.known())
    except BaseException:
        database.close()
        raise
    return Store(database, address=without_password(url))


class Store:
    """Runs with their cases, answers and evaluations, and the replies of judges for the cache.

    ``database`` is for the modules of the store; everybody else uses what these offer.
    """

    def __init__(self, database: Database, *, address: str | None = None) -> None:
        self.database = self._db = database
        # The path or URL that opens it again, without a password.
        self.address = database.where if address is None else address
        self.runs = Runs(database)
        self.summaries = Summaries(database)
        self.case_digests = CaseDigests(database)
        self.prompts = Prompts(database)
        self.replies = Replies(database)
        self.idempotency_keys = IdempotencyKeys(database)
        self.saved_filters = SavedFilters(database)
        self.labels = Labels(database)
        self.judge_cards = JudgeCards(database)
        self.provider_batches = Batches(database)
        self.shared_texts = SharedTexts(database)

    @property
    def where(self) -> str:
        """The file or the address of the database, without a password."""
        return self.database.where

    @property
    def commits_quickly(self) -> bool:
        """Whether a commit returns quickly enough to be waited for on an event loop, now."""
        return self.database.quick and not self.database.is_taken

    def require_writable(self) -> None:
        """Raise ``ReadOnlyError`` if the database can only be read, before anything is started that must be stored."""
        self.database.require_writable()

    @contextlib.contextmanager
    def transaction(self, *, exclusive: bool = False) -> Iterator[None]:
        """Do everything inside, or nothing of it; if ``exclusive``, no other such transaction runs meanwhile."""
        with self.database.transaction():
            if exclusive:
                self.database.lock()
            yield

    def repeated(self, act: Callable[[], Result]) -> Result:
        """Return what ``act`` returns, which has one transaction at most; again if the connection was lost."""
        return self.database.repeated(act)

    def atomically(self, act: Callable[[], Result], *, exclusive: bool = False) -> Result:
        """Return what ``act`` returns, in a transaction that is repeated if the connection is lost."""

        def once() -> Result:
            with self.transaction(exclusive=exclusive):
                return act()

        return self.repeated(once)

    def space(self) -> Space:
        """Return how much space the runs and everything else here take."""
        return self.database.space()

    def vacuum(self) -> None:
        """Return the space of what was deleted to the disk, while nobody else can use the store."""
        self.database.vacuum()

    def require_ready(self) -> None:
        """Raise ``StoreError`` if the database cannot be reached, or has not the tables of this version."""
        migrations.require_current(self.database)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    @atomic
    def add_cases(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Put cases into a run: ``run, position, id, hash, expected, content`` of each."""
        if rows:
            self.runs.require(rows[0][0])
        self.database.execute_many(CASES.insert, CASES.sealed(rows))

    @atomic
    def forget_cases(self, run: RunRecord) -> None:
        """Delete all cases of a run that was not planned to the end."""
        self.runs.require(run.number)
        self.database.execute("DELETE FROM cases WHERE run = ?", [run.number])

    def planned(self, run: RunRecord) -> Iterator[list[PlannedCase]]:
        """Yield the cases of a run in their order, page by page."""
        for rows in self.case_rows(run):
            yield [planned_from(*row) for row in rows]

    def case_rows(self, run: RunRecord, *, first: int = 0) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the cases of a run as rows for ``planned_from``, page by page, to be made one after the other."""
        for rows in self._case_pages(run, first, content=True):
            yield [(position, digest, expected, content) for position, _, digest, expected, content, _ in rows]

    def hashes(self, run: RunRecord) -> Iterator[tuple[str, str]]:
        """Yield the id and the hash of each case of a run, in their order."""
        for rows in self._case_pages(run, 0, content=False):
            yield from ((row[1], row[2]) for row in rows)

    def _case_pages(
        self, run: RunRecord, first: int, *, content: bool, size: PageSize | None = None
    ) -> Iterator[list[Row]]:
        """Read the cases of a run from a position on, so many at once; a missing one is an error."""
        following = first
        size = size or PageSize()
        while rows := CASES.read(
            self.database, run, _BETWEEN, [following, following + size.cases - 1], content=content
        ):
            for row in rows:
                if row[0] != following:
                    refuse_damage(run, f"of its cases, the one at position {following} is missing")
                following += 1
            yield rows
        if following < run.cases and (following > first or run.status not in _AT_WORK):
            self._refuse_unless_changed(run, f"of its {run.cases:,} cases, there are only {following:,}")

    def judged(self, run: RunRecord, first: int, last: int) -> dict[tuple[int, int, int], tuple[int, str, str]]:
        """Return what some positions have: by position, place and sample the last round, status and error."""
        return {
            row[:3]: (row[3], row[6], _error_in(row[-2]) if row[6] == "error" else "")
            for row in self._between(EVALUATIONS, run, first, last, "round")
        }

    def answered(self, run: RunRecord, first: int, last: int) -> dict[tuple[int, int], list[MadeAnswer]]:
        """Return the target's answers for some positions, by position and sample, with all rounds."""
        answers: dict[tuple[int, int], list[MadeAnswer]] = {}
        for position, sample, number, content, _ in self._between(ANSWERS, run, first, last, "round"):
            rounds = answers.setdefault((position, sample), [])
            if rounds and rounds[-1].round == number:
                refuse_damage(run, f"duplicate answer to the case at position {position}")
            rounds.append(answer_of(content))
        return answers

    def _between(self, table: Table, run: RunRecord, first: int, last: int, order: str) -> list[Row]:
        return table.read(self.database, run, _BETWEEN, [first, last], order=order)

    def case_and_answer(self, run: RunRecord, identity: str) -> tuple[Case, MadeAnswer | None] | None:
        """Find a case of a run by its id, with the target's first answer."""
        rows = CASES.read(self.database, run, "id = ?", [identity])
        if not rows:
            return None
        planned = planned_of_row(rows[0])
        rounds = self.answered(run, planned.position, planned.position).get((planned.position, 0))
        return planned.case, rounds[-1] if rounds else None

    def positions(self, run: RunRecord, cases: Sequence[PlannedCase]) -> dict[int, int]:
        """Find cases in another run by id and hash: return their positions there by those here."""
        if not cases:
            return {}
        marks = ", ".join("?" * len(cases))
        ids = [planned.case.id for planned in cases]
        rows = CASES.read(self.database, run, f"id IN ({marks})", ids, content=False)
        by_key = {(row[1], row[2]): row[0] for row in rows}
        return {
            planned.position: by_key[key]
            for planned in cases
            if (key := (planned.case.id or "", planned.hash)) in by_key
        }

    @atomic
    def copy(
        self,
        before: RunRecord,
        run: RunRecord,
        *,
        positions: Mapping[int, int],
        places: Mapping[str, Sequence[tuple[int, int]]],
        answers: bool,
    ) -> int:
        """Copy evaluations into a run: those of the given keys, each to its position and place.

        The run has the texts that they share: see ``shared_texts``. ``positions`` are the positions of the cases now
        and before. With ``answers``, the target's answers are copied
        too; those that were judged always are.
        """
        copied = 0
        self.runs.require(run.number)
        for now, then in positions.items():
            rows = EVALUATIONS.read(self.database, before, "position = ?", [then], order="place, round", content=False)
            latest = {(row[5], row[1]): row for row in rows}  # by key and place
            if answers or any(key in places for key, _ in latest):
                self._copy_answers(before, then, run, now)
            free = {key: iter(places.get(key, ())) for key, _ in latest}
            for (key, _), row in latest.items():
                if (there := next(free[key], None)) is not None:
                    half = self._content_half(EVALUATIONS, before, row)
                    seal = checksum.of_evaluation(run.number, (*there, row[2], 0, *row[4:-1]), half)
                    values = [run.number, *there, seal, before.number, *row[:4]]
                    copied += self.database.execute(_COPY_EVALUATION, values)
        return copied

    def _copy_answers(self, before: RunRecord, then: int, run: RunRecord, now: int) -> None:
        for row in ANSWERS.read(self.database, before, "position = ?", [then], order="sample, round", content=False):
            seal = checksum.of_answer(run.number, (now, *row[1:3]), self._content_half(ANSWERS, before, row))
            self.database.execute(_COPY_ANSWER, [run.number, now, seal, before.number, *row[:3]])

    def _content_half(self, table: Table, run: RunRecord, row: Row) -> int:
        """Return the content's half of a row's checksum; of an older row that has none, computed now."""
        if row[-1] is not None:
            return checksum.half_in(row[-1])
        keys = [name for name in ("position", "place", "sample", "round") if name in table.columns]
        where = " AND ".join(f"{name} = ?" for name in keys)
        ((*_, content, _),) = table.read(self.database, run, where, row[: len(keys)])
        return checksum.content_half(content)

    def extent(self, run: RunRecord) -> tuple[int, int]:
        """Return how many evaluations a run is to have, and how many it has."""
        ((expected,),) = self.database.rows("SELECT SUM(expected) FROM cases WHERE run = ?", [run.number])
        ((judged,),) = self.database.rows(
            "SELECT COUNT(*) FROM (SELECT DISTINCT position, place, sample FROM evaluations WHERE run = ?) AS done",
            [run.number],
        )
        return int(expected or 0) * run.repeat, int(judged)

    @atomic
    def commit(self, batch: Batch) -> None:
        """Write rows in one transaction. Rows that exist already stay as they are."""
        for rows in (batch.answers, batch.evaluations):
            if rows:
                self.runs.require(rows[0][0])
                break
        self.database.execute_many(_ADD_ANSWER, ANSWERS.sealed(batch.answers))
        self.database.execute_many(
            _ADD_EVALUATION, list(map(checksum.sealed_evaluation, self.shared_texts.cut(batch.evaluations)))
        )
        self.replies.add(batch.replies)
        self.provider_batches.forget(batch.asked)

    def results(self, run: RunRecord, *, first: int = 0) -> Iterator[CaseResult]:
        """Yield the cases of a run, each with what was found about it, in suite order; memory stays flat."""
        thresholds = run.thresholds
        for page in self.pages(run, first=first):
            for row in page.cases:  # each when its turn comes, so that few are in memory
                yield page.case(run, row, thresholds).result

    def pages(self, run: RunRecord, *, first: int = 0, whole: bool = True) -> Iterator[RunPage]:
        """Yield the rows of a run in suite order, page by page.

        If not ``whole``, the texts that evaluations share are not put back; they are known to be there.
        """
        evaluations = answers = 0
        has_answers = run.status is not RunStatus.FINISHED or self._has_answers(run)
        size = PageSize()
        for rows in self._case_pages(run, first, content=True, size=size):
            start, end = rows[0][0], rows[-1][0]
            judged = EVALUATIONS.read(self.database, run, _BETWEEN, [start, end], order=_BY_KEY, whole=whole)
            judged.sort(key=_BY_SAMPLE)
            made = self._between(ANSWERS, run, start, end, "position, sample, round") if has_answers else []
            evaluations += len(judged)
            answers += len(made)
            size.adapt(rows, judged, made)
            yield RunPage(rows, by_position(judged), by_position(made))
        if first == 0:
            self._require_all(run, evaluations, run.evaluations, "evaluations")
            self._require_all(run, answers, run.answers, "answers")

    def _has_answers(self, run: RunRecord) -> bool:
        return bool(self.database.rows("SELECT 1 FROM answers WHERE run = ? LIMIT 1", [run.number]))

    def columns(self, run: RunRecord) -> Iterator[tuple[list[Row], list[Row]]]:
        """Yield the cases of a run page by page, each page with the columns of its evaluations, whose content stays."""
        evaluations = 0
        size = PageSize()
        for page in self._case_pages(run, 0, content=True, size=size):
            between = [page[0][0], page[-1][0]]
            rows = EVALUATIONS.read(self.database, run, _BETWEEN, between, order=_BY_KEY, content=False)
            rows.sort(key=_BY_SAMPLE)
            evaluations += len(rows)
            size.adapt(page, rows)
            yield page, rows
        self._require_all(run, evaluations, run.evaluations, "evaluations")

    def count_sound(self, run: RunRecord) -> int | None:
        """Return how many cases a finished run has, if it has lost none of them, and no evaluation; else None."""
        if run.status is not RunStatus.FINISHED or run.evaluations is None:
            return None
        counts = self.summaries.counts(run)
        is_sound = (counts["cases"], counts["evaluations"]) == (run.cases, run.evaluations)
        return run.cases if is_sound else None

    def evaluator_name(self, run: RunRecord, position: int, place: int, sample: int) -> str:
        """Return the whole name of an evaluator, of which the column may lack some letters."""
        where = "position = ? AND place = ? AND sample = ?"
        *_, row = EVALUATIONS.read(self.database, run, where, [position, place, sample], order="round")
        return str(loads(row[-2])["evaluator"])

    def _require_all(self, run: RunRecord, count: int, expected: int | None, noun: str) -> None:
        """Refuse a finished run that has lost rows, or has more than it had."""
        if run.status is RunStatus.FINISHED and expected is not None and count != expected:
            self._refuse_unless_changed(run, f"of its {expected:,} {noun}, there are {count:,}")

    def _refuse_unless_changed(self, run: RunRecord, damage: str) -> None:
        """Refuse a run of which something is missing, unless it has changed since it was read."""
        now = self.runs.find(run.id)
        if (now.number, now.status, now.finished, now.cases) == (run.number, run.status, run.finished, run.cases):
            refuse_damage(run, damage)

    def reply(self, key: str) -> Mapping[str, Any] | None:
        """Look up a cached reply."""
        return self.replies.find(key)

    def reply_keys(self) -> Iterator[str]:
        """Return the key of every reply in the cache."""
        return self.replies.keys()

    def replies_by_model(self) -> list[tuple[str, int, int, float]]:
        """Return what the cache holds: for each model how many replies, how many characters, and since when."""
        return self.replies.by_model()

    def forget_replies(self, model: str | None = None) -> int:
        """Empty the cache, or the part of one model, and return how many replies there were."""
        return self.replies.forget(model)


def _error_in(content: str) -> str:
    return str(loads(content).get("error") or "")
