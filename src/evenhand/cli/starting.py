"""Starting a run: the suite is read and planned before anybody is asked, and what it would cost can be told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import typer

from evenhand.cli.console import Console
from evenhand.cli.manner import Manner
from evenhand.cli.options import called, is_typed
from evenhand.cli.replacing import CommandScope, Replaced, read_for
from evenhand.cli.session import Session, pace_of, session
from evenhand.cli.stores import opened_if_there
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import ExitCode
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.forecast import Estimate
from evenhand.engine.job import Job
from evenhand.engine.place import Place
from evenhand.engine.plan import plan
from evenhand.models.unasked import unasked
from evenhand.reports.strict import strict_json
from evenhand.store.store import Store
from evenhand.suites.job import job_of
from evenhand.suites.kinship import kinship_notes
from evenhand.suites.suite import Suite

_OF_A_NEW_RUN = ("only", "limit", "repeat", "answers_from")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be judged: the suite, what replaces parts of it, and which of its cases."""

    suite: str
    judge: str | None = None
    target: str | None = None
    only: tuple[str, ...] = ()
    limit: int | None = None
    repeat: int | None = None
    answers_from: str | None = None
    estimate: bool = False


def start(ctx: typer.Context, wanted: Wanted, manner: Manner) -> ExitCode:
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
            from evenhand.cli.forecasting import require_prices
            from evenhand.engine.forecasting import forecast

            with opened_if_there(manner.db) as store:
                expected = forecast(store, job, _settled(store, scope), use_cache=not manner.no_cache)
            if wanted.estimate:
                _tell(ctx, suite, at_work.console)
                at_work.console.result(strict_json(expected.as_dict()) if manner.json else _told(expected))
                return ExitCode.OK
            require_prices(expected)
        with Place(manner.db).opened() as store:
            run = _planned(store, job, _settled(store, scope), at_work)
            _tell(ctx, suite, at_work.console)
            return at_work.work_on(store, run, job, pace_of(manner, suite.built.concurrency))


def _settled(store: Store, scope: CommandScope) -> CommandScope:
    """Give a scope with the whole id of the run whose answers are judged: ``last`` will be another one soon."""
    return scope if scope.answers_from is None else replace(scope, answers_from=store.runs.find(scope.answers_from).id)


def _planned(store: Store, job: Job, scope: CommandScope, at_work: Session) -> RunRecord:
    try:
        return plan(store, job, scope)
    except KeyboardInterrupt:
        begun = store.runs.newest(1, source=job.source)
        if begun and begun[0].status is RunStatus.PLANNING:
            at_work.console.error(f"nobody was asked yet; go on with: {at_work.again(begun[0])}")
        raise


def _errors_again(ctx: typer.Context, suite: Suite, wanted: Wanted, manner: Manner, at_work: Session) -> ExitCode:
    """Go on with the last run of a suite, and do its errors again."""
    from evenhand.cli.resuming import go_on_with

    why = called(ctx, "retry_errors")
    for name in _OF_A_NEW_RUN:
        if is_typed(ctx, name):
            raise ConfigError(f"{why} goes on with the last run as it is; leave out --{name.replace('_', '-')}")
    with Place(manner.db).opened() as store:
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
