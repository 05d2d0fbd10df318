"""`evenhand score` and `evenhand rank`: score profiles, or put them in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from evenhand.cli.options import (
    TEXT_SOURCES,
    AmbiguousReplies,
    Estimate,
    Judge,
    LimitProfiles,
    MaxAttempts,
    MaxRetries,
    OnlyProfiles,
    Profiles,
    RepeatProfiles,
    RunOptions,
    read_text,
    require_judge,
    text_option,
)
from evenhand.cli.runs.overrides import CommandScope
from evenhand.cli.runs.session import open_session
from evenhand.cli.runs.start import NewRun, start_run
from evenhand.domain.exit_code import ExitCode
from evenhand.engine import estimate as estimates
from evenhand.evaluators.asking import check_attempts
from evenhand.evaluators.reading import ASK_AGAIN
from evenhand.models.resolve import unasked
from evenhand.profiles.job import ScoringJob
from evenhand.profiles.ranking.design import RankingDesign


def score(
    ctx: typer.Context,
    profiles: Profiles,
    *,
    criteria: Annotated[str, text_option("--criteria", f"What profiles are scored by. {TEXT_SOURCES}")],
    judge: Judge = None,
    pass_mark: Annotated[
        float | None,
        typer.Option("--pass-mark", metavar="N", help="From which score on a profile passes; by default, none does."),
    ] = None,
    max_attempts: MaxAttempts = None,
    max_retries: MaxRetries = None,
    ambiguous: AmbiguousReplies = ASK_AGAIN,
    repeat: RepeatProfiles = None,
    only: OnlyProfiles = None,
    limit: LimitProfiles = None,
    estimate: Estimate = False,
    options: RunOptions,
) -> ExitCode:
    """Score profiles from 0 to 10 by criteria.

    The judge sees the criteria and the text of one profile, and replies with a score and a justification. If a reply
    is unusable, the judge is asked again. The table is sorted by score, with the justification, the spread over repeats
    and the failures; below it are the mean, the median, the standard deviation and a histogram. No profile passes or
    fails, unless there is a pass mark. The result is a run like any other: see `evenhand report` and `evenhand resume`.
    The exit codes are those of `evenhand run`.
    """
    judge = require_judge(judge)
    with open_session(ctx, options) as session, unasked(estimate):
        job = ScoringJob(
            profiles=profiles,
            criteria=read_text("--criteria", criteria),
            judge=judge,
            kept=judge,
            pass_mark=pass_mark,
            max_attempts=check_attempts(max_attempts, max_retries, where="score"),
            ambiguous=ambiguous,
            timeout=options.timeout,
        ).job()
        scope = CommandScope(only=tuple(only or ()), limit=limit, repeat=repeat or 1, no_cache=options.no_cache)
        return start_run(session, NewRun(job=job, scope=scope), options, estimate=estimate)


def rank(
    ctx: typer.Context,
    profiles: Profiles,
    *,
    criteria: Annotated[str, text_option("--criteria", f"What profiles are ranked by. {TEXT_SOURCES}")],
    judge: Judge = None,
    design: Annotated[
        str,
        typer.Option(
            "--design",
            metavar="NAME",
            help="swiss: groups similar profiles, for a full ranking; random; "
            "staged: keeps only the best each stage, for the top.",
        ),
    ] = "swiss",
    group_size: Annotated[
        int,
        typer.Option(
            "--group-size", metavar="N", help="How many are ranked at a time; 2 compares pairs, in both orders."
        ),
    ] = 10,
    rounds: Annotated[
        int | None, typer.Option("--rounds", metavar="N", help="Number of rounds: 5 by default, or 3 if staged.")
    ] = None,
    top: Annotated[int | None, typer.Option("--top", metavar="N", help="Show only the best N.")] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed.")] = 1,
    max_attempts: MaxAttempts = None,
    max_retries: MaxRetries = None,
    ambiguous: AmbiguousReplies = ASK_AGAIN,
    estimate: Estimate = False,
    options: RunOptions,
) -> ExitCode:
    """Rank profiles by criteria.

    The judge sees the criteria and the texts of a group, labelled with letters, and puts them in order. If a reply is
    not an exact order of the group, the judge is asked again. All groups together give one ranking, with a confidence
    interval for each rank, and tiers of profiles that cannot be told apart. The expected cost is shown before the first
    call. The result is a run like any other: see `evenhand report` and `evenhand resume`. The exit codes are those of
    `evenhand run`.
    """
    judge = require_judge(judge)
    from evenhand.profiles.ranking.job import RankingJob, all_rounds  # noqa: PLC0415 - loads numpy

    ranking = RankingDesign(name=design, group_size=group_size, rounds=rounds, top=top, seed=seed)

    def announce(expected: estimates.Estimate) -> Iterator[str]:
        groups = "pairs, both orders" if ranking.in_pairs else f"groups of {ranking.group_size}"
        yield f"{ranking.name}, {groups}: {expected.in_short}"

    with open_session(ctx, options) as session, unasked(estimate):
        job = RankingJob(
            profiles=profiles,
            criteria=read_text("--criteria", criteria),
            judge=judge,
            kept=judge,
            design=ranking,
            max_attempts=check_attempts(max_attempts, max_retries, where="rank"),
            ambiguous=ambiguous,
            timeout=options.timeout,
        ).job()
        scope = CommandScope(no_cache=options.no_cache)
        new = NewRun(job=job, scope=scope, announce=announce, estimated=all_rounds(job))
        return start_run(session, new, options, estimate=estimate)
