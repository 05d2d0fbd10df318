"""Start a run over profiles: scoring, ranking, or an audit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from evenhand.cli.options import RunOptions, is_typed, opened_if_there, texts_given
from evenhand.cli.runs.overrides import CommandScope
from evenhand.cli.runs.session import Session, pace_of, session
from evenhand.cli.runs.start import require_prices
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import ExitCode
from evenhand.engine.estimate import Estimate
from evenhand.engine.estimator import forecast
from evenhand.engine.plan import plan
from evenhand.engine.store_location import StoreLocation
from evenhand.models.resolve import unasked
from evenhand.profiles.audit.artifacts import require_free, write_artifacts
from evenhand.profiles.audit.design import WHAT, AuditDesign
from evenhand.profiles.audit.job import AuditJob, audit_job
from evenhand.profiles.job import ScoringJob
from evenhand.profiles.ranking.design import RankingDesign
from evenhand.profiles.ranking.job import RankingJob, all_rounds
from evenhand.reports.json_text import strict_json
from evenhand.reports.report import Report
from evenhand.suites.definition import with_paths
from evenhand.suites.document import read_mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """What is to be scored: which profiles, by which criteria, by whom, how often."""

    profiles: str
    criteria: str
    judge: str | None = None
    max_attempts: int = 3
    repeat: int = 1
    only: tuple[str, ...] = ()
    limit: int | None = None
    estimate: bool = False


def score_all(ctx: typer.Context, wanted: ScoreRequest, manner: RunOptions) -> ExitCode:
    """Score profiles, or tell what it would take, and give the exit code."""
    if wanted.judge is None:
        raise ConfigError("no judge: give --judge openai/gpt-5-mini, or set EVENHAND_JUDGE")
    with session(ctx, manner) as at_work, unasked(wanted.estimate):
        job = ScoringJob(
            profiles=wanted.profiles,
            criteria=texts_given({"--criteria": wanted.criteria})["--criteria"],
            judge=wanted.judge,
            kept=wanted.judge,
            max_attempts=wanted.max_attempts,
            timeout=manner.timeout,
        ).job()
        scope = CommandScope(only=wanted.only, limit=wanted.limit, repeat=wanted.repeat, no_cache=manner.no_cache)
        if wanted.estimate or manner.max_cost is not None:
            from evenhand.cli.runs.start import require_prices
            from evenhand.engine.estimator import forecast

            with opened_if_there(manner.db) as store:
                expected = forecast(store, job, scope, use_cache=not manner.no_cache)
            if wanted.estimate:
                at_work.console.result(strict_json(expected.as_dict()) if manner.json else expected.text())
                return ExitCode.OK
            require_prices(expected)
        with StoreLocation(manner.db).opened() as store:
            run = plan(store, job, scope)
            return at_work.work_on(store, run, job, pace_of(manner, None))


def rank_all(
    ctx: typer.Context,
    profiles: str,
    manner: RunOptions,
    *,
    criteria: str,
    judge: str | None,
    design: RankingDesign,
    max_attempts: int,
    estimate: bool,
) -> ExitCode:
    """Rank profiles, or tell what it would take, and give the exit code."""
    if judge is None:
        raise ConfigError("no judge: give --judge openai/gpt-5-mini, or set EVENHAND_JUDGE")
    with session(ctx, manner) as at_work, unasked(estimate):
        work = RankingJob(
            profiles=profiles,
            criteria=texts_given({"--criteria": criteria})["--criteria"],
            judge=judge,
            kept=judge,
            design=design,
            max_attempts=max_attempts,
            timeout=manner.timeout,
        )
        job = work.job()
        scope = CommandScope(no_cache=manner.no_cache)
        with opened_if_there(manner.db) as store:
            expected = forecast(store, all_rounds(job), scope, use_cache=not manner.no_cache)
        if estimate:
            at_work.console.result(strict_json(expected.as_dict()) if manner.json else expected.text())
            return ExitCode.OK
        if manner.max_cost is not None:
            require_prices(expected)
        at_work.console.note(_plan_sentence(design, expected))
        with StoreLocation(manner.db).opened() as store:
            run = plan(store, job, scope)
            return at_work.work_on(store, run, job, pace_of(manner, None))


def _plan_sentence(design: RankingDesign, expected: Estimate) -> str:
    """Say what a ranking will take before anybody is asked."""
    how = "pairs, both orders" if design.in_pairs else f"groups of {design.group_size}"
    return f"{design.name}, {how}: {expected.in_short}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """What is to be audited: by which design, by whom, how often, and where everything is to be kept."""

    design: str
    judge: str | None = None
    max_attempts: int = 3
    repeat: int | None = None
    estimate: bool = False
    artifacts: str | None = None


def audit_all(ctx: typer.Context, wanted: AuditRequest, manner: RunOptions) -> ExitCode:
    """Audit a judge, or tell what it would take, and give the exit code."""
    planned = _planned(ctx, wanted, manner)
    if wanted.artifacts is not None:
        require_free(wanted.artifacts)
    with session(ctx, manner) as at_work, unasked(wanted.estimate):
        job = planned.job()
        scope = CommandScope(repeat=planned.design.repetitions, no_cache=manner.no_cache)
        from evenhand.engine.estimator import forecast

        with opened_if_there(manner.db) as store:
            expected = forecast(store, job, scope, use_cache=not manner.no_cache)
        if wanted.estimate:
            _tell_estimate(at_work, planned, expected, json=manner.json)
            return ExitCode.OK
        if manner.max_cost is not None:
            from evenhand.cli.runs.start import require_prices

            require_prices(expected)
        _tell_plan(at_work, planned, expected)

        def keep(report: Report) -> None:
            if wanted.artifacts is not None:
                write_artifacts(report, wanted.artifacts)
                at_work.console.note(f"wrote {wanted.artifacts}")

        with StoreLocation(manner.db).opened() as store:
            run = plan(store, job, scope)
            return at_work.work_on(store, run, job, pace_of(manner, None), also=keep)


def _planned(ctx: typer.Context, wanted: AuditRequest, manner: RunOptions) -> AuditJob:
    design = AuditDesign.of(read_mapping(wanted.design, what=WHAT), where=wanted.design)
    # One that was typed counts before the design's; one from the environment is for designs that name none.
    typed = wanted.judge if is_typed(ctx, "judge") else None
    judge = typed or design.judge or wanted.judge
    if judge is None:
        raise ConfigError(
            "no judge: write judge: openai/gpt-5-mini into the design, give --judge, or set EVENHAND_JUDGE"
        )
    return audit_job(
        design,
        source=wanted.design,
        repetitions=wanted.repeat,
        judge=with_paths(judge, Path(wanted.design).absolute().parent),
        kept=judge,
        max_attempts=wanted.max_attempts,
        timeout=manner.timeout,
    )


def _tell_plan(at_work: Session, planned: AuditJob, expected: Estimate) -> None:
    for line in planned.plan():
        at_work.console.note(line)
    at_work.console.note(expected.in_short)


def _tell_estimate(at_work: Session, planned: AuditJob, expected: Estimate, *, json: bool) -> None:
    if json:
        at_work.console.result(strict_json({"plan": planned.plan(), **expected.as_dict()}))
    else:
        at_work.console.result("\n".join([*planned.plan(), "", expected.text()]))
