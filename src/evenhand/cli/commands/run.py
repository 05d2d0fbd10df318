"""`evenhand run SUITE`: judge a suite."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.options import (
    DB,
    AnswersFrom,
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
    RetryErrors,
    RunOptions,
    Target,
    Timeout,
    Verbose,
)


def run(
    ctx: typer.Context,
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="The suite's file: .yaml, .json or .jsonl.")],
    *,
    judge: Judge = None,
    target: Target = None,
    only: Only = None,
    limit: Limit = None,
    repeat: Repeat = None,
    answers_from: AnswersFrom = None,
    estimate: Estimate = False,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    outage_timeout: OutageTimeout = None,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    no_cache: NoCache = False,
    retry_errors: RetryErrors = False,
    output: Output = None,
    db: Db = DB,
    quiet: Quiet = False,
    json: Json = False,
    verbose: Verbose = False,
    log_file: LogFile = None,
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Judge a suite.

    Every evaluation is kept as soon as it is there. A run that was interrupted goes on with `evenhand resume`. With
    --retry-errors, the last run of this suite goes on, and does again what ended in an error.

    Exit codes: 0 fine; 1 error; 2 usage or configuration; 100 a gate failed; 101 the judge failed on some case; 102
    budget reached; 130 interrupted.
    """
    manner = RunOptions(
        concurrency=concurrency, timeout=timeout, outage_timeout=outage_timeout, max_cost=max_cost,
        max_calls=max_calls, no_cache=no_cache,
        retry_errors=retry_errors, output=output, db=db, quiet=quiet, json=json, verbose=verbose, log_file=log_file,
    )  # fmt: skip
    from evenhand.cli.runs.start import SuiteRequest, start

    wanted = SuiteRequest(
        suite=suite,
        judge=judge,
        target=target,
        only=tuple(only or ()),
        limit=limit,
        repeat=repeat,
        answers_from=answers_from,
        estimate=estimate,
    )
    raise typer.Exit(start(ctx, wanted, manner))
