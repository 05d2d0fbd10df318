"""Labels by people in a CSV file: written for somebody to fill in, and read back as a whole or not at all."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.label import (
    MOST_NOTE,
    NOT_A_RATER,
    Draw,
    DrawnCase,
    Label,
    answer_hash,
    answer_of,
    decimal,
    is_rater,
    label_value,
    require_evaluator,
)
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.labels.draw import require_answers
from evenhand.reports.csv import cell, text_in
from evenhand.store.results import case_at, case_result, evaluator_names
from evenhand.store.store import Store
from evenhand.suites.tables import read_table
from evenhand.suites.values import Fault, format_fault

COLUMNS: Final = (
    "id", "human", "rater", "note", "p", "seed", "evaluator", "answer_hash", "input", "answer", "reference",
)  # fmt: skip
REQUIRED: Final = ("id", "human")
# So many mistakes of a file are listed; the rest is counted.
MOST_FAULTS: Final = 20
MOST_ROWS: Final = 100_000
# A spreadsheet may have rounded it.
_SAME_CHANCE: Final = 1e-4
_MOST_NAMES: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedLabels:
    """What became of labels: how many are new, changed, as they were, or empty; how many were given outside a draw."""

    new: int = 0
    changed: int = 0
    same: int = 0
    empty: int = 0
    not_drawn: int = 0
    raters: tuple[str, ...] = ()

    @property
    def stored(self) -> int:
        """How many labels were stored."""
        return self.new + self.changed


@dataclass(slots=True)
class _Read:
    labels: list[Label] = field(default_factory=list)
    empty: int = 0
    faults: list[Fault] = field(default_factory=list)


def reference_text(result: CaseResult) -> str:
    """Return what the answer may be held against: the reference answer, or the expected outcome."""
    return result.case.reference_text or result.case.expected_outcome or ""


def write_labels(
    store: Store,
    run: RunRecord,
    out: TextIO,
    *,
    draw: Draw | None,
    labels: Sequence[Label],
    rater: str = "",
    has_chances: bool = True,
) -> int:
    """Write the drawn cases in their order and the labels there are, and return how many rows; no view of the judge.

    A case that has several labels has several rows; one that has none has an empty cell for ``human``. Labels outside
    the draw follow. ``has_chances`` is false for cases that were not drawn at random.
    """
    given: dict[int, list[Label]] = {}
    for label in labels:
        given.setdefault(label.position, []).append(label)
    drawn = () if draw is None else draw.cases
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    count = 0
    positions = [case.position for case in drawn]
    for position in [*positions, *sorted(given.keys() - set(positions))]:
        said: Sequence[Label | None] = given.get(position) or [None]
        for one in said:
            writer.writerow(_row(store, run, position, draw, one, rater=rater, has_chances=has_chances))
            count += 1
    return count


def _row(
    store: Store,
    run: RunRecord,
    position: int,
    draw: Draw | None,
    label: Label | None,
    *,
    rater: str,
    has_chances: bool,
) -> list[object]:
    result = case_at(store, run, position)
    if result is None:
        raise ConfigError(f"run {run.id} has no case at position {position} any more")
    drawn = None if draw is None or not has_chances else draw.at(position)
    answer = answer_of(result) or ""
    chance = drawn.p if drawn is not None and (label is None or label.is_drawn) else None
    values: dict[str, Any] = {
        "id": result.id,
        "human": None if label is None else label.value,
        "rater": rater if label is None else label.rater,
        "note": None if label is None else label.note,
        "p": chance,
        "seed": None if draw is None or chance is None else draw.seed,
        "evaluator": draw.evaluator if draw is not None else None if label is None else label.evaluator,
        "answer_hash": answer_hash(answer),
        "input": result.case.question_text,
        "answer": answer,
        "reference": reference_text(result),
    }
    return [cell(values[name]) for name in COLUMNS]


def add_labels_file(
    store: Store, run: RunRecord, source: Path | bytes, *, name: str | None = None, rater: str | None = None
) -> AddedLabels:
    """Store the labels of a file; if one row is wrong, nothing is stored, and every mistake is named with its row.

    ``rater`` is whose labels those are of which the file does not say it.
    """
    return _store(store, run, _read_file(store, run, source, name=name, rater=rater))


def add_label_rows(
    store: Store, run: RunRecord, rows: Sequence[Mapping[str, Any]], *, rater: str | None = None
) -> AddedLabels:
    """Store labels given as mappings with the columns of a file, all of them or none."""
    if not isinstance(rows, Sequence):
        kind = type(rows).__name__
        raise ConfigError(f"labels must be the path of a CSV file, or a list of mappings, not {kind}")
    require_answers(run)
    reader, read = _LabelRows(store, run, rater), _Read()
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise ConfigError(f"label {number} is {row!r:.80}; it must be a mapping with id and human")
        check_columns([str(key) for key in row])
        reader.take(number, _cells({key: None if value is None else str(value) for key, value in row.items()}), read)
    refuse_faults("label", read.faults)
    return _store(store, run, read)


def read_labels_file(
    store: Store, run: RunRecord, source: Path | bytes, *, name: str | None = None, rater: str | None = None
) -> list[Label]:
    """Return the labels of a file without storing them; it is checked as one that is to be stored."""
    return _read_file(store, run, source, name=name, rater=rater).labels


def _read_file(store: Store, run: RunRecord, source: Path | bytes, *, name: str | None, rater: str | None) -> _Read:
    require_answers(run)
    told = name or str(source if isinstance(source, Path) else "the labels")
    read = _read_rows(_LabelRows(store, run, rater), source, told)
    refuse_faults(told, read.faults)
    return read


def label_rows(source: Path | bytes, name: str) -> Iterator[tuple[int, dict[str, str], Sequence[Fault]]]:
    """Yield the rows of a file: the line, its cells as texts, and what is wrong with it."""
    if isinstance(source, Path) and not source.is_file():
        raise ConfigError(
            f"{name} is a folder; name a CSV file" if source.is_dir() else f"{name}: there is no such file"
        )
    for number, piece in enumerate(read_table(source, check_columns, name=name, such_as="id and human"), start=1):
        if number > MOST_ROWS:
            raise ConfigError(f"{name}:{piece.line}: more than {MOST_ROWS:,} rows; add them in several parts")
        yield piece.line, {} if piece.faults else _cells(piece.value), piece.faults


def _cells(row: Mapping[str, str | None]) -> dict[str, str]:
    cells = {name: "" if value is None else text_in(value).strip() for name, value in row.items()}
    return cells | {"id": text_in(row["id"] or "")}


def _read_rows(reader: _LabelRows, source: Path | bytes, name: str) -> _Read:
    read = _Read()
    for line, cells, faults in label_rows(source, name):
        if faults:
            read.faults += faults
        else:
            reader.take(line, cells, read)
    if not (read.labels or read.empty or read.faults):
        raise ConfigError(f"{name}: there are no rows after the first line, which names the columns")
    return read


def check_columns(names: list[str]) -> None:
    """Refuse a table without the columns that labels need."""
    for wanted in REQUIRED:
        if wanted not in names:
            near = did_you_mean(wanted, [name[:80] for name in names])
            raise ConfigError(f"there is no column {wanted!r}{near}; labels need id and human (pass, fail or 0 to 1)")


def refuse_faults(name: str, faults: list[Fault], end: str = "nothing was stored") -> None:
    """Refuse a file that has mistakes, and name them; ``end`` says what was not done for that."""
    if not faults:
        return
    lines = [format_fault(name, fault) for fault in faults[:MOST_FAULTS]]
    if (more := len(faults) - len(lines)) > 0:
        lines.append(f"and {more:,} more mistakes")
    raise ConfigError("\n".join([*lines, end]))


def _store(store: Store, run: RunRecord, read: _Read) -> AddedLabels:
    before = {label.key: label for label in store.labels.of(run)}
    stored: list[Label] = []
    new = changed = 0
    for label in read.labels:
        old = before.get(label.key)
        if old is not None and _said(old) == _said(label):
            continue
        new += old is None
        changed += old is not None
        stored.append(label)
    store.labels.add(run, stored)
    return AddedLabels(
        new=new,
        changed=changed,
        same=len(read.labels) - len(stored),
        empty=read.empty,
        not_drawn=sum(not label.is_drawn for label in read.labels),
        raters=tuple(sorted({label.rater for label in read.labels})),
    )


def _said(label: Label) -> tuple[object, ...]:
    return label.value, label.note, label.answer, label.is_drawn


class _LabelRows:
    """Turns the rows of a file into labels, or into what is wrong with them."""

    def __init__(self, store: Store, run: RunRecord, rater: str | None) -> None:
        if rater is not None and not is_rater(rater):
            raise ConfigError(f"rater is {rater!r:.120}; {NOT_A_RATER}", key="rater")
        self._store, self._run, self._rater = store, run, rater
        self._draws = {draw.evaluator: draw for draw in store.labels.draws(run)}
        self._names = evaluator_names(store, run, cases=run.cases, limit=_MOST_NAMES)
        self._seen: dict[tuple[int, str | None, str], int] = {}

    def take(self, line: int, cells: Mapping[str, str], read: _Read) -> None:
        """Read a row."""
        if not cells["human"]:
            read.empty += 1
            return
        try:
            label = self._label(cells)
        except ConfigError as error:
            read.faults.append(Fault(line, str(error)))
            return
        if label.key in self._seen:
            told = f"{label.rater} has labelled case {label.case!r:.80} in line {self._seen[label.key]} already"
            read.faults.append(Fault(line, f"{told}; a person has one label for a case: remove one of them"))
            return
        self._seen[label.key] = line
        read.labels.append(label)

    def _label(self, cells: Mapping[str, str]) -> Label:
        rater = cells.get("rater") or self._rater
        if not rater:
            raise ConfigError("rater is empty; write who labelled it, or say it for all rows with --rater NAME")
        if not is_rater(rater):
            raise ConfigError(f"rater is {rater!r:.120}; {NOT_A_RATER}")
        value = _about("human", lambda: label_value(cells["human"]))
        if len(cells.get("note", "")) > MOST_NOTE:
            raise ConfigError(f"note has more than {MOST_NOTE:,} characters")
        evaluator = cells.get("evaluator") or None
        if evaluator is not None:
            require_evaluator(self._run, evaluator, self._names)
        result = case_result(self._store, self._run, cells["id"])
        if result is None:
            raise ConfigError(f"run {self._run.id} has no case {cells['id']!r:.80}")
        answer = answer_of(result)
        if answer is None:
            raise ConfigError(f"case {result.id!r:.80} has no answer, so there is nothing to label")
        now = answer_hash(answer)
        if cells.get("answer_hash") and cells["answer_hash"] != now:
            raise ConfigError(
                f"the answer of case {result.id!r:.80} is not the one that was labelled: its hash is {now}, and in the "
                f"file it is {cells['answer_hash']!r:.40}; is it the file of another run?"
            )
        return Label(
            case=result.id,
            position=result.position,
            rater=rater,
            value=value,
            answer=now,
            note=cells.get("note", ""),
            p=self._chance(cells, result, evaluator),
            evaluator=evaluator,
        )

    def _chance(self, cells: Mapping[str, str], result: CaseResult, evaluator: str | None) -> float | None:
        """Return the chance of a case in the draw; None for a row that says of itself that it was not drawn."""
        if not cells.get("p"):
            return None
        not_random = "leave p empty for labels that were not drawn at random"
        p = _about("p", lambda: chance_in(cells["p"]))
        draw = self._draws.get(evaluator)
        if draw is None:
            raise ConfigError(
                f"p is {p:g}, but run {self._run.id} has no draw{_of(evaluator)} here; repeat the draw with its seed "
                f"(evenhand label RUN --sample N --seed S), or {not_random}"
            )
        drawn: DrawnCase | None = draw.at(result.position)
        if drawn is None:
            raise ConfigError(f"p is {p:g}, but case {result.id!r:.80} was not drawn (seed {draw.seed}); {not_random}")
        if cells.get("seed") and cells["seed"] != str(draw.seed):
            raise ConfigError(
                f"seed is {cells['seed']!r:.40}, but the draw of run {self._run.id} has seed {draw.seed}; is it the "
                f"file of another draw? Or {not_random}"
            )
        if not cells.get("answer_hash"):
            raise ConfigError(f"answer_hash is empty, and a drawn case needs it; fill it in, or {not_random}")
        if abs(p - drawn.p) > _SAME_CHANCE * max(drawn.p, p):
            raise ConfigError(
                f"p is {p:g}, but the chance of case {result.id!r:.80} in the draw was {drawn.p:g}; {not_random}"
            )
        return drawn.p


def _about(column: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ConfigError as error:
        raise ConfigError(f"{column}: {error}") from None


def chance_in(text: str) -> float:
    """Return the chance in a cell."""
    try:
        p = decimal(text)
    except ValueError:
        p = 0.0
    if not 0 < p <= 1:
        raise ConfigError(f"{text!r:.40} is no chance; it must be above 0, and at most 1")
    return p


def _of(evaluator: str | None) -> str:
    return "" if evaluator is None else f" for evaluator {evaluator!r:.80}"
