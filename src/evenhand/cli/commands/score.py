"""`evenhand score PROFILES`: score profiles from 0 to 10, by criteria."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.options import (
    TEXT_SOURCES,
    Estimate,
    Judge,
    Limit,
    MaxAttempts,
    Only,
    Profiles,
    Repeat,
    RunOptions,
    read_text,
    require_judge,
    text_option,
)
from evenhand.cli.runs.overrides import CommandScope
from evenhand.cli.runs.session import open_session
from evenhand.cli.runs.start import NewRun, start_run
from evenhand.domain.gates import ExitCode
from evenhand.models.resolve import unasked
from evenhand.profiles.job import Scoring


def score(
    ctx: typer.Context,
    profiles: Profiles,
    *,
    criteria: Annotated[str, text_option("--criteria", f"What profiles are scored by. {TEXT_SOURCES}")],
    judge: Judge = None,
    max_attempts: MaxAttempts = 3,
    repeat: Repeat = None,
    only: Only = None,
    limit: Limit = None,
    estimate: Estimate = False,
    options: RunOptions,
) -> ExitCode:
    """Score profiles from 0 to 10 by criteria.

    The judge sees the criteria and the text of one profile, and replies with a score and a justification. If a reply
    is unusable, the judge is asked again. The table is sorted by score, with the spread over repeats and the failures.
    The result is a run like any other: see `evenhand report` and `evenhand resume`. The exit codes are those of
    `evenhand run`.
    """
    judge = require_judge(judge)
    with open_session(ctx, options) as session, unasked(estimate):
        job = Scoring(
            profiles=profiles,
            criteria=read_text("--criteria", criteria),
            judge=judge,
            kept=judge,
            max_attempts=max_attempts,
            timeout=options.timeout,
        ).job()
        scope = CommandScope(only=tuple(only or ()), limit=limit, repeat=repeat or 1, no_cache=options.no_cache)
        return start_run(session, NewRun(job=job, scope=scope), options, estimate=estimate)
