"""The labels by people of each run, and the draws that say which cases they were to label.

Nothing is overwritten: who changes a label, or takes it back, adds a row, and the last one counts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import EllipsisType
from typing import Any, Final, NamedTuple

from evenhand.domain.errors import ConfigError, ConflictError, NotFoundError
from evenhand.domain.label import Draw, DrawnCase, Label
from evenhand.domain.run import RunRecord
from evenhand.store.database import Database, atomic
from evenhand.store.records import DRAWS, LABELS, NOT_AS_WRITTEN, Row, Table, refuse_damage
from evenhand.store.rows import column, dumps, loads

# In place of the value of a label that was taken back.
WITHDRAWN: Final = None
_OF_A_LABEL: Final = ("case", "evaluator", "rater", "value", "note", "answer", "p", "at")
_OF_A_DRAW: Final = ("seed", "uncertain", "evaluator", "eligible", "unsure", "left_out", "made")


class LabelState(NamedTuple):
    """What labels a run has: ``key`` changes once there is another label or draw.

    ``evaluators`` are those that people labelled, as the column has their names; ``""`` for whole cases.
    """

    key: str
    evaluators: frozenset[str]


class Labels:
    """The labels and draws of a store's runs."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def of(
        self,
        run: RunRecord,
        *,
        position: int | None = None,
        rater: str | None = None,
        evaluator: str | EllipsisType | None = ...,
    ) -> list[Label]:
        """Return the labels that count, in the order in which they were given; of one case, person or evaluator."""
        where, values = ("position = ?", [position]) if position is not None else ("position >= ?", [0])
        last: dict[tuple[int, str | None, str], Label | None] = {}
        for row in LABELS.read(self._db, run, where, values, order="number"):
            fields = _fields(run, LABELS, row)
            key = (row[0], fields["evaluator"], fields["rater"])
            last.pop(key, None)  # so that the order is that of the last ones
            last[key] = None if fields["value"] is WITHDRAWN else _label(run, row, fields)
        chances = {draw.evaluator: draw for draw in self.draws(run)}
        return [
            _with_chance(label, chances.get(label.evaluator))
            for label in last.values()
            if label is not None and rater in (None, label.rater) and (evaluator is ... or evaluator == label.evaluator)
        ]

    def state(self, run: RunRecord) -> LabelState | None:
        """Return what labels a run has, None if nobody ever labelled it; no label is read for that.

        Rows are only ever added, so their counts suffice.
        """
        rows = self._db.rows(
            "SELECT evaluator, COUNT(*), MAX(number) FROM labels WHERE run = ? GROUP BY evaluator ORDER BY evaluator",
            [run.number],
        )
        if not rows:
            return None
        ((draws,),) = self._db.rows("SELECT COUNT(*) FROM label_draws WHERE run = ?", [run.number])
        counts = [[str(evaluator), int(count), int(last)] for evaluator, count, last in rows]
        return LabelState(dumps({"labels": counts, "draws": int(draws)}), frozenset(row[0] for row in rows))

    @atomic
    def add(self, run: RunRecord, labels: Sequence[Label]) -> list[Label]:
        """Store labels, all of them or none, and return them with the time; each replaces the person's last one."""
        self._db.lock()
        now = time.time()
        stored = [replace(label, at=label.at or now) for label in labels]
        self._append(run, [(label.position, label.evaluator, label.rater, label_fields(label)) for label in stored])
        return stored

    @atomic
    def withdraw(self, run: RunRecord, *, position: int, rater: str, evaluator: str | None = None) -> Label:
        """Take a person's label of a case back, and return it."""
        self._db.lock()
        found = self.of(run, position=position, rater=rater, evaluator=evaluator)
        if not found:
            whose = "" if evaluator is None else f" of evaluator {evaluator!r:.80}"
            raise NotFoundError(f"{rater!r:.120} has no label{whose} for this case of run {run.id}")
        (label,) = found
        taken_back = {"evaluator": evaluator, "rater": rater, "value": WITHDRAWN, "at": time.time()}
        self._append(run, [(position, evaluator, rater, taken_back)])
        return label

    def rows_between(self, run: RunRecord, first: int, last: int) -> dict[int, list[dict[str, Any]]]:
        """Return everything that people said of some cases, also what was changed since, by position, for an export."""
        found: dict[int, list[dict[str, Any]]] = {}
        for row in LABELS.read(self._db, run, "position BETWEEN ? AND ?", [first, last], order="number"):
            found.setdefault(row[0], []).append({**_fields(run, LABELS, row), "number": row[1]})
        return found

    def restore(self, run: int, labels: Sequence[tuple[int, Mapping[str, Any]]], draws: Sequence[Draw]) -> None:
        """Within a transaction: add the labels of an imported run, in the order of their numbers, and its draws."""
        rows = []
        for position, fields in labels:
            content = {name: value for name, value in fields.items() if name != "number"}
            evaluator, rater = column(fields["evaluator"] or ""), column(fields["rater"])
            rows.append((run, position, fields["number"], evaluator, rater, dumps(content)))
        self._db.execute_many(LABELS.insert, LABELS.sealed(rows))
        kept = [(run, number, dumps(draw_fields(draw))) for number, draw in enumerate(draws)]
        self._db.execute_many(DRAWS.insert, DRAWS.sealed(kept))

    def _append(self, run: RunRecord, rows: Sequence[tuple[int, str | None, str, Mapping[str, Any]]]) -> None:
        ((last,),) = self._db.rows("SELECT MAX(number) FROM labels WHERE run = ?", [run.number])
        first = 0 if last is None else last + 1
        added = [
            (run.number, position, number, column(evaluator or ""), column(rater), dumps(fields))
            for number, (position, evaluator, rater, fields) in enumerate(rows, start=first)
        ]
        self._db.execute_many(LABELS.insert, LABELS.sealed(added))

    def draws(self, run: RunRecord) -> list[Draw]:
        """Return the draws of a run that count: the last one of each evaluator."""
        rows = DRAWS.read(self._db, run, "number >= ?", [0], order="number")
        last = {draw.evaluator: draw for draw in (_draw(run, row) for row in rows)}
        return list(last.values())

    def draw(self, run: RunRecord, evaluator: str | None = None) -> Draw | None:
        """Return the draw of a run that counts, of one evaluator or of whole cases; None if there is none."""
        return next((draw for draw in self.draws(run) if draw.evaluator == evaluator), None)

    @atomic
    def keep_draw(self, run: RunRecord, draw: Draw) -> Draw:
        """Store a draw in place of the one before, which it must contain as far as people have labelled that."""
        self._db.lock()
        before = self.draw(run, draw.evaluator)
        labelled = [label for label in self.of(run, evaluator=draw.evaluator) if label.is_drawn]
        if before is not None and labelled:
            lost = sum(draw.at(label.position) is None for label in labelled)
            if lost or (before.seed, before.uncertain) != (draw.seed, draw.uncertain):
                share = f" --uncertain {before.uncertain:g}" if before.uncertain else ""
                raise ConflictError(
                    f"the draw of {before.size} cases with seed {before.seed} has labels already ({len(labelled)}), "
                    "and another draw would make their chances wrong; draw more of the same with "
                    f"--seed {before.seed}{share} and a larger --sample, or take these labels back first"
                )
        made = replace(draw, made=draw.made or time.time())
        ((last,),) = self._db.rows("SELECT MAX(number) FROM label_draws WHERE run = ?", [run.number])
        row = (run.number, 0 if last is None else last + 1, dumps(draw_fields(made)))
        self._db.execute_many(DRAWS.insert, DRAWS.sealed([row]))
        return made


def label_fields(label: Label) -> dict[str, Any]:
    """Return what is stored and exported of a label; the row has the position of its case."""
    return {name: getattr(label, name) for name in _OF_A_LABEL}


def draw_fields(draw: Draw) -> dict[str, Any]:
    """Return what is stored and exported of a draw."""
    fields: dict[str, Any] = {name: getattr(draw, name) for name in _OF_A_DRAW}
    fields["cases"] = [[one.position, one.case, one.p, one.answer] for one in draw.cases]
    return fields


def draw_of(fields: Mapping[str, Any]) -> Draw:
    """Read a draw from what is stored of it."""
    cases = tuple(
        DrawnCase(position=position, case=case, p=p, answer=answer) for position, case, p, answer in fields["cases"]
    )
    return Draw(cases=cases, **{name: fields[name] for name in _OF_A_DRAW})


def label_of(position: int, fields: Mapping[str, Any]) -> Label:
    """Read a label from what is stored of it."""
    return Label(position=position, **{name: fields[name] for name in _OF_A_LABEL})


def _with_chance(label: Label, draw: Draw | None) -> Label:
    """Return a label with the chance that its case has in the draw that counts, if it was given for a draw."""
    if label.p is None:
        return label
    drawn = None if draw is None else draw.at(label.position)
    return replace(label, p=None if drawn is None else drawn.p)


def _fields(run: RunRecord, table: Table, row: Row) -> dict[str, Any]:
    fields = loads(row[-2])
    if not isinstance(fields, dict):
        refuse_damage(run, f"the {table.row} of {table.place_of(row)} cannot be read")
    return fields


def _label(run: RunRecord, row: Row, fields: Mapping[str, Any]) -> Label:
    try:
        return label_of(row[0], fields)
    except (*NOT_AS_WRITTEN, ConfigError):
        refuse_damage(run, f"the label of {LABELS.place_of(row)} cannot be read")


def _draw(run: RunRecord, row: Row) -> Draw:
    try:
        return draw_of(_fields(run, DRAWS, row))
    except (*NOT_AS_WRITTEN, ConfigError):
        refuse_damage(run, f"the draw of {DRAWS.place_of(row)} cannot be read")
