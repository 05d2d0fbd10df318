"""A job from what a Python program passes: cases, evaluators, or a suite and what to change in it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from evenhand import registry
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import Gates, slices_of
from evenhand.domain.run import PlannedCase
from evenhand.domain.scale import is_finite_number
from evenhand.domain.slices import SliceCheck, slice_keys
from evenhand.domain.verdict import Thresholds
from evenhand.engine.compact_sets import IdSet
from evenhand.engine.identity import describe
from evenhand.engine.job import Job
from evenhand.engine.plan import with_id
from evenhand.engine.target import target_of
from evenhand.engine.targets.base import Target
from evenhand.engine.targets.several import SeveralTargets
from evenhand.evaluators.value_text import shown
from evenhand.models.prices import PriceBook
from evenhand.suites.cases import CaseMaker
from evenhand.suites.checks import Checks
from evenhand.suites.document import Document
from evenhand.suites.parquet import table_rows
from evenhand.suites.python_evaluators import EvaluatorLike, Panel, as_written
from evenhand.suites.rows import Rows, columns_of, mapped
from evenhand.suites.suite import Place, Suite, duplicate_faults, job_of
from evenhand.suites.values import Fault, Mapped, Piece, doubles, format_fault

_NAME = "evaluation"


def job_from(
    cases: Suite | Document | CaseLike | Iterable[CaseLike],
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] | None = None,
    *,
    target: object = None,
    judge: object = None,
    name: str | None = None,
    thresholds: Thresholds | Mapping[str, float] | None = None,
    gates: Mapping[str, Any] | None = None,
    prices: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    columns: Mapping[str, str] | None = None,
    slices: Sequence[str] | None = None,
) -> Job:
    """Make the job of judging some cases, a file of them, or a suite; arguments replace what the suite defines."""
    if timeout is not None and (not is_finite_number(timeout) or timeout <= 0):
        raise ConfigError(f"timeout is {timeout!r:.80}; it must be a number of seconds above 0")
    if name is not None and not isinstance(name, str):
        raise ConfigError(f"name must be text, not {name!r:.80}")
    marks = None if thresholds is None else Thresholds.of(thresholds)
    Gates.of(gates)
    sliced_by = None if slices is None else list(slice_keys(slices))
    if columns is not None and isinstance(cases, Suite):
        raise ConfigError("columns: a suite says itself which columns its cases have; write columns into the suite")
    made = target_of(target)
    names = None if columns is None else columns_of(columns)
    changed = {
        "judge": None if judge is None else as_written(judge) or describe(registry.judge(judge)),
        "target": None if made is None else as_written(target) or made.description(),
        "thresholds": marks and {"pass": marks.pass_at, "borderline": marks.borderline_at},
        "gates": gates,
        "prices": prices,
        "timeout": timeout,
        "columns": names,
        "slices": sliced_by,
    }
    if isinstance(cases, Suite):
        job = _job_of_suite(cases, evaluators, judge, made)
        own_gates = evaluators is None and gates is None
        cases_of_suite = functools.partial(
            cases.cases, own_gates=own_gates, own_slices=slices is None, own_answers=made is None
        )
        job = replace(job, cases=cases_of_suite)
    else:
        job = _job(cases, evaluators, judge, names, has_target=made is not None)
    definition = {**job.definition, **{key: value for key, value in changed.items() if value is not None}}
    answering = made or job.target
    assigned = answering.keys if isinstance(answering, SeveralTargets) else ()
    return replace(
        job,
        name=name or job.name,
        definition=definition,
        cases=functools.partial(_with_slices, job.cases, definition, assigned),
        target=answering,
        assign=made.assigned if isinstance(made, SeveralTargets) else job.assign if made is None else None,
        prices=job.prices if prices is None else PriceBook(prices),
        timeout=job.timeout if timeout is None else timeout,
    )


def _with_slices(
    cases: Callable[[], Iterable[PlannedCase]], definition: Mapping[str, Any], assigned: Sequence[str]
) -> Iterator[PlannedCase]:
    """Yield cases, and raise ``ConfigError`` where they cannot be sliced as the definition has it."""
    gated = Gates.of(definition.get("gates")).slice_keys
    check = SliceCheck(slices_of(definition), gated, assigned)
    has_cases = False
    for planned in cases():
        if problem := check.problem(planned.case.metadata):
            raise ConfigError(f"case {planned.case.id!r}: {problem}")
        has_cases = True
        yield planned
    for key, mistake in check.mistakes() if has_cases else ():
        raise ConfigError(f"{'gates: slices' if key in gated else 'slices'}: {mistake}")


def _job_of_suite(
    suite: Suite,
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] | None,
    judge: object,
    target: Target | None,
) -> Job:
    job = job_of(suite, target=target)
    if evaluators is None and judge is None:
        return job
    usual = suite.definition.get("evaluators") if evaluators is None else evaluators
    panel = Panel(usual, judge=suite.built.judge if judge is None else judge, folder=Path(suite.folder))
    definition = {**job.definition, "evaluators": panel.definitions}
    return replace(job, definition=definition, evaluators_for=panel.evaluators_for)


def _job(
    cases: Document | CaseLike | Iterable[CaseLike],
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] | None,
    judge: object,
    columns: Mapping[str, str] | None,
    *,
    has_target: bool,
) -> Job:
    panel = Panel(evaluators, judge=judge)
    several = cases if isinstance(cases, Document) else rows_of(cases)
    maker = CaseMaker(panel.definitions, Checks(Path("cases"), folder=Path.cwd()))
    reader = CaseReader(maker, columns, has_target=has_target)
    return Job(
        name=several.path.stem if isinstance(several, Document) else _NAME,
        definition={"evaluators": panel.definitions},
        # An iterator gives its cases once; a run is planned once.
        cases=lambda: _planned_cases(several, panel, reader),
        evaluators_for=panel.evaluators_for,
    )


def _planned_cases(
    cases: Document | Table | Iterable[CaseLike], panel: Panel, reader: CaseReader
) -> Iterator[PlannedCase]:
    taken: dict[str, int] = {}
    for case in reader.cases_in(cases) if isinstance(cases, Document) else reader.cases(cases):
        planned = with_id(case, taken)
        if not panel.evaluators_for(planned):
            raise ConfigError(f"case {planned.case.id!r}: nothing judges it; give evaluators, or the case rubrics")
        yield planned


# What users may write for cases.
CaseLike: TypeAlias = Case | Mapping[str, Any]


class Table(NamedTuple):
    """Rows of a data frame or data set, in which None stands for a missing value."""

    rows: Iterable[CaseLike]


def rows_of(cases: object) -> Table | Iterable[CaseLike]:
    """Return cases one by one, a data frame's row by row."""
    if isinstance(cases, Case | Mapping):
        return [cases]
    if callable(named_rows := getattr(cases, "iter_rows", None)):  # polars
        return Table(named_rows(named=True))
    if callable(tuples := getattr(cases, "itertuples", None)) and hasattr(cases, "columns"):  # pandas
        names = [str(name) for name in cast("Any", cases).columns]
        if repeated := doubles(names):
            raise ConfigError(f"two columns have the name {repeated[0]!r:.80}; rename one")
        return Table(dict(zip(names, row, strict=True)) for row in tuples(index=False, name=None))
    if callable(getattr(cases, "to_batches", None)) and hasattr(cases, "schema"):  # pyarrow
        return Table(table_rows(cases))
    if isinstance(cases, str) or not isinstance(cases, Iterable):
        raise ConfigError(
            "cases must be a list of Case or of mappings, a data frame, or the path of a suite or of a file of cases, "
            f"not {cases!r:.80}"
        )
    # A data set of Hugging Face is an iterable of mappings.
    return Table(cases) if hasattr(cases, "column_names") else cases


class CaseReader:
    """Makes the cases of a run; the answers of those that have none are made by a target, where there is one."""

    def __init__(self, maker: CaseMaker, columns: Mapping[str, str] | None, *, has_target: bool) -> None:
        self._maker = maker
        self._columns = columns
        self._has_target = has_target

    def cases(self, cases: Table | Iterable[CaseLike]) -> Iterator[PlannedCase]:
        """Make cases from objects and mappings; raises ``ConfigError`` at the first mistake."""
        rows = Rows(self._columns, has_target=self._has_target)
        is_table = isinstance(cases, Table)
        for position, case in enumerate(cases.rows if isinstance(cases, Table) else cases):
            yield self._case(case, position, rows, is_table=is_table)
        rows.check_all_seen()

    def cases_in(self, document: Document) -> Iterator[PlannedCase]:
        """Make cases from files of them."""
        seen = IdSet()
        for position, (file, piece) in enumerate(self._pieces(document)):
            faults: list[Fault] = []
            planned = self._maker.planned(piece, position, faults)
            if planned is not None and planned.case.id is not None and seen.add(planned.case.id):
                faults += duplicate_faults(self._first_with(planned.case.id, document, position), file, piece.line)
            if planned is None or faults:
                identity = piece.value.get("id") if isinstance(piece.value, Mapped) else None
                label = f", case {position + 1 if identity is None else shown(identity)}"
                raise ConfigError(format_fault(file, faults[0], label))
            yield planned

    def _pieces(self, document: Document) -> Iterator[tuple[Path, Piece]]:
        return document.rows(Rows(self._columns, has_target=self._has_target))

    def _first_with(self, identity: str, document: Document, position: int) -> Place | None:
        for file, piece in itertools.islice(self._pieces(document), position):
            if isinstance(piece.value, Mapped) and piece.value.get("id") == identity:
                return file, piece.line
        return None

    def _case(self, case: object, position: int, rows: Rows, *, is_table: bool) -> PlannedCase:
        if isinstance(case, Case):
            return PlannedCase(position=position, case=case)
        number = f"case {position + 1}"
        if not isinstance(case, Mapping):
            records = "; for a data frame, pass the frame itself" if isinstance(case, str) else ""
            raise ConfigError(f"{number} must be a Case or a mapping, not {case!r:.80}{records}")
        faults: list[Fault] = []
        piece = rows.piece(Piece(position + 1, mapped(case, position + 1)), is_table=is_table)
        planned = self._maker.planned(piece, position, faults)
        if planned is None:
            identity = piece.value.get("id")
            where = f"case {identity!r}" if isinstance(identity, str) else number
            raise ConfigError(f"{where}: {faults[0].text}")
        return planned
