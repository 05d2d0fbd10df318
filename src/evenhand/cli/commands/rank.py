"""`evenhand rank PROFILES`: put profiles in order, by criteria."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.commands.score import MaxAttempts, Profiles
from evenhand.cli.options import (
    DB,
    WAYS,
    Concurrency,
    Db,
    Estimate,
    Json,
    Judge,
    LogFile,
    MaxCalls,
    MaxCost,
    NoCache,
    NoEnvFile,
    OutageTimeout,
    Output,
    Quiet,
    RunOptions,
    Timeout,
    Verbose,
    text_option,
)


def rank(
    ctx: typer.Context,
    profiles: Profiles,
    *,
    criteria: Annotated[str, text_option("--criteria", f"What profiles are ranked by. {WAYS}")],
    judge: Judge = None,
    design: Annotated[
        str,
        typer.Option(
            "--design",
            metavar="NAME",
            help="swiss: equals meet, for a whole order; random; staged: ever fewer of the best, for the top.",
        ),
    ] = "swiss",
    group_size: Annotated[
        int,
        typer.Option("--group-size", metavar="N", help="How many are ranked at a time; 2 compares pairs, both ways."),
    ] = 10,
    rounds: Annotated[
        int | None,
        typer.Option("--rounds", metavar="N", help="How often everybody takes part: 5, or 3 if staged."),
    ] = None,
    top: Annotated[int | None, typer.Option("--top", metavar="N", help="Show so many of the best.")] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="By which lots groups and orders are drawn.")] = 1,
    max_attempts: MaxAttempts = 3,
    estimate: Estimate = False,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    outage_timeout: OutageTimeout = None,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    no_cache: NoCache = False,
    output: Output = None,
    db: Db = DB,
    quiet: Quiet = False,
    json: Json = False,
    verbose: Verbose = False,
    log_file: LogFile = None,
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Rank profiles by criteria, in groups that a judge puts in order.

    The judge sees the criteria and the texts of a group under letters. A reply that is no exact order of the group is
    asked for again. From all groups comes one order, with an interval on each rank, and tiers of those that cannot be
    told apart. What it will take is said before the first call. It is a run like any other: see `evenhand report` and
    `evenhand resume`. The exit codes are those of `evenhand run`.
    """
    manner = RunOptions(
        concurrency=concurrency, timeout=timeout, outage_timeout=outage_timeout, max_cost=max_cost,
        max_calls=max_calls, no_cache=no_cache,
        output=output, db=db, quiet=quiet, json=json, verbose=verbose, log_file=log_file,
    )  # fmt: skip
    from evenhand.cli.runs.profiles import rank_all
    from evenhand.profiles.ranking.design import RankingDesign

    by = RankingDesign(name=design, group_size=group_size, rounds=rounds, top=top, seed=seed)
    raise typer.Exit(
        rank_all(
            ctx,
            profiles,
            manner,
            criteria=criteria,
            judge=judge,
            design=by,
            max_attempts=max_attempts,
            estimate=estimate,
        )
    )
