"""`evenhand resume [RUN]`: go on with a run."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.options import (
    DB,
    Concurrency,
    Db,
    Fork,
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
    RetryErrors,
    RunOptions,
    Target,
    Timeout,
    Verbose,
)


def resume(
    ctx: typer.Context,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Its id, or how that begins; the last one if left out.")
    ] = "last",
    *,
    fork: Fork = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="Let a run that was imported run programs and use its own addresses.")
    ] = False,
    judge: Judge = None,
    target: Target = None,
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
    """Go on with a run, and do what is missing.

    It ends like a run that was never interrupted. If the suite has changed since, nothing is done and the changes are
    named. With --fork they are taken: a new run keeps what still holds, and judges the rest anew.

    The exit codes are those of `evenhand run`.
    """
    manner = RunOptions(
        concurrency=concurrency, timeout=timeout, outage_timeout=outage_timeout, max_cost=max_cost,
        max_calls=max_calls, no_cache=no_cache,
        retry_errors=retry_errors, output=output, db=db, quiet=quiet, json=json, verbose=verbose, log_file=log_file,
    )  # fmt: skip
    from evenhand.cli.runs.resume import go_on

    raise typer.Exit(go_on(ctx, run, manner, judge=judge, target=target, fork=fork, trust=trust))
