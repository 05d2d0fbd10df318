"""`evenhand run` and `evenhand resume`: judge a suite, and complete a run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Final

import typer

from evenhand.cli.options import (
    AnswersFrom,
    Estimate,
    Fork,
    Judge,
    Limit,
    Only,
    Repeat,
    RetryOptions,
    RunOrLast,
    Target,
    display_name,
    is_typed,
)
from evenhand.cli.runs.overrides import CommandScope, Overrides, read_with_overrides
from evenhand.cli.runs.resume import is_imported, require_trust, resume_run
from evenhand.cli.runs.session import Session, open_session
from evenhand.cli.runs.start import NewRun, start_run
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode
from evenhand.domain.run import RunStatus
from evenhand.engine.store_location import StoreLocation
from evenhand.models.resolve import unasked
from evenhand.suites.lint import kinship_notes
from evenhand.suites.suite import Suite, job_of

_OPTIONS_OF_A_NEW_RUN: Final = ("only", "limit", "repeat", "answers_from")


def run(
    ctx: typer.Context,
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="The suite file: .yaml, .json or .jsonl.")],
    *,
    judge: Judge = None,
    target: Target = None,
    only: Only = None,
    limit: Limit = None,
    repeat: Repeat = None,
    answers_from: AnswersFrom = None,
    estimate: Estimate = False,
    options: RetryOptions,
) -> ExitCode:
    """Judge a suite.

    Every evaluation is stored as soon as it is made. Resume an interrupted run with `evenhand resume`. With
    --retry-errors, the last run of this suite is resumed, and its errors are retried.

    Exit codes: 0 success; 1 error; 2 usage or configuration; 100 a gate failed; 101 the judge failed on some case; 102
    budget reached; 130 interrupted.
    """
    with open_session(ctx, options) as session, unasked(estimate):
        read, overrides = read_with_overrides(ctx, suite, judge, target)
        if options.retry_errors and not estimate:
            return _retry_last_run(ctx, read, session, options, typed=Overrides.typed(ctx, judge, target))
        job = job_of(read)
        if answers_from:
            job = replace(job, target=None, cases=partial(read.cases, own_answers=False))
        scope = CommandScope(
            only=tuple(only or ()),
            limit=limit,
            repeat=repeat or read.built.repeat,
            answers_from=answers_from,
            overrides=overrides,
            no_cache=options.no_cache,
        )
        notes = partial(_notes, read, judge_is_typed=is_typed(ctx, "judge"))
        new = NewRun(job=job, scope=scope, concurrency=read.built.concurrency, notes=notes)
        return start_run(session, new, options, estimate=estimate)


def _retry_last_run(
    ctx: typer.Context, suite: Suite, session: Session, options: RetryOptions, *, typed: Overrides
) -> ExitCode:
    """Resume the last run of a suite, and retry its errors."""
    flag = display_name(ctx, "retry_errors")
    for name in _OPTIONS_OF_A_NEW_RUN:
        if is_typed(ctx, name):
            raise ConfigError(f"{flag} resumes the last run as it is; leave out --{name.replace('_', '-')}")
    with StoreLocation(options.db).opened() as store:
        newest = store.runs.newest(1, source=suite.source)
        if not newest:
            raise ConfigError(f"{flag}: there is no run of {ctx.params['suite']} yet; leave it out to start one")
        return resume_run(store, newest[0], session, options, typed=typed)


def _notes(suite: Suite, *, judge_is_typed: bool) -> list[str]:
    """Return what the user should know before anything is spent."""
    why_idle = suite.why_judge_is_idle if judge_is_typed else ""
    idle = [f"--judge has no effect: {why_idle}"] if why_idle else []
    return [*idle, *suite.notes, *kinship_notes(suite.definition)]


def resume(
    ctx: typer.Context,
    run: RunOrLast = "last",
    *,
    fork: Fork = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="Allow an imported run to start programs and use its own addresses.")
    ] = False,
    judge: Judge = None,
    target: Target = None,
    options: RetryOptions,
) -> ExitCode:
    """Resume a run and complete it.

    The result is the same as without the interruption. If the suite has changed since, nothing is done and the
    changes are listed. With --fork they are accepted: a new run keeps what is still valid, and judges the rest again.

    The exit codes are those of `evenhand run`.
    """
    with open_session(ctx, options) as session, StoreLocation(options.db).opened(to_read=True) as store:
        record = store.runs.find(run)
        if record.status is RunStatus.FINISHED and not (fork or options.retry_errors):
            session.console.note(f"run {record.id} is finished; --retry-errors retries its errors")
            return session.end(store, record)
        store.require_writable()
        if is_imported(record) and not trust:
            require_trust(store, record)
        return resume_run(store, record, session, options, typed=Overrides.typed(ctx, judge, target), fork=fork)
