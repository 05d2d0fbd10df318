"""A job from what a Python program passes: cases, evaluators, or a suite and what to change in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand import registry
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
from evenhand.suites.document import Document
from evenhand.suites.python_cases import CaseLike, CaseReader, rows_of
from evenhand.suites.python_evaluators import EvaluatorLike, Panel, as_written
from evenhand.suites.suite import Suite, job_of

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
