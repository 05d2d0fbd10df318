"""A run as a file: JSON lines that another store, or a later version, reads back as they were.

The first line has the run and the draws of its labels, each further one a case with its answers and evaluations of all
rounds and its labels by people. Fields that this version does not know are kept. The path of the suite is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Protocol

from evenhand.domain.errors import ConfigError, ConflictError, ConnectionLostError
from evenhand.domain.label import LABELS_FILE
from evenhand.domain.run import CaseResult, RunRecord, RunStatus
from evenhand.store.import_validation import (
    Row,
    checked_answer,
    checked_case,
    checked_draws,
    checked_evaluation,
    checked_label,
    checked_run,
    parse_line,
)
from evenhand.store.labels import draw_fields
from evenhand.store.records import ANSWERS, EVALUATIONS, Table, by_position
from evenhand.store.rows import answer_fields, dumps, loads
from evenhand.store.store import Store

SCHEMA_VERSION: Final = 1
KIND: Final = "evenhand-run"
# In the options of a run that came from elsewhere.
IMPORTED: Final = "imported"
# In the options of a run that others of its suite or prompt are held against.
BASELINE: Final = "baseline"
_MORE: Final = "more"
# What is said of a run in this store only.
_OWN: Final = (IMPORTED, BASELINE, _MORE, LABELS_FILE)
# No honest case comes near it.
MAX_LINE_BYTES: Final = 64_000_000

_DRAWS: Final = "label_draws"
_LABELS: Final = "labels"
_OF_A_CASE: Final = ("position", "hash", "expected", "answers", "evaluations", _LABELS)
_OF_AN_EVALUATION: Final = ("place", "sample", "round", "key", "weight", "required", "cost", "seconds")
_OF_A_RUN: Final = (
    "id", "name", "status", "reason", "definition", "options", "cases", "repeat", "forked_from", "version", "created",
    "finished", "abandoned_calls", "abandoned_cost",
)  # fmt: skip


def export_lines(store: Store, run: RunRecord) -> Iterator[bytes]:
    """Write a run line by line; memory stays flat."""
    if run.status is RunStatus.PLANNING:
        raise ConfigError(f"the cases of run {run.id} were not all read; resume it first, or delete it")
    if run.status is not RunStatus.FINISHED and store.provider_batches.has_requests(run):
        raise ConflictError(
            f"run {run.id} has questions in batches, whose replies are not part of an export; where it is imported, "
            "they would be asked and paid for again. Finish the run first, then export it"
        )
    draws = [draw_fields(draw) for draw in store.labels.draws(run)]
    header = {"kind": KIND, "schema_version": SCHEMA_VERSION, "run": _run_fields(run)}
    yield _line(header | ({_DRAWS: draws} if draws else {}))
    for rows in store.case_rows(run):
        first, last = rows[0][0], rows[-1][0]
        answers = by_position(_between(store, ANSWERS, "position, sample, round", (run, first, last)))
        evaluations = by_position(_between(store, EVALUATIONS, "position, sample, place, round", (run, first, last)))
        labels = store.labels.rows_between(run, first, last)
        for position, digest, expected, content in rows:
            results: dict[str, Any] = {
                "answers": [answer_fields(row[-2]) for row in answers.get(position, ())],
                "evaluations": [_evaluation(row) for row in evaluations.get(position, ())],
            }
            if position in labels:
                results[_LABELS] = labels[position]
            yield _line({**loads(content), "position": position, "hash": digest, "expected": expected, **results})


def _between(store: Store, table: Table, order: str, where: tuple[RunRecord, int, int]) -> list[Row]:
    run, first, last = where
    return table.read(store.database, run, "position BETWEEN ? AND ?", [first, last], order=order)


def _evaluation(row: Row) -> dict[str, Any]:
    *columns, content, _ = row
    fields = dict(zip(EVALUATIONS.columns, columns, strict=True))
    return {
        **loads(content),
        **{name: fields[name] for name in _OF_AN_EVALUATION},
        "required": bool(fields["required"]),
    }


def _run_fields(run: RunRecord) -> dict[str, Any]:
    fields = {name: getattr(run, name) for name in _OF_A_RUN if run.abandoned_calls or not name.startswith("abandoned")}
    fields["options"] = {name: value for name, value in run.options.items() if name not in _OWN}
    return fields | dict(run.options.get(_MORE, {}))


def _line(value: Mapping[str, Any]) -> bytes:
    # What the store writes before a text that needs patience would be a line of its own here.
    return dumps(value).strip().encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The outcome of an import: the id of the run here, its original id, and counts."""

    id: str
    original_id: str
    name: str
    cases: int
    evaluations: int


class _DryRun(Exception):  # noqa: N818 - undoes a transaction, and is nobody's error
    def __init__(self, imported: Imported) -> None:
        self.imported = imported


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Read a file line by line; one that is too long comes cut off, and is refused for its length."""
    while line := file.readline(MAX_LINE_BYTES + 1):
        yield line


class CaseCheck(Protocol):
    """Checks the cases of a run one by one; raises ``ConfigError`` if one is invalid."""

    def take(self, result: CaseResult) -> None:
        """Check the next case."""
        ...

    def end(self) -> None:
        """Check all of them together, after the last one."""
        ...


def import_lines(
    store: Store,
    lines: Iterable[bytes] | Callable[[], Iterable[bytes]],
    *,
    name: str = "import",
    dry_run: bool = False,
    check: Callable[[Mapping[str, Any]], CaseCheck | None] | None = None,
) -> Imported:
    """Read a run into a store: all of it or, if one line is wrong, nothing (REL-V5).

    Nothing that the run defines is built, imported or run. It is marked as imported, and gets another id if the
    store has that id already. ``name`` is the file that errors name; a dry run finds the same errors. ``check`` is for
    what only some kinds of runs have: it takes the definition, and returns what checks the cases. If the connection to
    the database is lost, a function that gives the ``lines`` anew is called again; otherwise nothing is imported.
    """

    def once() -> Imported:
        with store.database.transaction():
            store.database.lock()
            imported = _import(store, enumerate(lines() if callable(lines) else lines, start=1), name)
            if check is not None:
                _check_results(store, store.runs.find(imported.id), check, name)
            if dry_run:
                raise _DryRun(imported)
        return imported

    try:
        return store.database.repeated(once) if callable(lines) else once()
    except _DryRun as undone:
        return undone.imported
    except ConnectionLostError as error:
        raise ConnectionLostError(f"{name}: nothing of it was imported; import it again. {error}") from error


def _import(store: Store, lines: Iterator[tuple[int, bytes]], name: str) -> Imported:
    number, first = next(lines, (1, b""))
    where = f"{name}:{number}"
    header = _parse(first, where)
    _check_kind(header, where)
    run = checked_run(header.get("run"), where)
    identity = _free_id(store, run["id"])
    key = _add_run(store, run, identity)
    store.labels.restore(key, [], checked_draws(header.get(_DRAWS, []), where, cases=run["cases"]))
    numbers: set[int] = set()
    cases = evaluations = 0
    for number, line in lines:
        where = f"{name}:{number}"
        if cases == run["cases"]:
            raise ConfigError(f"{where}: the run has {cases} cases, and here is one more line")
        fields = _parse(line, where)
        evaluations += _add_case(store, key, fields, where, position=cases, repeat=run["repeat"])
        labels = [checked_label(label, where, position=cases, numbers=numbers) for label in _labels_in(fields, where)]
        store.labels.restore(key, labels, [])
        cases += 1
    if cases < run["cases"]:
        raise ConfigError(f"{name}: it ends after {cases} of {run['cases']} cases; it was cut off")
    if run["status"] == RunStatus.FINISHED:
        store.runs.count(store.runs.find(identity))
    return Imported(id=identity, original_id=run["id"], name=run["name"], cases=cases, evaluations=evaluations)


def _check_results(
    store: Store, run: RunRecord, check: Callable[[Mapping[str, Any]], CaseCheck | None], name: str
) -> None:
    """Check an imported run before it is committed."""
    where = f"{name}:1: run: definition"
    try:
        if (of_cases := check(run.definition)) is None:
            return
        for result in store.results(run):
            where = f"{name}:{result.position + 2}: case"
            of_cases.take(result)
        of_cases.end()
    except ConfigError as error:
        raise ConfigError(f"{where}: {error!s:.300}") from None


def _parse(line: bytes, where: str) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise ConfigError(f"{where}: the line has more than {MAX_LINE_BYTES // 1_000_000} MB")
    return parse_line(line, where)


def _check_kind(header: Mapping[str, Any], where: str) -> None:
    if header.get("kind") != KIND:
        raise ConfigError(f"{where}: this is not the beginning of an exported run; make one with: evenhand export RUN")
    version = header.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ConfigError(f"{where}: it is written in format {version!r:.20}, and this Evenhand reads {SCHEMA_VERSION}")


def _free_id(store: Store, preferred: str) -> str:
    identity, number = preferred, 1
    while store.database.rows("SELECT 1 FROM runs WHERE id = ?", [identity]):
        number += 1
        identity = f"{preferred}-{number}"
    return identity


def _add_run(store: Store, run: Mapping[str, Any], identity: str) -> int:
    more = {name: value for name, value in run.items() if name not in _OF_A_RUN}
    options = {name: value for name, value in run["options"].items() if name not in _OWN}
    options |= {IMPORTED: True} | ({_MORE: more} if more else {})
    columns = {**run, "id": identity, "definition": dumps(run["definition"]), "options": dumps(options)}
    return store.runs.add({name: columns[name] for name in _OF_A_RUN if name in columns})


def _add_case(store: Store, run: int, line: Mapping[str, Any], where: str, *, position: int, repeat: int) -> int:
    """Add a case with its answers and evaluations, and return how many evaluations there are."""
    content = {name: value for name, value in line.items() if name not in _OF_A_CASE}
    identity, expected = checked_case(line, dumps(content), where, position=position)
    if store.database.rows("SELECT 1 FROM cases WHERE run = ? AND id = ?", [run, identity]):
        raise ConfigError(f"{where}: duplicate case id {identity!r:.80}")
    store.add_cases([(run, position, identity, line["hash"], expected, dumps(content))])
    answers = [checked_answer(answer, dumps(answer), where, repeat=repeat) for answer in line["answers"]]
    _add(store, ANSWERS, [(run, position, *row) for row in _require_distinct(answers, where, "answer", 2)])
    evaluations: list[Row] = []
    for evaluation in line["evaluations"]:
        rest = {name: value for name, value in evaluation.items() if name not in _OF_AN_EVALUATION}
        evaluations.append(checked_evaluation(evaluation, dumps(rest), where, expected=expected, repeat=repeat))
    rows = [(run, position, *row) for row in _require_distinct(evaluations, where, "evaluation", 3)]
    _add(store, EVALUATIONS, store.shared_texts.cut(rows))
    return len(evaluations)


def _labels_in(line: Mapping[str, Any], where: str) -> list[Any]:
    labels = line.get(_LABELS, [])
    if not isinstance(labels, list):
        raise ConfigError(f"{where}: case: labels is {labels!r:.80}; it must be a list")
    return labels


def _add(store: Store, table: Table, rows: list[Row]) -> None:
    store.database.execute_many(table.insert, table.sealed(rows))


def _require_distinct(rows: list[Row], where: str, noun: str, width: int) -> list[Row]:
    """Refuse rows whose first columns, which identify them, are equal."""
    if len({row[:width] for row in rows}) < len(rows):
        raise ConfigError(f"{where}: duplicate {noun} of the same sample and round")
    return rows
