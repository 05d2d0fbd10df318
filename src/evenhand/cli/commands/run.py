"""`evenhand run` and `evenhand resume`: judge a suite, and complete a run."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from evenhand.cli.options import (
    Alpha,
    AnswersFrom,
    Batch,
    Estimate,
    Fork,
    Judge,
    Label,
    LabelsFile,
    Limit,
    Only,
    Repeat,
    RetryOptions,
    RunOrLast,
    Suites,
    Tags,
    Target,
    UntilDecided,
    display_name,
    is_typed,
)
from evenhand.cli.runs.labels import check_labels, labels_in_suite
from evenhand.cli.runs.overrides import CommandScope, Overrides, read_with_overrides
from evenhand.cli.runs.session import Session, open_session
from evenhand.cli.runs.start import NewRun, start_run
from evenhand.domain.early_decision import until_decided_of
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode, worst
from evenhand.domain.run import RunStatus
from evenhand.engine.carry_over import require_own
from evenhand.engine.job import Job
from evenhand.engine.overview import overview_of
from evenhand.engine.plan import planned_cases
from evenhand.engine.store_location import StoreLocation, open_or_empty
from evenhand.models.resolve import unasked
from evenhand.reports.report import require_place
from evenhand.suites.lint import kinship_notes
from evenhand.suites.suite import Suite, job_of

_OPTIONS_OF_A_NEW_RUN: Final = (
    "only", "limit", "repeat", "answers_from", "label", "tag", "labels", "until_decided", "alpha", "batch",
)  # fmt: skip


def run(
    ctx: typer.Context,
    suites: Suites,
    *,
    judge: Judge = None,
    target: Target = None,
    only: Only = None,
    limit: Limit = None,
    repeat: Repeat = None,
    answers_from: AnswersFrom = None,
    label: Label = None,
    tag: Tags = None,
    labels: LabelsFile = None,
    until_decided: UntilDecided = False,
    alpha: Alpha = None,
    batch: Batch = False,
    estimate: Estimate = False,
    options: RetryOptions,
) -> ExitCode:
    """Judge a suite, or several.

    Every evaluation is stored as soon as it is made. Resume an interrupted run with `evenhand resume`. With
    --retry-errors, the last run of this suite is resumed, and its errors are retried.

    Each suite is a run of its own. All of them are checked before the first begins, then they are run one after the
    other; the exit code is the worst.

    With --until-decided, cases are judged in random order until the gates are decided; `evenhand resume` judges the
    others.

    With --batch, the judges are asked in batches, at half price. The command waits for them; if it is interrupted,
    `evenhand resume` finds them again, also days later.

    With --labels, or a suite that names labels under trust, labels by people are stored with the run: the report shows
    what people would say of all cases, gates can demand it, and the judge must reach what the suite says under trust.
    A label of an answer that has changed is refused, or, where a target answers, does not count.

    Exit codes: 0 success; 1 error; 2 usage or configuration; 100 a gate failed; 101 the judge failed on some case; 102
    budget reached; 103 the judge does not deserve the trust that the suite demands; 130 interrupted.
    """
    outputs = _outputs(ctx, suites, options)
    with open_session(ctx, options) as session, unasked(estimate):
        runs: list[_SuiteRun] = []
        for path in suites:
            read, overrides = read_with_overrides(ctx, path, judge, target)
            scope = CommandScope(
                only=tuple(only or ()),
                limit=limit,
                repeat=repeat or read.built.repeat,
                answers_from=answers_from,
                label=label,
                tags=tuple(tag or ()),
                until_decided=until_decided_of(until_decided, alpha, name="--until-decided"),
                overrides=overrides,
                no_cache=options.no_cache,
                labels=_labels(read, labels),
                batch=batch,
            )
            runs.append(_SuiteRun(path, read, scope))
        for each in runs:
            if len(runs) > 1:
                _check(each, options)
            if each.scope.labels is not None and not options.retry_errors:
                check_labels(each.scope.labels, each.job(), each.scope, options.db)
        codes: list[ExitCode] = []
        for each, files in zip(runs, outputs, strict=True):
            if len(runs) > 1:
                session.console.note(f"{each.path}:")
            own = replace(session, outputs=files)
            if options.retry_errors and not estimate:
                typed = Overrides.typed(ctx, judge, target)
                codes.append(_retry_last_run(ctx, each, own, options, typed=typed))
            else:
                codes.append(start_run(own, _new_run(ctx, each), options, estimate=estimate))
            if codes[-1] is ExitCode.INTERRUPTED:
                break
        for each in runs[len(codes) :]:
            session.console.error(f"{each.path} was not started")
        return worst(codes)


class _SuiteRun(NamedTuple):
    """A suite to run, and how much of it."""

    path: str
    suite: Suite
    scope: CommandScope

    def job(self) -> Job:
        job = job_of(self.suite)
        if self.scope.answers_from:
            job = replace(job, target=None, cases=partial(self.suite.cases, own_answers=False))
        return job


# A file for each of several suites has this in its name.
_SUITE_NAME: Final = "{suite}"
# What is about one run.
_OPTIONS_OF_ONE_RUN: Final = ("answers_from", "labels", "max_cost", "max_calls", "retry_errors")


def _outputs(ctx: typer.Context, suites: Sequence[str], options: RetryOptions) -> list[tuple[str, ...]]:
    """Return the files that the report of each suite is written to; refuse options that mean one suite."""
    written = tuple(options.output or ())
    if len(suites) == 1:
        return [written]
    for name in _OPTIONS_OF_ONE_RUN:
        value = ctx.params.get(name)
        if value is not None and value is not False:
            raise ConfigError(f"{display_name(ctx, name)} is for one run; give it with one suite")
    outputs = [tuple(path.replace(_SUITE_NAME, Path(suite).stem) for path in written) for suite in suites]
    every = [path for files in outputs for path in files]
    if len(set(every)) < len(every):
        raise ConfigError(
            f"{display_name(ctx, 'output')}: several suites would write the same file; write {_SUITE_NAME} into its "
            f"name, which becomes the name of each suite's file, such as reports/{_SUITE_NAME}.html"
        )
    for path in every:
        require_place(path)
    return outputs


def _labels(suite: Suite, typed: str | None) -> str | None:
    """Return the file of labels of a run: the one that was typed, or that of the suite."""
    if typed == "-":
        raise ConfigError("--labels takes a file, which is read again when the run has finished")
    path = labels_in_suite(suite.definition, suite.source) if typed is None else typed
    return None if path is None else str(Path(path).absolute())


def _check(each: _SuiteRun, options: RetryOptions) -> None:
    """Check a suite with all its cases, as planning does, before another one is run."""
    job = each.job()
    with open_or_empty(options.db) as store:
        collections.deque(planned_cases(store, job, each.scope), maxlen=0)


def _new_run(ctx: typer.Context, each: _SuiteRun) -> NewRun:
    notes = partial(_notes, each.suite, judge_is_typed=is_typed(ctx, "judge"))
    return NewRun(job=each.job(), scope=each.scope, concurrency=each.suite.built.concurrency, notes=notes)


def _retry_last_run(
    ctx: typer.Context, each: _SuiteRun, session: Session, options: RetryOptions, *, typed: Overrides
) -> ExitCode:
    """Resume the last run of a suite, and retry its errors."""
    from evenhand.cli.runs.resume import resume_run  # noqa: PLC0415 - most runs are new

    flag = display_name(ctx, "retry_errors")
    for name in _OPTIONS_OF_A_NEW_RUN:
        if is_typed(ctx, name):
            raise ConfigError(f"{flag} resumes the last run as it is; leave out --{name.replace('_', '-')}")
    with StoreLocation(options.db).opened() as store:
        newest = store.runs.newest(1, source=each.suite.source)
        if not newest:
            raise ConfigError(f"{flag}: there is no run of {each.path} yet; leave it out to start one")
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
    no_batch: Annotated[
        bool, typer.Option("--no-batch", help="Read pending batches, then ask the rest one by one at full price.")
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
    from evenhand.cli.runs.resume import (  # noqa: PLC0415 - most runs are new
        is_imported,
        require_trust,
        require_unchanged,
        resume_run,
    )

    with open_session(ctx, options) as session, StoreLocation(options.db).opened(to_read=True) as store:
        record = store.runs.find(run)
        require_own(record)
        if record.status is RunStatus.FINISHED and not (fork or options.retry_errors):
            if not is_imported(record):
                require_unchanged(store, record, Overrides.typed(ctx, judge, target), session.console)
            has_errors = overview_of(store, record).summary.errors_by_class
            rest = "--retry-errors retries its errors" if has_errors else "there is nothing left to do"
            session.console.note(f"run {record.id} is finished; {rest}")
            return session.end(store, record)
        store.require_writable()
        if is_imported(record) and not trust:
            require_trust(store, record)
        typed = Overrides.typed(ctx, judge, target)
        return resume_run(store, record, session, options, typed=typed, fork=fork, one_by_one=no_batch)
