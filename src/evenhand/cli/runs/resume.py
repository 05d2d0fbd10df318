"""Resume a run: do only what is missing, and only if the definition is still the same (REL-D4).

They run no code, talk to no server of their own, and read no variable: one that names a provider and ``${ANY}`` as its
key would send that provider whatever the variable holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.cli.console import Console
from evenhand.cli.options import RunOptions
from evenhand.cli.runs.overrides import CommandScope, Overrides
from evenhand.cli.runs.session import Session, pace_of
from evenhand.cli.runs.start import require_one_process, require_prices
from evenhand.domain.early_decision import UntilDecided
from evenhand.domain.errors import ConfigError, MissingKeyError
from evenhand.domain.exit_code import ExitCode
from evenhand.domain.label import LABELS_FILE
from evenhand.domain.run import BATCH, RunRecord, RunStatus
from evenhand.domain.run_kind import AUDIT, RANKING, SCORING, is_doctor, is_tuning, mode_of
from evenhand.engine.carry_over import (
    case_differences,
    changed_programs,
    copy_finished,
    program_changes,
    program_notes,
    scope_of,
)
from evenhand.engine.job import Job
from evenhand.engine.overview import overview_of
from evenhand.engine.plan import fill, plan
from evenhand.engine.store_location import run_command
from evenhand.models.environment import references
from evenhand.profiles.modes import with_next_rounds
from evenhand.reports.phrases import cost_text, counted
from evenhand.store.store import Store
from evenhand.store.transfer import IMPORTED
from evenhand.suites.definition import Definition
from evenhand.suites.definition_diff import definition_differences
from evenhand.suites.drift import drift_of, resumed_job
from evenhand.suites.suite import job_of, job_of_run
from evenhand.tuner.prepare import stored_tuning
from evenhand.workspace.prompt_run import is_trial

_MAX_ACTIONS_SHOWN = 5
_PLAIN_DATA = ("metadata", "config")
# Where the prompts are sent, and what is sent with them. Literal values are not shown: they may be secrets.
_ADDRESSES = ("base_url", "region", "project", "location", "proxy", "ca_file")
_SENT = ("api_key", "headers", "extra_body", "env")


def is_imported(run: RunRecord) -> bool:
    """Return whether a run was imported."""
    return bool(run.options.get(IMPORTED))


def is_of_program(run: RunRecord) -> bool:
    """Return whether a program started a run, of cases and evaluators that are not all in the store."""
    definition = run.definition
    is_whole = is_trial(definition) or is_doctor(definition) or is_tuning(definition) or drift_of(run) is not None
    return run.source is None and not is_imported(run) and not is_whole and mode_of(definition) is None


def require_trust(store: Store, run: RunRecord) -> None:
    """Refuse an imported run that would run a program, import a function, or choose where to send data."""
    actions = dict.fromkeys(_actions(run.definition))
    for page in store.planned(run):
        for planned in page:
            actions |= dict.fromkeys(_actions(list(planned.evaluators or ())))
        if len(actions) > _MAX_ACTIONS_SHOWN:
            break
    if actions:
        more = ["- and more"] if len(actions) > _MAX_ACTIONS_SHOWN else []
        raise ConfigError(
            "\n".join(
                [
                    f"run {run.id} was imported; resuming it would use, on this machine:",
                    *[f"- {action}" for action in list(actions)[:_MAX_ACTIONS_SHOWN]],
                    *more,
                    f"If you trust its source: {run_command('resume', run.id, store.address)} --trust",
                ]
            )
        )


def _actions(part: Any) -> Iterator[str]:
    """Yield what a definition would do beyond asking a well-known model."""
    if isinstance(part, list):
        for item in part:
            yield from _actions(item)
    if not isinstance(part, Mapping):
        return
    for key, value in part.items():
        if key == "command":
            yield f"the program {_shorten(value)}"
        elif key == "python":
            yield f"the Python function {_shorten(value)}"
        elif key in _ADDRESSES:
            yield f"{key} {_shorten(value)}"
        elif key in _SENT:
            names = ", ".join(dict.fromkeys(_names(value)))
            yield f"{key} with {'the value of ' + names if names else 'literal values'}"
        elif key not in _PLAIN_DATA:
            yield from _actions(value)


def _names(value: Any) -> Iterator[str]:
    """Yield the names of the variables that a value refers to, at any depth."""
    if isinstance(value, str):
        yield from references(value)
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _names(item)


def _shorten(value: Any) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


_MAX_CHANGES_SHOWN = 10
# What a run of profiles does, and the command that starts one.
_OF_PROFILES = {
    SCORING: ("scores profiles", "evenhand score"),
    RANKING: ("ranks profiles", "evenhand rank"),
    AUDIT: ("audits a judge", "evenhand audit"),
}


def resume_run(
    store: Store,
    run: RunRecord,
    session: Session,
    options: RunOptions,
    *,
    typed: Overrides,
    fork: bool = False,
    one_by_one: bool = False,
) -> ExitCode:
    """Resume a run, or a new one that keeps what is still valid of it, and return the exit code.

    A run that asks in batches does so again, unless everything is to be asked ``one_by_one``.
    """
    if fork and (pending := store.provider_batches.of(run, pending=True)):
        words = "; ".join(batch.words for batch in pending)
        raise ConfigError(
            f"run {run.id} waits for batches: {words}. Resume it as it is, or cancel them first with: "
            f"{run_command('runs cancel-batches', run.id, store.address)}"
        )
    batch = not one_by_one and run.options.get(BATCH) is True
    if batch or store.provider_batches.of(run, pending=True):
        require_one_process(options)
    overrides = typed.over(Overrides.of(run))
    options = replace(options, no_cache=options.no_cache or run.options.get("no_cache") is True)
    job = job_to_resume(store, run, overrides, session.console)
    job = replace(job, timeout=options.timeout or job.timeout)
    require_prices(store, job, scope_of(run), options)
    if fork:
        run = _fork(store, run, job, overrides, session)
    else:
        require_same(store, run, job)
        for note in program_notes(store, run, job):
            session.console.note(note)
        run = _claim(store, run, job, session)
    return session.work_on(store, run, job, pace_of(options, Definition(job.definition).concurrency, batch=batch))


def _claim(store: Store, run: RunRecord, job: Job, session: Session) -> RunRecord:
    store.runs.claim(run)
    session.console.note(f"resuming {run.name}")
    if run.status is not RunStatus.PLANNING:
        return store.runs.mark(run, RunStatus.RUNNING)
    store.forget_cases(run)
    return fill(store, run, job, scope_of(run))


def job_to_resume(store: Store, run: RunRecord, overrides: Overrides, console: Console) -> Job:
    """Return what a run is to do, by what it is: of a suite, or of a command with cases of its own."""
    if drift_of(run) is not None:
        if overrides != Overrides():
            raise ConfigError(f"run {run.id} judges anchors again by the same judge; leave out --judge and --target")
        return resumed_job(store, run)
    if is_trial(run.definition):
        job = _stored_job(
            store, run, overrides, cases="test cases", does="tries a prompt", again="evenhand prompts run"
        )
    elif is_doctor(run.definition):
        job = _stored_job(store, run, overrides, cases="cases", does="examines a judge", again="evenhand doctor")
    elif is_tuning(run.definition):
        _require_stored(store, run, overrides, cases="labelled cases", does="tunes a prompt", again="evenhand tune")
        # Its definition is that of the run itself.
        job = replace(stored_tuning(run).job(store), definition=run.definition)
    elif (mode := mode_of(run.definition)) is not None:
        does, again = _OF_PROFILES[mode]
        job = with_next_rounds(_stored_job(store, run, overrides, cases="profiles", does=does, again=again))
    else:
        job = suite_job(store, run, overrides, console)
    return job if scope_of(run).answers_from is None else replace(job, target=None)


def suite_job(store: Store, run: RunRecord, overrides: Overrides, console: Console) -> Job:
    """Return the job from the suite file, or from what the run stored if the file is gone."""
    if run.source is not None and Path(run.source).is_file():
        return job_of(overrides.read(run.source))
    if is_of_program(run):
        raise ConfigError(
            f"run {run.id} was started by a program, and only that program can resume it; start a new run"
        )
    if run.status is RunStatus.PLANNING:
        raise ConfigError(
            f"the cases of run {run.id} were not all read, and {run.source} is gone; "
            f"delete the run with: {run_command('runs delete', run.id, store.address)}"
        )
    if overrides != Overrides.of(run):
        raise ConfigError(f"{run.source or 'the suite'} is not here, so its judge and target cannot be changed")
    if run.source is not None:
        console.note(f"note: {run.source} is gone; resuming with what the run stored of it")
    # The paths of an imported run are relative to the working directory: programs and functions are found here.
    placed = replace(run, source=run.source or str(Path.cwd() / run.name))
    return replace(job_of_run(store, placed), source=run.source)


def _stored_job(store: Store, run: RunRecord, overrides: Overrides, *, cases: str, does: str, again: str) -> Job:
    """Return the job of a run without a suite from what it stored; its source may have changed since."""
    _require_stored(store, run, overrides, cases=cases, does=does, again=again)
    return job_of_run(store, run)


def _require_stored(store: Store, run: RunRecord, overrides: Overrides, *, cases: str, does: str, again: str) -> None:
    """Refuse a run whose cases are not all stored, and to change the models of one that has no suite."""
    if run.status is RunStatus.PLANNING:
        raise ConfigError(
            f"the {cases} of run {run.id} were not all read; start a new run with: {again}, and delete this one with: "
            f"{run_command('runs delete', run.id, store.address)}"
        )
    if overrides != Overrides():
        raise ConfigError(
            f"run {run.id} {does} with its own models and judge; to use others, start a new run with: {again}"
        )


def require_same(store: Store, run: RunRecord, job: Job) -> None:
    """Refuse to mix evaluations of one definition, or of one program, with those of another."""
    changes: list[str] = []
    is_planned = run.status is not RunStatus.PLANNING
    if job.definition is not run.definition:  # else the job was made from the run itself
        changes += definition_differences(run.definition, job.definition)
        changes += case_differences(store, run, job) if is_planned else []
    changes += program_changes(store, run, job).words() if is_planned else []
    if changes:
        fork = f"{run_command('resume', run.id, store.address)} --fork"
        more = [f"and {len(changes) - _MAX_CHANGES_SHOWN} more"] if len(changes) > _MAX_CHANGES_SHOWN else []
        raise ConfigError(
            "\n".join(
                [
                    f"{job.source or job.name} has changed since run {run.id} began:",
                    *(f"- {change}" for change in [*changes[:_MAX_CHANGES_SHOWN], *more]),
                    f"To keep what is still valid and judge the rest again: {fork}",
                ]
            )
        )


def require_unchanged(store: Store, run: RunRecord, typed: Overrides, console: Console) -> None:
    """Refuse to report a finished run as what its suite is now, where the suite or a program has changed since.

    Without the key of a judge, this cannot be found out, which is said. A suite whose file is gone cannot have changed.
    """
    if run.source is None or not Path(run.source).is_file():
        return
    try:
        job = job_to_resume(store, run, typed.over(Overrides.of(run)), console)
        require_same(store, run, job)
    except MissingKeyError as missing:
        console.note(f"note: whether {run.source} has changed since is unknown: {missing}")


def _fork(store: Store, before: RunRecord, job: Job, overrides: Overrides, session: Session) -> RunRecord:
    """Return a new run with the evaluations of an earlier one that are still valid."""
    scope = scope_of(before)
    options = CommandScope(
        only=scope.only,
        limit=scope.limit,
        repeat=scope.repeat,
        answers_from=scope.answers_from,
        label=before.label or None,
        tags=before.tags,
        overrides=overrides,
        no_cache=before.options.get("no_cache") is True,
        labels=before.options.get(LABELS_FILE),
        batch=before.options.get(BATCH) is True,
        until_decided=None if scope.until_decided is None else UntilDecided(alpha=scope.until_decided.alpha),
    )
    run = plan(store, job, options, forked_from=before.id)
    copied = copy_finished(store, before, run, job)
    for note in _renewed(store, before, run):
        session.console.note(note)
    session.console.note(f"run {run.id} continues {before.id}, with {counted(copied, 'evaluation')} from it")
    return run


def _renewed(store: Store, before: RunRecord, run: RunRecord) -> Iterator[str]:
    """Say what is done again since a program has changed, and what that took before."""
    changes = changed_programs(before, run)
    if not (changes.target or changes.evaluators):
        return
    summary = overview_of(store, before).summary
    if changes.target:
        spent = f" and {cost_text(summary.cost)}" if summary.cost else ""
        yield (
            f"{', '.join(changes.target)} has changed: every answer is made and judged again, which took "
            f"{counted(summary.calls, 'call')}{spent} in run {before.id}"
        )
        return
    for evaluator, names in changes.evaluators.items():
        tally = summary.evaluators.get(evaluator)
        again = counted(0 if tally is None else tally.by_answer.n, "evaluation")
        yield f"{', '.join(names)} has changed: {again} by {evaluator!r} are made again"
