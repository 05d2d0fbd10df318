"""A job from what a Python program passes: cases, evaluators, or a suite and what to change in it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from evenhand import registry
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import Gates
from evenhand.domain.run import PlannedCase
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import Thresholds
from evenhand.engine.identity import describe
from evenhand.engine.job import Job
from evenhand.engine.plan import with_id
from evenhand.engine.target import target_of
from evenhand.evaluators.value_text import shown
from evenhand.models.prices import PriceBook
from evenhand.suites.cases import NAMES, CaseMaker
from evenhand.suites.checks import Checks
from evenhand.suites.document import Document
from evenhand.suites.python_evaluators import EvaluatorLike, Panel, as_written
from evenhand.suites.suite import Suite, job_of
from evenhand.suites.values import ELSEWHERE, MOST_GUESSED, Fault, Listed, Mapped, Piece, format_fault

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
) -> Job:
    """Make the job of judging some cases, a file of them, or a suite; arguments replace what the suite defines."""
    if timeout is not None and (not is_finite_number(timeout) or timeout <= 0):
        raise ConfigError(f"timeout is {timeout!r:.80}; it must be a number of seconds above 0")
    if name is not None and not isinstance(name, str):
        raise ConfigError(f"name must be text, not {name!r:.80}")
    marks = None if thresholds is None else Thresholds.of(thresholds)
    Gates.of(gates)
    made = target_of(target)
    changed = {
        "judge": None if judge is None else as_written(judge) or describe(registry.judge(judge)),
        "target": None if made is None else as_written(target) or made.description(),
        "thresholds": marks and {"pass": marks.pass_at, "borderline": marks.borderline_at},
        "gates": gates,
        "prices": prices,
        "timeout": timeout,
    }
    if isinstance(cases, Suite):
        job = _job_of_suite(cases, evaluators, judge)
        own_gates = evaluators is None and gates is None
        job = replace(job, cases=lambda: cases.cases(own_gates=own_gates, own_answers=made is None))
    else:
        job = _job(cases, evaluators, judge, has_target=made is not None)
    return replace(
        job,
        name=name or job.name,
        definition={**job.definition, **{key: value for key, value in changed.items() if value is not None}},
        target=made or job.target,
        prices=job.prices if prices is None else PriceBook(prices),
        timeout=job.timeout if timeout is None else timeout,
    )


def _job_of_suite(suite: Suite, evaluators: EvaluatorLike | Iterable[EvaluatorLike] | None, judge: object) -> Job:
    job = job_of(suite)
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
    *,
    has_target: bool,
) -> Job:
    panel = Panel(evaluators, judge=judge)
    several = cases if isinstance(cases, Document) else rows_of(cases)
    return Job(
        name=several.path.stem if isinstance(several, Document) else _NAME,
        definition={"evaluators": panel.definitions},
        # An iterator gives its cases once; a run is planned once.
        cases=lambda: _planned_cases(several, panel, has_target=has_target),
        evaluators_for=panel.evaluators_for,
    )


def _planned_cases(cases: Document | Iterable[CaseLike], panel: Panel, *, has_target: bool) -> Iterator[PlannedCase]:
    reader = CaseReader(CaseMaker(panel.definitions, Checks(Path("cases"), folder=Path.cwd())), has_target=has_target)
    taken: dict[str, int] = {}
    for case in reader.cases_in(cases) if isinstance(cases, Document) else reader.cases(cases):
        planned = with_id(case, taken)
        if not panel.evaluators_for(planned):
            raise ConfigError(f"case {planned.case.id!r}: nothing judges it; give evaluators, or the case rubrics")
        yield planned


# What users may write for cases.
CaseLike: TypeAlias = Case | Mapping[str, Any]

# Names of pandas' classes for a value that is missing.
_MISSING: Final = frozenset({"NAType", "NaTType"})


def rows_of(cases: object) -> Iterable[CaseLike]:
    """Return cases one by one, a data frame's row by row."""
    if isinstance(cases, Case | Mapping):
        return [cases]
    rows: object = cases
    if hasattr(cases, "columns") and callable(to_dict := getattr(cases, "to_dict", None)):
        rows = to_dict("records")
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise ConfigError(
            "cases must be a list of Case or of mappings, a data frame, or the path of a suite or of a file of cases, "
            f"not {rows!r:.80}"
        )
    return rows


class CaseReader:
    """Makes the cases of a run; the answers of those that have none are made by a target, where there is one."""

    def __init__(self, maker: CaseMaker, *, has_target: bool) -> None:
        self._maker = maker
        self._has_target = has_target

    def cases(self, cases: Iterable[CaseLike]) -> Iterator[PlannedCase]:
        """Make cases from objects and mappings; raises ``ConfigError`` at the first mistake."""
        for position, case in enumerate(cases):
            yield self._case(case, position)

    def cases_in(self, file: Document) -> Iterator[PlannedCase]:
        """Make cases from a file of them."""
        for position, piece in enumerate(file.cases()):
            faults: list[Fault] = []
            planned = self._planned(piece, position, faults)
            if planned is None:
                identity = piece.value.get("id") if isinstance(piece.value, Mapped) else None
                label = f", case {position + 1 if identity is None else shown(identity)}"
                raise ConfigError(format_fault(file.case_file, faults[0], label))
            yield planned

    def _case(self, case: object, position: int) -> PlannedCase:
        if isinstance(case, Case):
            return PlannedCase(position=position, case=case)
        number = f"case {position + 1}"
        if not isinstance(case, Mapping):
            records = "; for a data frame, pass the frame itself" if isinstance(case, str) else ""
            raise ConfigError(f"{number} must be a Case or a mapping, not {case!r:.80}{records}")
        faults: list[Fault] = []
        planned = self._planned(Piece(position + 1, _mapped(case, position + 1)), position, faults)
        if planned is None:
            identity = case.get("id")
            where = f"case {identity!r}" if isinstance(identity, str) else number
            raise ConfigError(f"{where}: {faults[0].text}")
        return planned

    def _planned(self, piece: Piece, position: int, faults: list[Fault]) -> PlannedCase | None:
        if isinstance(piece.value, Mapped) and not piece.faults:
            piece = piece._replace(value=self._row(piece.value, faults))
        planned = self._maker.planned(piece, position, faults)
        return None if faults else planned

    def _row(self, written: Mapped, faults: list[Fault]) -> Mapped:
        """Return a case with the keys of one in a suite: missing values left out, and further keys in the metadata."""
        row, more = Mapped(written.line), Mapped(written.line)
        fields = {NAMES[key] for key in written if key in NAMES} | ({"candidate_answer"} if self._has_target else set())
        for key, value in written.items():
            line = written.lines[key]
            if _is_missing(value):
                if NAMES.get(key) == "candidate_answer" and not self._has_target:
                    text = f"{key} is missing (NaN); give text, leave out the row, or give a target that makes answers"
                    faults.append(Fault(line, text))
                continue
            part = more if _is_further(key, fields) else row
            part[key] = str(value) if key == "id" and type(value) is int else value
            part.lines[key] = line
        return _with_metadata(row, more, faults) if more else row


def _with_metadata(row: Mapped, more: Mapped, faults: list[Fault]) -> Mapped:
    own = row.get("metadata")
    if own is None:
        row.lines["metadata"] = more.line
        return row.with_value("metadata", more)
    if not isinstance(own, Mapped):  # which is refused
        return row
    faults += [
        Fault(more.lines[key], f"{key!r:.80} is a key of the metadata too; give it once") for key in more if key in own
    ]
    whole = Mapped(own.line)
    whole.update({**own, **more})
    whole.lines.update({**own.lines, **more.lines})
    return row.with_value("metadata", whole)


def _is_further(key: str, fields: set[str]) -> bool:
    """Return whether a key is the user's own, and not one of a case, a misspelt one, or another tool's name for one.

    Where the case has that field already, a key such as ``response`` is something else.
    """
    ours = NAMES.get(ELSEWHERE.get(key, ""))
    if key in NAMES or (ours is not None and ours not in fields):
        return False
    near = difflib.get_close_matches(key[:MOST_GUESSED], NAMES, n=1, cutoff=0.75)
    return not near or key.startswith(f"{near[0]}_")  # such as question_id


def _is_missing(value: object) -> bool:
    """Return whether a value is what tables have where there is none."""
    return (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in _MISSING


def _mapped(case: Mapping[Any, Any], line: int) -> Mapped:
    """Return a case as one from a file, where the same rules hold; its line is its number."""
    made = Mapped(line)
    for key, value in case.items():
        made[str(key)] = _from_file(value, line)
        made.lines[str(key)] = line
    return made


def _from_file(value: object, line: int) -> object:
    # numpy has texts, numbers and lists of its own.
    if isinstance(value, str):
        return str(value)
    if type(value).__module__ == "numpy" and callable(to_list := getattr(value, "tolist", None)):
        value = to_list()
    if isinstance(value, Mapping):
        return _mapped(value, line)
    if isinstance(value, list | tuple):
        listed = Listed(line)
        listed.extend(value)
        listed.lines = [line] * len(value)
        return listed
    return value
