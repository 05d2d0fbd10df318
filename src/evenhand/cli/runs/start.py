"""Start a run of a suite or of a prompt: read and plan it, estimate it, then work on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import RunOptions, called, is_typed, opened_if_there
from evenhand.cli.runs.overrides import CommandScope, Replaced, read_for
from evenhand.cli.runs.session import Session, pace_of, session
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import ExitCode
from evenhand.domain.prompt import EvaluationMode
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.estimate import Estimate
from evenhand.engine.job import Job
from evenhand.engine.plan import plan
from evenhand.engine.store_location import StoreLocation
from evenhand.models.resolve import unasked
from evenhand.reports.json_text import strict_json
from evenhand.store.store import Store
from evenhand.suites.lint import kinship_notes
from evenhand.suites.suite import Suite, job_of
from evenhand.workspace.trial import Trial


def require_prices(expected: Estimate) -> None:
    """Refuse a limit in dollars where nobody can tell how many dollars a call takes."""
    unknown = [one.model for one in expected.models if one.low is None]
    if unknown:
        raise ConfigError(
            f"--max-cost: nobody knows what {' and '.join(unknown)} costs; give its price in the suite, in dollars for "
            f"a million tokens, such as prices: {{{unknown[0]}: {{input: 0.25, output: 2}}}}, or use --max-calls"
        )


_OF_A_NEW_RUN = ("only", "limit", "repeat", "answers_from")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRequest:
    """What is to be judged: the suite, what replaces parts of it, and which of its cases."""

    suite: str
    judge: str | None = None
    target: str | None = None
    only: tuple[str, ...] = ()
    limit: int | None = None
    repeat: int | None = None
    answers_from: str | None = None
    estimate: bool = False


def start(ctx: typer.Context, wanted: SuiteRequest, manner: RunOptions) -> ExitCode:
    """Run a suite, or tell what it would take, and give the exit code."""
    with session(ctx, manner) as at_work, unasked(wanted.estimate):
        suite, replaced = read_for(ctx, wanted.suite, wanted.judge, wanted.target)
        if manner.retry_errors and not wanted.estimate:
            return _errors_again(ctx, suite, wanted, manner, at_work)
        job = job_of(suite)
        job = replace(job, timeout=manner.timeout or job.timeout)
        if wanted.answers_from:
            job = replace(job, target=None, cases=partial(suite.cases, own_answers=False))
        scope = CommandScope(
            only=wanted.only,
            limit=wanted.limit,
            repeat=wanted.repeat or suite.built.repeat,
            answers_from=wanted.answers_from,
            replaced=replaced,
            no_cache=manner.no_cache,
        )
        if wanted.estimate or manner.max_cost is not None:
            from evenhand.engine.estimator import forecast

            with opened_if_there(manner.db) as store:
                expected = forecast(store, job, _settled(store, scope), use_cache=not manner.no_cache)
            if wanted.estimate:
                _tell(ctx, suite, at_work.console)
                at_work.console.result(strict_json(expected.as_dict()) if manner.json else _told(expected))
                return ExitCode.OK
            require_prices(expected)
        with StoreLocation(manner.db).opened() as store:
            run = _planned(store, job, _settled(store, scope), at_work)
            _tell(ctx, suite, at_work.console)
            return at_work.work_on(store, run, job, pace_of(manner, suite.built.concurrency))


def _settled(store: Store, scope: CommandScope) -> CommandScope:
    """Return a scope with the whole id of the run whose answers are judged: ``last`` will be another one soon."""
    return scope if scope.answers_from is None else replace(scope, answers_from=store.runs.find(scope.answers_from).id)


def _planned(store: Store, job: Job, scope: CommandScope, at_work: Session) -> RunRecord:
    try:
        return plan(store, job, scope)
    except KeyboardInterrupt:
        begun = store.runs.newest(1, source=job.source)
        if begun and begun[0].status is RunStatus.PLANNING:
            at_work.console.error(f"nobody was asked yet; go on with: {at_work.again(begun[0])}")
        raise


def _errors_again(
    ctx: typer.Context, suite: Suite, wanted: SuiteRequest, manner: RunOptions, at_work: Session
) -> ExitCode:
    """Go on with the last run of a suite, and do its errors again."""
    from evenhand.cli.runs.resume import go_on_with

    why = called(ctx, "retry_errors")
    for name in _OF_A_NEW_RUN:
        if is_typed(ctx, name):
            raise ConfigError(f"{why} goes on with the last run as it is; leave out --{name.replace('_', '-')}")
    with StoreLocation(manner.db).opened() as store:
        found = store.runs.newest(1, source=suite.source)
        if not found:
            raise ConfigError(f"{why}: there is no run of {wanted.suite} yet; leave it out to start one")
        return go_on_with(store, found[0], at_work, manner, typed=Replaced.typed(ctx, wanted.judge, wanted.target))


def _told(expected: Estimate) -> str:
    """Tell an estimate to people: of tokens and dollars only where a model is asked."""
    whole = expected.text()
    return whole if expected.models else whole.partition("\n")[0]


def _tell(ctx: typer.Context, suite: Suite, console: Console) -> None:
    """Tell what the user should know before anything is spent."""
    idle = suite.why_judge_is_idle if is_typed(ctx, "judge") else ""
    notes = [*suite.notes, *kinship_notes(suite.definition)]
    for note in [f"--judge has no effect: {idle}", *notes] if idle else notes:
        console.note(f"note: {note}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRequest:
    """What is to be tried: which version of which prompt, on which models and test cases, and who judges."""

    prompt: str
    version: int | None = None
    models: tuple[str, ...] = ()
    judge: str | None = None
    test_cases: tuple[str, ...] = ()
    repeat: int = 1


def try_out(ctx: typer.Context, wanted: PromptRequest, manner: RunOptions) -> ExitCode:
    """Try a prompt, and give the exit code."""
    if not wanted.models:
        raise ConfigError("which model shall answer? Give --model, such as --model openai/gpt-5-mini")
    with session(ctx, manner) as at_work, StoreLocation(manner.db).opened(to_read=True) as store:
        trial = Trial(
            prompt=store.prompts.find(wanted.prompt, wanted.version),
            models=wanted.models,
            judge=wanted.judge,
            test_cases=wanted.test_cases or None,
            repeat=wanted.repeat,
        )
        if trial.judge is None and trial.asks_judge:
            raise ConfigError("no judge: give --judge openai/gpt-5-mini, or set EVENHAND_JUDGE")
        job = trial.job(store)
        job = replace(job, timeout=manner.timeout)
        scope = CommandScope(repeat=wanted.repeat, no_cache=manner.no_cache)
        if manner.max_cost is not None:
            from evenhand.engine.estimator import forecast

            require_prices(forecast(store, job, scope, use_cache=not manner.no_cache))
        run = plan(store, job, scope)
        for note in _notes(trial, judge_typed=is_typed(ctx, "judge")):
            at_work.console.note(f"note: {note}")
        return at_work.work_on(store, run, job, pace_of(manner, None))


def _notes(trial: Trial, *, judge_typed: bool) -> Iterator[str]:
    """Tell what the user should know before anything is spent."""
    by_schema = trial.prompt.text.evaluation_mode is EvaluationMode.SCHEMA
    if not (trial.asks_judge or by_schema):
        yield "the prompt has no criteria, so answers are not evaluated; give it some with: evenhand prompts edit"
    elif by_schema and judge_typed:
        yield "--judge has no effect: answers are held to the schemas of the test cases"
    yield from kinship_notes(trial.definition)
