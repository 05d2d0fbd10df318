"""`evenhand prompts run NAME`: try a prompt on models, and judge what they answer."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.options import (
    DB,
    Concurrency,
    Db,
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
    Repeat,
    RunOptions,
    Timeout,
    Verbose,
)


def run_prompt(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The prompt's name, or its id.")],
    *,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="NAME", help="A model that answers, as openai/gpt-5-mini. May be given several times."
        ),
    ] = None,
    judge: Judge = None,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="This version of the prompt; the newest if left out.")
    ] = None,
    chosen: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="ID", help="Take the test case of this id. May be given several times."),
    ] = None,
    repeat: Repeat = None,
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
    """Try a prompt: every test case on every model, as often as --repeat says.

    In mode llm a judge sees prompt, input, answer and criteria; in mode schema each answer is held to the schema of
    its test case. Where there are no criteria, or no schema, answers are kept and not evaluated. It is a run like any
    other: see `evenhand runs`, `evenhand report` and `evenhand resume`. The exit codes are those of `evenhand run`.
    """
    manner = RunOptions(
        concurrency=concurrency, timeout=timeout, outage_timeout=outage_timeout, max_cost=max_cost,
        max_calls=max_calls, no_cache=no_cache,
        output=output, db=db, quiet=quiet, json=json, verbose=verbose, log_file=log_file,
    )  # fmt: skip
    from evenhand.cli.runs.start import PromptRequest, try_out

    wanted = PromptRequest(
        prompt=name,
        version=version,
        models=tuple(model or ()),
        judge=judge,
        test_cases=tuple(chosen or ()),
        repeat=repeat or 1,
    )
    raise typer.Exit(try_out(ctx, wanted, manner))
