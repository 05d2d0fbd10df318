"""An audit at work: planned and told before anybody is asked, then worked on like every run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from evenhand.cli.ending import report_of
from evenhand.cli.manner import Manner
from evenhand.cli.options import is_typed
from evenhand.cli.replacing import CommandScope
from evenhand.cli.session import Session, pace_of, session
from evenhand.cli.stores import opened_if_there
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import ExitCode
from evenhand.engine.forecast import Estimate
from evenhand.engine.place import Place
from evenhand.engine.plan import plan
from evenhand.models.unasked import unasked
from evenhand.profiles.audit.artifacts import require_free, write_artifacts
from evenhand.profiles.audit.design import WHAT, Design
from evenhand.profiles.audit.job import Auditing, auditing
from evenhand.reports.strict import strict_json
from evenhand.suites.definition import with_paths
from evenhand.suites.mapping_file import read_mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be audited: by which design, by whom, how often, and where everything is to be kept."""

    design: str
    judge: str | None = None
    max_attempts: int = 3
    repeat: int | None = None
    estimate: bool = False
    artifacts: str | None = None


def audit_all(ctx: typer.Context, wanted: Wanted, manner: Manner) -> ExitCode:
    """Audit a judge, or tell what it would take, and give the exit code."""
    planned = _planned(ctx, wanted, manner)
    if wanted.artifacts is not None:
        require_free(wanted.artifacts)
    with session(ctx, manner) as at_work, unasked(wanted.estimate):
        job = planned.job()
        scope = CommandScope(repeat=planned.design.repetitions, no_cache=manner.no_cache)
        from evenhand.engine.forecasting import forecast

        with opened_if_there(manner.db) as store:
            expected = forecast(store, job, scope, use_cache=not manner.no_cache)
        if wanted.estimate:
            _tell_estimate(at_work, planned, expected, json=manner.json)
            return ExitCode.OK
        if manner.max_cost is not None:
            from evenhand.cli.forecasting import require_prices

            require_prices(expected)
        _tell_plan(at_work, planned, expected)
        with Place(manner.db).opened() as store:
            run = plan(store, job, scope)
            code = at_work.work_on(store, run, job, pace_of(manner, None))
            if wanted.artifacts is not None:
                write_artifacts(report_of(store, store.runs.find(run.id)), wanted.artifacts)
                at_work.console.note(f"wrote {wanted.artifacts}")
            return code


def _planned(ctx: typer.Context, wanted: Wanted, manner: Manner) -> Auditing:
    design = Design.of(read_mapping(wanted.design, what=WHAT), where=wanted.design)
    # One that was typed counts before the design's; one from the environment is for designs that name none.
    typed = wanted.judge if is_typed(ctx, "judge") else None
    judge = typed or design.judge or wanted.judge
    if judge is None:
        raise ConfigError(
            "no judge: write judge: openai/gpt-5-mini into the design, give --judge, or set EVENHAND_JUDGE"
        )
    return auditing(
        design,
        source=wanted.design,
        repetitions=wanted.repeat,
        judge=with_paths(judge, Path(wanted.design).absolute().parent),
        kept=judge,
        max_attempts=wanted.max_attempts,
        timeout=manner.timeout,
    )


def _tell_plan(at_work: Session, planned: Auditing, expected: Estimate) -> None:
    for line in planned.plan():
        at_work.console.note(line)
    at_work.console.note(expected.in_short)


def _tell_estimate(at_work: Session, planned: Auditing, expected: Estimate, *, json: bool) -> None:
    if json:
        at_work.console.result(strict_json({"plan": planned.plan(), **expected.as_dict()}))
    else:
        at_work.console.result("\n".join([*planned.plan(), "", expected.text()]))
