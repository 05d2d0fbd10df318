"""A job from what a Python program passes: cases, evaluators, or a suite and what to change in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

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
from evenhand.models.prices import PriceBook
from evenhand.suites.cases import CaseMaker
from evenhand.suites.checks import Checks
from evenhand.suites.python_evaluators import EvaluatorLike, Panel, as_written
from evenhand.suites.suite import Suite, job_of
from evenhand.suites.values import Fault, Listed, Mapped, Piece

# What users may write for cases.
CaseLike: TypeAlias = Case | Mapping[str, Any]

_NAME = "evaluation"


def job_from(
    cases: Suite | CaseLike | Iterable[CaseLike],
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
    """Make the job of judging some cases, or a suite; arguments replace what the suite itself defines."""
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
        job = _job(cases, evaluators, judge)
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
    cases: CaseLike | Iterable[CaseLike], evaluators: EvaluatorLike | Iterable[EvaluatorLike] | None, judge: object
) -> Job:
    panel = Panel(evaluators, judge=judge)
    several = [cases] if isinstance(cases, Case | Mapping) else cases
    if isinstance(several, str) or not isinstance(several, Iterable):
        raise ConfigError(f"cases must be a list of Case or of mappings, or the path of a suite, not {several!r:.80}")
    return Job(
        name=_NAME,
        definition={"evaluators": panel.definitions},
        # An iterator gives its cases once; a run is planned once.
        cases=lambda: _planned_cases(several, panel),
        evaluators_for=panel.evaluators_for,
    )


def _planned_cases(cases: Iterable[CaseLike], panel: Panel) -> Iterator[PlannedCase]:
    maker = CaseMaker(panel.definitions, Checks(Path("cases"), folder=Path.cwd()))
    taken: dict[str, int] = {}
    for position, case in enumerate(cases):
        planned = with_id(_case(case, position, maker), taken)
        if not panel.evaluators_for(planned):
            raise ConfigError(f"case {planned.case.id!r}: nothing judges it; give evaluators, or the case rubrics")
        yield planned


def _case(case: object, position: int, maker: CaseMaker) -> PlannedCase:
    if isinstance(case, Case):
        return PlannedCase(position=position, case=case)
    number = f"case {position + 1}"
    if not isinstance(case, Mapping):
        records = "; for a data frame, pass frame.to_dict('records')" if isinstance(case, str) else ""
        raise ConfigError(f"{number} must be a Case or a mapping, not {case!r:.80}{records}")
    faults: list[Fault] = []
    planned = maker.planned(Piece(position + 1, _mapped(case, position + 1)), position, faults)
    if planned is None:
        identity = case.get("id")
        where = f"case {identity!r}" if isinstance(identity, str) else number
        raise ConfigError(f"{where}: {faults[0].text}")
    return planned


def _mapped(case: Mapping[Any, Any], line: int) -> Mapped:
    """Return a case as one from a file, where the same rules hold; its line is its number."""
    made = Mapped(line)
    for key, value in case.items():
        made[str(key)] = _from_file(value, line)
        made.lines[str(key)] = line
    return made


def _from_file(value: object, line: int) -> object:
    if isinstance(value, str):
        return str(value)  # numpy has texts of its own
    if isinstance(value, Mapping):
        return _mapped(value, line)
    if isinstance(value, list | tuple):
        listed = Listed(line)
        listed.extend(value)
        listed.lines = [line] * len(value)
        return listed
    return value
