"""Scoring profiles: planned before anybody is asked, then worked on like every run."""

from __future__ import annotations

from dataclasses import dataclass

import typer

from evenhand.cli.given import texts_given
from evenhand.cli.manner import Manner
from evenhand.cli.replacing import CommandScope
from evenhand.cli.session import pace_of, session
from evenhand.cli.stores import opened_if_there
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import ExitCode
from evenhand.engine.place import Place
from evenhand.engine.plan import plan
from evenhand.models.unasked import unasked
from evenhand.profiles.scoring import Scoring
from evenhand.reports.strict import strict_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be scored: which profiles, by which criteria, by whom, how often."""

    profiles: str
    criteria: str
    judge: str | None = None
    max_attempts: int = 3
    repeat: int = 1
    only: tuple[str, ...] = ()
    limit: int | None = None
    estimate: bool = False


def score_all(ctx: typer.Context, wanted: Wanted, manner: Manner) -> ExitCode:
    """Score profiles, or tell what it would take, and give the exit code."""
    if wanted.judge is None:
        raise ConfigError("no judge: give --judge openai/gpt-5-mini, or set EVENHAND_JUDGE")
    with session(ctx, manner) as at_work, unasked(wanted.estimate):
        job = Scoring(
            profiles=wanted.profiles,
            criteria=texts_given({"--criteria": wanted.criteria})["--criteria"],
            judge=wanted.judge,
            kept=wanted.judge,
            max_attempts=wanted.max_attempts,
            timeout=manner.timeout,
        ).job()
        scope = CommandScope(only=wanted.only, limit=wanted.limit, repeat=wanted.repeat, no_cache=manner.no_cache)
        if wanted.estimate or manner.max_cost is not None:
            from evenhand.cli.forecasting import require_prices
            from evenhand.engine.forecasting import forecast

            with opened_if_there(manner.db) as store:
                expected = forecast(store, job, scope, use_cache=not manner.no_cache)
            if wanted.estimate:
                at_work.console.result(strict_json(expected.as_dict()) if manner.json else expected.text())
                return ExitCode.OK
            require_prices(expected)
        with Place(manner.db).opened() as store:
            run = plan(store, job, scope)
            return at_work.work_on(store, run, job, pace_of(manner, None))
