"""Resume a run: only what is missing is done, and only if the definition is still the same (REL-D4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from evenhand.cli.options import RunOptions
from evenhand.cli.runs.overrides import CommandScope, Replaced
from evenhand.cli.runs.session import Session, pace_of, session
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import ExitCode
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.job import Job
from evenhand.engine.plan import fill, plan
from evenhand.engine.resume import case_differences, copy_finished, scope_of
from evenhand.engine.store_location import StoreLocation
from evenhand.models.environment import references
from evenhand.profiles.job import AUDIT, RANKING, SCORING, going_on, mode_of
from evenhand.reports.phrases import counted
from evenhand.store.store import Store
from evenhand.store.transfer import IMPORTED
from evenhand.suites.definition import Definition
from evenhand.suites.definition_diff import definition_differences
from evenhand.suites.suite import job_of, job_of_run
from evenhand.workspace.trial import is_trial

_MOST_REFERENCES_TOLD = 5
_MERE_DATA = ("metadata", "config")
# Where the prompts go, and what goes with them. What is written out there is not shown: it may be somebody's secret.
_PLACES = ("base_url", "proxy", "ca_file")
_SENT = ("api_key", "headers", "extra_body", "env")


def is_imported(run: RunRecord) -> bool:
    """Tell whether a run came from elsewhere."""
    return bool(run.options.get(IMPORTED))


def require_trust(store: Store, run: RunRecord) -> None:
    """Refuse to go on with a run that would run a program, import a function, or choose where to send what."""
    found = dict.fromkeys(_dealings(run.definition))
    for page in store.planned(run):
        for planned in page:
            found |= dict.fromkeys(_dealings(list(planned.evaluators or ())))
        if len(found) > _MOST_REFERENCES_TOLD:
            break
    if found:
        more = ["- and more"] if len(found) > _MOST_REFERENCES_TOLD else []
        raise ConfigError(
            "\n".join(
                [
                    f"run {run.id} was imported, and going on with it would use, on this machine:",
                    *[f"- {one}" for one in list(found)[:_MOST_REFERENCES_TOLD]],
                    *more,
                    f"If you trust where it came from: evenhand resume {run.id} --trust",
                ]
            )
        )


def _dealings(part: Any) -> Iterator[str]:
    """Find what a definition would do beyond asking a well-known model."""
    if isinstance(part, list):
        for one in part:
            yield from _dealings(one)
    if not isinstance(part, Mapping):
        return
    for key, value in part.items():
        if key == "command":
            yield f"the program {_shown(value)}"
        elif key == "python":
            yield f"the Python function {_shown(value)}"
        elif key in _PLACES:
            yield f"{key} {_shown(value)}"
        elif key in _SENT:
            names = ", ".join(dict.fromkeys(_names(value)))
            yield f"{key} with {'the value of ' + names if names else 'values of its own'}"
        elif key not in _MERE_DATA:
            yield from _dealings(value)


def _names(value: Any) -> Iterator[str]:
    """Yield the names of the variables to which a value refers, however deep."""
    if isinstance(value, str):
        yield from references(value)
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _names(one)


def _shown(value: Any) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


_MOST_CHANGES_TOLD = 10
# What a run of profiles does, and the command that starts one.
_OF_PROFILES = {
    SCORING: ("scores profiles", "evenhand score"),
    RANKING: ("ranks profiles", "evenhand rank"),
    AUDIT: ("audits a judge", "evenhand audit"),
}


def go_on(
    ctx: typer.Context,
    wanted: str,
    manner: RunOptions,
    *,
    judge: str | None,
    target: str | None,
    fork: bool,
    trust: bool,
) -> ExitCode:
    """Go on with a run, and give the exit code."""
    typed = Replaced.typed(ctx, judge, target)
    with session(ctx, manner) as at_work, StoreLocation(manner.db).opened(to_read=True) as store:
        run = store.runs.find(wanted)
        if run.status is RunStatus.FINISHED and not (fork or manner.retry_errors):
            at_work.console.note(f"run {run.id} is finished; --retry-errors does its errors again")
            return at_work.end(store, run)
        store.require_writable()
        if is_imported(run) and not trust:
            require_trust(store, run)
        return go_on_with(store, run, at_work, manner, typed=typed, fork=fork)


def go_on_with(
    store: Store, run: RunRecord, at_work: Session, manner: RunOptions, *, typed: Replaced, fork: bool = False
) -> ExitCode:
    """Go on with a run, or with a new one that takes over what still holds, and give the exit code."""
    replaced = typed.over(Replaced.of(run))
    manner = replace(manner, no_cache=manner.no_cache or run.options.get("no_cache") is True)
    job = _job(store, run, replaced, at_work)
    job = replace(job, timeout=manner.timeout or job.timeout)
    pace = pace_of(manner, Definition(job.definition).concurrency)
    if manner.max_cost is not None:
        from evenhand.cli.runs.start import require_prices
        from evenhand.engine.estimator import forecast

        require_prices(forecast(store, job, scope_of(run), use_cache=not manner.no_cache))
    if fork:
        run = _forked(store, run, job, replaced, at_work)
    else:
        _require_same(store, run, job)
        run = _taken_up(store, run, job, at_work)
    return at_work.work_on(store, run, job, pace)


def _taken_up(store: Store, run: RunRecord, job: Job, at_work: Session) -> RunRecord:
    store.runs.claim(run)
    at_work.console.note(f"going on with {run.name}")
    if run.status is not RunStatus.PLANNING:
        return store.runs.mark(run, RunStatus.RUNNING)
    store.forget_cases(run)
    return fill(store, run, job, scope_of(run))


def _job(store: Store, run: RunRecord, replaced: Replaced, at_work: Session) -> Job:
    """Make the job from the suite's file, or from what the run stored where the file is gone."""
    if is_trial(run.definition):
        job = _kept_job(store, run, replaced, cases="test cases", does="tries a prompt", again="evenhand prompts run")
    elif (mode := mode_of(run.definition)) is not None:
        does, again = _OF_PROFILES[mode]
        job = going_on(_kept_job(store, run, replaced, cases="profiles", does=does, again=again))
    elif run.source is not None and Path(run.source).is_file():
        job = job_of(replaced.read(run.source))
    elif run.source is None and not is_imported(run):
        raise ConfigError(f"run {run.id} was started by a program, and only that can go on with it; run it again")
    elif run.status is RunStatus.PLANNING:
        raise ConfigError(
            f"the cases of run {run.id} were never all read, and {run.source} is gone; "
            f"remove it with: evenhand runs delete {run.id}"
        )
    elif replaced != Replaced.of(run):
        raise ConfigError(f"{run.source or 'the suite'} is not here, so no other judge or target can be put into it")
    else:
        if run.source is not None:
            at_work.console.note(f"note: {run.source} is gone; going on with what the run kept of it")
        # What came from elsewhere is seen from where one is: programs run here, functions are looked for here.
        placed = replace(run, source=run.source or str(Path.cwd() / run.name))
        job = replace(job_of_run(store, placed), source=run.source)
    return job if scope_of(run).answers_from is None else replace(job, target=None)


def _kept_job(store: Store, run: RunRecord, replaced: Replaced, *, cases: str, does: str, again: str) -> Job:
    """Make the job of a run that has no suite from what it kept; where its cases came from, they may have changed."""
    if run.status is RunStatus.PLANNING:
        raise ConfigError(
            f"the {cases} of run {run.id} were never all read; start anew with: {again}, and remove this run with: "
            f"evenhand runs delete {run.id}"
        )
    if replaced != Replaced():
        raise ConfigError(
            f"run {run.id} {does} with its own models and judge; for others start a new one with: {again}"
        )
    return job_of_run(store, run)


def _require_same(store: Store, run: RunRecord, job: Job) -> None:
    """Refuse to mix what was judged by one definition with what is judged by another."""
    if job.definition is run.definition:  # it was made from the run itself
        return
    found = definition_differences(run.definition, job.definition)
    if run.status is not RunStatus.PLANNING:
        found += case_differences(store, run, job)
    if found:
        more = [f"and {len(found) - _MOST_CHANGES_TOLD} more"] if len(found) > _MOST_CHANGES_TOLD else []
        told = [f"- {one}" for one in [*found[:_MOST_CHANGES_TOLD], *more]]
        raise ConfigError(
            "\n".join(
                [
                    f"{job.source or job.name} is not what it was when run {run.id} began:",
                    *told,
                    f"To keep what still holds, and judge the rest anew: evenhand resume {run.id} --fork",
                ]
            )
        )


def _forked(store: Store, before: RunRecord, job: Job, replaced: Replaced, at_work: Session) -> RunRecord:
    """Make a new run from an earlier one, with the evaluations of that which still hold."""
    scope = scope_of(before)
    options = CommandScope(
        only=scope.only,
        limit=scope.limit,
        repeat=scope.repeat,
        answers_from=scope.answers_from,
        replaced=replaced,
        no_cache=before.options.get("no_cache") is True,
    )
    run = plan(store, job, options, forked_from=before.id)
    copied = copy_finished(store, before, run, job)
    at_work.console.note(f"run {run.id} goes on from {before.id}, with {counted(copied, 'evaluation')} of it")
    return run
