"""Start a run: estimate what it takes, plan it, then work on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from evenhand.cli.options import PaceOptions, RunOptions
from evenhand.cli.runs.overrides import CommandScope
from evenhand.cli.runs.session import Session, WhenDone, pace_of
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.run_kind import AUDIT, RANKING, SCORING, mode_of
from evenhand.engine.estimate import Estimate, forecast
from evenhand.engine.job import Job, Scope
from evenhand.engine.plan import plan
from evenhand.engine.store_location import StoreLocation, open_or_empty
from evenhand.reports.safe_text import strict_json
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import is_trial

# Which function takes prices, of what is started without a file that could have them.
_IN_PYTHON: Final = {SCORING: "score", RANKING: "rank"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run to start, and what to print about it.

    ``notes`` returns warnings, once the cases are read and before anything is spent. ``outline`` describes the design
    as part of an estimate; ``announce`` returns lines about the plan from the estimate. ``estimated`` is the job to
    estimate, if not ``job``. ``when_done`` is called with the report of the run.
    """

    job: Job
    scope: CommandScope
    concurrency: int | None = None
    notes: Callable[[], Iterable[str]] = tuple
    outline: Sequence[str] = ()
    announce: Callable[[Estimate], Iterable[str]] | None = None
    estimated: Job | None = None
    when_done: WhenDone | None = None


def start_run(
    session: Session, new: NewRun, options: RunOptions, *, estimate: bool = False, store: Store | None = None
) -> ExitCode:
    """Start a run and work on it, or print an estimate; return the exit code.

    ``store`` is the database where it is open already.
    """
    job = replace(new.job, timeout=options.timeout or new.job.timeout)
    pace = pace_of(options, new.concurrency, batch=new.scope.batch)
    lines: list[str] = []
    if new.scope.batch:
        require_one_process(options)
    if estimate or options.max_cost is not None or new.announce is not None:
        with open_or_empty(options.db if store is None else store) as opened:
            scope = _with_whole_id(opened, new.scope)
            use_cache = not options.no_cache
            expected = forecast(opened, new.estimated or job, scope, use_cache=use_cache)
        if estimate:
            _show_notes(session, new)
            show_estimate(session, expected, new.outline)
            return ExitCode.OK
        if options.max_cost is not None:
            require_known_prices(expected, job.definition)
        lines += new.announce(expected) if new.announce is not None else []
    session.require_reachable()
    with StoreLocation(options.db if store is None else store).opened() as opened:
        run = _plan(session, opened, job, _with_whole_id(opened, new.scope))
        _show_notes(session, new)
        for line in lines:
            session.console.note(line)
        return session.work_on(opened, run, job, pace, when_done=new.when_done)


def require_one_process(options: PaceOptions) -> None:
    """Refuse to judge on Ray where questions go into batches, which one process gathers."""
    if options.on is not None:
        raise ConfigError(
            f"--batch and --on {options.on} cannot be combined: one process gathers the questions of a batch"
        )


def require_prices(store: Store, job: Job, scope: Scope, options: PaceOptions) -> None:
    """Refuse ``--max-cost`` for models whose price is unknown."""
    if options.max_cost is not None:
        require_known_prices(forecast(store, job, scope, use_cache=not options.no_cache), job.definition)


def require_known_prices(expected: Estimate, definition: Mapping[str, Any]) -> None:
    """Refuse ``--max-cost`` where the price of a model is unknown, and say where it can be given."""
    unknown = [model.model for model in expected.models if model.low is None]
    if not unknown:
        return
    mode = mode_of(definition)
    which = f"--max-cost: the price of {' and '.join(unknown)} is unknown"
    if mode is None and not is_trial(definition):
        place = "the suite"
    elif mode == AUDIT:
        place = "the design"
    else:
        in_python = f", or give prices from Python: {_IN_PYTHON[mode]}(…, prices={{…}})" if mode in _IN_PYTHON else ""
        raise ConfigError(f"{which}; use --max-calls instead{in_python}")
    raise ConfigError(
        f"{which}; give it in {place}, in dollars per million tokens, such as "
        f"prices: {{{unknown[0]}: {{input: 0.25, output: 2}}}}, or use --max-calls"
    )


def _with_whole_id(store: Store, scope: CommandScope) -> CommandScope:
    """Return a scope with the whole id of the run whose answers are judged: ``last`` will soon be another one."""
    return scope if scope.answers_from is None else replace(scope, answers_from=store.runs.find(scope.answers_from).id)


def _plan(session: Session, store: Store, job: Job, scope: CommandScope) -> RunRecord:
    try:
        return plan(store, job, scope)
    except KeyboardInterrupt:
        if job.source is not None and mode_of(job.definition) is None:  # a suite, whose cases can be read again
            newest = store.runs.newest(1, source=job.source)
            if newest and newest[0].status is RunStatus.PLANNING:
                session.console.error(f"no model was asked yet; resume with: {session.resume_command(newest[0])}")
        raise


def _show_notes(session: Session, new: NewRun) -> None:
    for note in new.notes():
        session.console.note(f"note: {note}")


def show_estimate(session: Session, expected: Estimate, outline: Sequence[str]) -> None:
    """Print an estimate: tokens and dollars only where a model is asked."""
    if session.json:
        session.console.result(strict_json(({"plan": list(outline)} if outline else {}) | expected.as_dict()))
        return
    text = expected.text() if expected.models else expected.text().partition("\n")[0]
    session.console.result("\n".join([*outline, "", text]) if outline else text)
