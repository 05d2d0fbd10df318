"""`evenhand score PROFILES`: score profiles from 0 to 10, by criteria."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.options import (
    DB,
    WAYS,
    Concurrency,
    Db,
    Estimate,
    Json,
    Judge,
    Limit,
    LogFile,
    MaxCalls,
    MaxCost,
    NoCache,
    NoEnvFile,
    Only,
    OutageTimeout,
    Output,
    Quiet,
    Repeat,
    RunOptions,
    Timeout,
    Verbose,
    text_option,
)

Profiles = Annotated[
    str, typer.Argument(metavar="PROFILES", help="A .jsonl or .csv file, or a folder of .txt and .md files.")
]
MaxAttempts = Annotated[
    int,
    typer.Option(
        "--max-attempts", metavar="N", min=1, help="How many replies the judge may give until one can be used."
    ),
]


def score(
    ctx: typer.Context,
    profiles: Profiles,
    *,
    criteria: Annotated[str, text_option("--criteria", f"What profiles are scored by. {WAYS}")],
    judge: Judge = None,
    max_attempts: MaxAttempts = 3,
    repeat: Repeat = None,
    only: Only = None,
    limit: Limit = None,
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
    """Score profiles from 0 to 10, each one alone, by the same criteria.

    The judge sees the criteria and the text of one profile, and replies with a score and a justification. A reply that
    cannot be used is asked for again. The table has the highest score first, with the spread over repeats and the
    failures. It is a run like any other: see `evenhand report` and `evenhand resume`. The exit codes are those of
    `evenhand run`.
    """
    manner = RunOptions(
        concurrency=concurrency, timeout=timeout, outage_timeout=outage_timeout, max_cost=max_cost,
        max_calls=max_calls, no_cache=no_cache,
        output=output, db=db, quiet=quiet, json=json, verbose=verbose, log_file=log_file,
    )  # fmt: skip
    from evenhand.cli.runs.profiles import ScoreRequest, score_all

    wanted = ScoreRequest(
        profiles=profiles,
        criteria=criteria,
        judge=judge,
        max_attempts=max_attempts,
        repeat=repeat or 1,
        only=tuple(only or ()),
        limit=limit,
        estimate=estimate,
    )
    raise typer.Exit(score_all(ctx, wanted, manner))
