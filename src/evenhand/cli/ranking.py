"""Ranking profiles: what it will take is said first, then it is worked on like every run."""

from __future__ import annotations

import typer

from evenhand.cli.forecasting import require_prices
from evenhand.cli.given import texts_given
from evenhand.cli.manner import Manner
from evenhand.cli.replacing import CommandScope
from evenhand.cli.session import pace_of, session
from evenhand.cli.stores import opened_if_there
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import ExitCode
from evenhand.engine.forecast import Estimate
from evenhand.engine.forecasting import forecast
from evenhand.engine.place import Place
from evenhand.engine.plan import plan
from evenhand.models.unasked import unasked
from evenhand.profiles.ranking.design import Design
from evenhand.profiles.ranking.job import RankingWork, all_rounds
from evenhand.reports.strict import strict_json


def rank_all(
    ctx: typer.Context,
    profiles: str,
    manner: Manner,
    *,
    criteria: str,
    judge: str | None,
    design: Design,
    max_attempts: int,
    estimate: bool,
) -> ExitCode:
    """Rank profiles, or tell what it would take, and give the exit code."""
    if judge is None:
        raise ConfigError("no judge: give --judge openai/gpt-5-mini, or set EVENHAND_JUDGE")
    with session(ctx, manner) as at_work, unasked(estimate):
        work = RankingWork(
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
        with Place(manner.db).opened() as store:
            run = plan(store, job, scope)
            return at_work.work_on(store, run, job, pace_of(manner, None))


def _plan_sentence(design: Design, expected: Estimate) -> str:
    """Say what a ranking will take before anybody is asked."""
    how = "pairs, both orders" if design.in_pairs else f"groups of {design.group_size}"
    return f"{design.name}, {how}: {expected.in_short}"
