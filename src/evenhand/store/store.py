"""The store: where a run's cases come from and where its evaluations go, each finished when its commit has returned."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evenhand import registry
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.run import CaseResult, Judgment, MadeAnswer, PlannedCase, RunRecord
from evenhand.store import migrations
from evenhand.store.database import Database
from evenhand.store.prompts import Prompts
from evenhand.store.rows import Batch, answer_of, judgment_of, loads, planned_from
from evenhand.store.runs import Runs

STORES: Final = "evenhand.stores"
DEFAULT_URL: Final = ".evenhand/evenhand.db"
IN_MEMORY: Final = "sqlite://"
PAGE: Final = 64

_ADD_EVALUATION = (
    "INSERT INTO evaluations (run, position, place, sample, round, evaluator, key, status, score, verdict, weight, "
    "required, cost, seconds, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_COPY_EVALUATION = (
    "INSERT INTO evaluations (run, position, place, sample, round, evaluator, key, status, score, verdict, weight, "
    "required, cost, seconds, content) SELECT ?, ?, ?, sample, 0, evaluator, key, status, score, verdict, weight, "
    "required, cost, seconds, content FROM evaluations "
    "WHERE run = ? AND position = ? AND place = ? AND key = ? AND round = ?"
)


def open_store(url: str = DEFAULT_URL) -> Store:
    """Open a store: the path of a file, ``sqlite:///path``, or ``postgresql://user@host/database``.

    >>> open_store("sqlite://").runs.newest()
    []
    """
    scheme = url.partition("://")[0] if "://" in url else "sqlite"
    scheme = {"postgres": "postgresql"}.get(scheme, scheme)
    known = registry.points(STORES)
    if scheme not in known:
        raise ConfigError(f"no store speaks {scheme!r}{did_you_mean(scheme, known)}; or give the path of a file")
    database: Database = known[scheme].load()(url)
    try:
        migrations.migrate(database, migrations.known())
    except BaseException:
        database.close()
        raise
    return Store(database)


class Store:
    """Runs with their cases, answers and evaluations, and the replies of judges for the cache."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.runs = Runs(database)
        self.prompts = Prompts(database)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def add_cases(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Put cases into a run: ``run, position, id, hash, expected, content`` of each."""
        with self.database.transaction():
            self.database.execute_many(
                "INSERT INTO cases (run, position, id, hash, expected, content) VALUES (?, ?, ?, ?, ?, ?)", rows
            )

    def forget_cases(self, run: RunRecord) -> None:
        """Take all cases out of a run whose planning did not come to its end."""
        with self.database.transaction():
            self.database.execute("DELETE FROM cases WHERE run = ?", [run.number])

    def planned(self, run: RunRecord) -> Iterator[list[PlannedCase]]:
        """Give the cases of a run in their order, page by page."""
        for rows in self.case_rows(run):
            yield [planned_from(*row) for row in rows]

    def case_rows(self, run: RunRecord, *, first: int = 0) -> Iterator[list[tuple[Any, ...]]]:
        """Give the cases of a run as rows for ``planned_from``, page by page, to be made one after the other."""
        after = first - 1
        while rows := self.database.rows(
            "SELECT position, hash, expected, content FROM cases WHERE run = ? AND position > ? "
            "ORDER BY position LIMIT ?",
            [run.number, after, PAGE],
        ):
            yield rows
            after = rows[-1][0]

    def hashes(self, run: RunRecord) -> Iterator[tuple[str, str]]:
        """Give the id and the hash of each case of a run, in their order."""
        after = -1
        while rows := self.database.rows(
            "SELECT position, id, hash FROM cases WHERE run = ? AND position > ? ORDER BY position LIMIT ?",
            [run.number, after, PAGE],
        ):
            yield from ((row[1], row[2]) for row in rows)
            after = rows[-1][0]

    def judged(self, run: RunRecord, first: int, last: int) -> dict[tuple[int, int, int], tuple[int, str, str]]:
        """Tell what is there for some positions: by position, place and sample its last round, status and error."""
        rows = self.database.rows(
            "SELECT position, place, sample, round, status, content FROM evaluations "
            "WHERE run = ? AND position BETWEEN ? AND ? ORDER BY round",
            [run.number, first, last],
        )
        return {
            (position, place, sample): (number, status, _error_in(content) if status == "error" else "")
            for position, place, sample, number, status, content in rows
        }

    def answered(self, run: RunRecord, first: int, last: int) -> dict[tuple[int, int], list[MadeAnswer]]:
        """Give what the target answered for some positions, by position and sample: each round, the last one counts."""
        rows = self.database.rows(
            "SELECT position, sample, content FROM answers WHERE run = ? AND position BETWEEN ? AND ? ORDER BY round",
            [run.number, first, last],
        )
        found: dict[tuple[int, int], list[MadeAnswer]] = {}
        for position, sample, content in rows:
            found.setdefault((position, sample), []).append(answer_of(content))
        return found

    def case_and_answer(self, run: RunRecord, identity: str) -> tuple[Case, MadeAnswer | None] | None:
        """Find a case of a run by its id, with the answer that the target made for it first."""
        rows = self.database.rows(
            "SELECT position, hash, expected, content FROM cases WHERE run = ? AND id = ?", [run.number, identity]
        )
        if not rows:
            return None
        planned = planned_from(*rows[0])
        rounds = self.answered(run, planned.position, planned.position).get((planned.position, 0))
        return planned.case, rounds[-1] if rounds else None

    def positions(self, run: RunRecord, cases: Sequence[PlannedCase]) -> dict[int, int]:
        """Find cases in a run, by their id and hash: for each place now, the place there."""
        marks = ", ".join("?" * len(cases))
        rows = self.database.rows(
            f"SELECT id, hash, position FROM cases WHERE run = ? AND id IN ({marks})",  # noqa: S608 - question marks
            [run.number, *(one.case.id for one in cases)],
        )
        known = {(identity, digest): position for identity, digest, position in rows}
        return {one.position: known[key] for one in cases if (key := (one.case.id or "", one.hash)) in known}

    def copy(
        self,
        before: RunRecord,
        run: RunRecord,
        *,
        positions: Mapping[int, int],
        wanted: Mapping[str, Sequence[tuple[int, int]]],
        answers: bool,
    ) -> int:
        """Copy evaluations into a run: those of the given keys, each to its position and place.

        ``positions`` are the cases' places now and before. With ``answers``, those of the target come along; those
        that were judged do in any case.
        """
        copied = 0
        with self.database.transaction():
            for now, then in positions.items():
                keys = self.database.rows(
                    "SELECT key, place, MAX(round) FROM evaluations WHERE run = ? AND position = ? "
                    "GROUP BY key, place ORDER BY place",
                    [before.number, then],
                )
                if answers or any(key in wanted for key, _, _ in keys):
                    self.database.execute(
                        "INSERT INTO answers (run, position, sample, round, content) "
                        "SELECT ?, ?, sample, round, content FROM answers WHERE run = ? AND position = ?",
                        [run.number, now, before.number, then],
                    )
                free = {key: iter(wanted.get(key, ())) for key, _, _ in keys}
                for key, place, last in keys:
                    if (there := next(free[key], None)) is not None:
                        copied += self.database.execute(
                            _COPY_EVALUATION, [run.number, *there, before.number, then, place, key, last]
                        )
        return copied

    def extent(self, run: RunRecord) -> tuple[int, int]:
        """Tell how many evaluations a run is to have, and how many it has."""
        ((expected,),) = self.database.rows("SELECT SUM(expected) FROM cases WHERE run = ?", [run.number])
        ((judged,),) = self.database.rows(
            "SELECT COUNT(*) FROM (SELECT DISTINCT position, place, sample FROM evaluations WHERE run = ?) AS done",
            [run.number],
        )
        return int(expected or 0) * run.repeat, int(judged)

    def commit(self, batch: Batch) -> None:
        """Write rows in one transaction. What is there already stays: a second worker's evaluation is not a second."""
        with self.database.transaction():
            self.database.execute_many(
                "INSERT INTO answers (run, position, sample, round, content) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                batch.answers,
            )
            self.database.execute_many(
                _ADD_EVALUATION,
                batch.evaluations,
            )
            self.database.execute_many(
                "INSERT INTO replies (key, model, created, content) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                batch.replies,
            )

    def results(self, run: RunRecord, *, first: int = 0) -> Iterator[CaseResult]:
        """Give the cases of a run, each with what was found about it, in suite order; memory stays flat."""
        thresholds = run.thresholds
        for page in self.case_rows(run, first=first):
            ends = page[0][0], page[-1][0]
            judgments = self._judgments(run, *ends)
            answers: dict[int, list[list[MadeAnswer]]] = {}
            for (position, _), rounds in sorted(self.answered(run, *ends).items(), key=lambda one: one[0]):
                answers.setdefault(position, []).append(rounds)
            for planned in itertools.starmap(planned_from, page):  # when its turn comes, so that few are in memory
                judged = judgments.get(planned.position, [])
                made = answers.get(planned.position, [])
                yield CaseResult(
                    position=planned.position,
                    case=planned.case,
                    answers=tuple(rounds[-1] for rounds in made),
                    judgments=tuple(rounds[-1] for rounds in judged),
                    replaced=(
                        *(one for rounds in made for one in rounds[:-1]),
                        *(one for rounds in judged for one in rounds[:-1]),
                    ),
                    awaited=max(planned.expected * run.repeat - len(judged), 0),
                    thresholds=thresholds,
                )

    def _judgments(self, run: RunRecord, first: int, last: int) -> dict[int, list[list[Judgment]]]:
        """Give the evaluations of some positions, in the order of samples and evaluators, each with all its rounds."""
        rows = self.database.rows(
            "SELECT position, place, sample, round, key, weight, required, cost, seconds, content FROM evaluations "
            "WHERE run = ? AND position BETWEEN ? AND ? ORDER BY position, sample, place, round",
            [run.number, first, last],
        )
        found: dict[int, list[list[Judgment]]] = {}
        for (position, _, _), rounds in itertools.groupby(rows, key=lambda row: (row[0], row[2], row[1])):
            found.setdefault(position, []).append([judgment_of(row[2:]) for row in rounds])
        return found

    def reply(self, key: str) -> Mapping[str, Any] | None:
        """Look up a reply from before."""
        rows = self.database.rows("SELECT content FROM replies WHERE key = ?", [key])
        return loads(rows[0][0]) if rows else None

    def reply_keys(self) -> Iterator[str]:
        """Give the key of every reply in the cache."""
        after = ""
        while rows := self.database.rows("SELECT key FROM replies WHERE key > ? ORDER BY key LIMIT 4096", [after]):
            yield from (row[0] for row in rows)
            after = rows[-1][0]

    def replies_by_model(self) -> list[tuple[str, int, int, float]]:
        """Tell what the cache holds: for each model how many replies, how many characters, and since when."""
        rows = self.database.rows(
            "SELECT model, COUNT(*), SUM(LENGTH(content)), MIN(created) FROM replies GROUP BY model ORDER BY model"
        )
        return [(model, count, int(size), oldest) for model, count, size, oldest in rows]

    def forget_replies(self, model: str | None = None) -> int:
        """Empty the cache, or what it holds of one model, and tell how many replies that were."""
        with self.database.transaction():
            if model is None:
                return self.database.execute("DELETE FROM replies")
            return self.database.execute("DELETE FROM replies WHERE model = ?", [model])


def _error_in(content: str) -> str:
    return str(loads(content).get("error") or "")
