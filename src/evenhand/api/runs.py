"""Runs: cases judged by evaluators and stored, and two of them compared."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from evenhand.domain.errors import ConfigError

if TYPE_CHECKING:
    from evenhand.domain.comparison import Comparison, RunsComparison
    from evenhand.domain.run import RunRecord
    from evenhand.domain.verdict import Thresholds
    from evenhand.engine.execution import Execution, Watcher
    from evenhand.engine.job import Job, Pace, Scope
    from evenhand.engine.run import Run
    from evenhand.engine.store_location import PlaceLike
    from evenhand.engine.win_rate import WinRate
    from evenhand.suites.from_python import CaseLike
    from evenhand.suites.python_evaluators import EvaluatorLike


def execution_of(
    job: Job,
    scope: Scope,
    pace: Pace,
    *,
    store: PlaceLike,
    progress: bool | Watcher,
    on: str | None = None,
    workers: int | None = None,
    worker_env: Sequence[str] = (),
    enforce: bool = False,
) -> Execution:
    """Return a planned run, stored in ``store``; ``on`` is where it is judged."""
    from evenhand.engine.execution import Execution  # noqa: PLC0415
    from evenhand.engine.store_location import StoreLocation  # noqa: PLC0415

    where = None
    if pace.batch:
        _require_resumable(store, on)
    if on is not None:
        from evenhand.cluster.ray_cluster import runner_on  # noqa: PLC0415 - few runs need it

        where = runner_on(on, job, workers=workers, variables=worker_env)
    place = StoreLocation.of(store)
    return Execution(job, scope=scope, pace=pace, place=place, progress=progress, on=where, enforce=enforce)


def _require_resumable(store: PlaceLike, on: str | None) -> None:
    """Refuse batches that only this process could read: they are paid for when they are submitted."""
    if store is None:
        raise ConfigError(
            "batch: with store=None, batches that are paid for would be lost with this program; name a store"
        )
    if on is not None:
        raise ConfigError(f"batch: it cannot be combined with on={on!r}: one process gathers the questions of a batch")


_log = logging.getLogger(__name__)

Options = ParamSpec("Options")
Result = TypeVar("Result")


def planned_evaluation(
    cases: str | os.PathLike[str] | CaseLike | Iterable[CaseLike],
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] | None = None,
    *,
    target: object = None,
    judge: object = None,
    name: str | None = None,
    store: PlaceLike = "default",
    concurrency: int | None = None,
    on: str | None = None,
    workers: int | None = None,
    worker_env: Sequence[str] = (),
    repeat: int | None = None,
    cache: bool = True,
    max_calls: int | None = None,
    max_cost: float | None = None,
    timeout: float | None = None,
    outage_timeout: float | None = None,
    max_consecutive_errors: int | None = None,
    thresholds: Thresholds | Mapping[str, float] | None = None,
    gates: Mapping[str, Any] | None = None,
    prices: Mapping[str, Any] | None = None,
    columns: Mapping[str, str] | None = None,
    slices: Sequence[str] | None = None,
    label: str | None = None,
    tags: Iterable[str] = (),
    until_decided: bool = False,
    alpha: float | None = None,
    batch: bool = False,
    progress: bool | Watcher = False,
    enforce: bool | None = None,
) -> Execution:
    """Return a planned run; these are the options of ``evaluate`` and ``aevaluate``."""
    # The engine, its store and the suites are loaded when there is a run.
    from evenhand.domain.early_decision import until_decided_of  # noqa: PLC0415
    from evenhand.domain.run import tags_of  # noqa: PLC0415
    from evenhand.engine.job import Pace, Scope  # noqa: PLC0415
    from evenhand.suites.document import open_case_files  # noqa: PLC0415
    from evenhand.suites.from_python import job_from  # noqa: PLC0415
    from evenhand.suites.lint import kinship_notes  # noqa: PLC0415
    from evenhand.suites.suite import read_suite  # noqa: PLC0415

    file = suite = None
    if isinstance(cases, str | os.PathLike):
        file = open_case_files(Path(cases))
        suite = read_suite(cases) if file is None else None
    job = job_from(
        suite or file or cast("Iterable[CaseLike]", cases),
        evaluators,
        target=target,
        judge=judge,
        name=name,
        thresholds=thresholds,
        gates=gates,
        prices=prices,
        timeout=timeout,
        columns=columns,
        slices=slices,
    )
    # That of a suite is for requests; in batches, as many evaluations as possible wait together.
    usual_concurrency = suite.built.concurrency if suite and not batch else None
    usual_repeat = suite.built.repeat if suite else 1
    pace = Pace.of(
        concurrency=usual_concurrency if concurrency is None else concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        use_cache=cache,
        outage_timeout=outage_timeout,
        max_consecutive_errors=max_consecutive_errors,
        batch=batch,
    )
    scope = Scope(
        repeat=usual_repeat if repeat is None else repeat,
        label=label,
        tags=tags_of(tags),
        until_decided=until_decided_of(until_decided, alpha),
        batch=batch,
    )
    execution = execution_of(
        job,
        scope,
        pace,
        store=store,
        progress=progress,
        on=on,
        workers=workers,
        worker_env=worker_env,
        enforce=bool(job.definition.get("gates")) and _in_a_test() if enforce is None else enforce,
    )
    # A suite's notes may be about what does not count, if something else was given.
    notes = suite.notes if suite is not None and evaluators is None and judge is None else []
    for note in (*notes, *kinship_notes(job.definition)):
        _log.warning("%s", note)
    return execution


def _in_a_test() -> bool:
    """Return whether a test of pytest runs, with the plugin, which then was loaded before."""
    plugin = sys.modules.get("evenhand.plugin")
    return plugin is not None and plugin.test_runs


def _with_options_like(
    other: Callable[Options, object],
) -> Callable[[Callable[..., Result]], Callable[Options, Result]]:
    """Copy the signature of another function to one that passes its options on, for type checkers and ``help``."""

    def decorate(function: Callable[..., Result]) -> Callable[Options, Result]:
        returned = inspect.signature(function).return_annotation
        function.__signature__ = inspect.signature(other).replace(return_annotation=returned)  # type: ignore[attr-defined]
        return function

    return decorate


def _planned(function: str, /, *args: Any, **options: Any) -> Execution:
    """Return the planned run of a function; an argument that it does not have is refused in its name."""
    try:
        inspect.signature(planned_evaluation).bind(*args, **options)
    except TypeError as wrong:
        raise TypeError(f"{function}() {wrong}") from None
    return planned_evaluation(*args, **options)


@_with_options_like(planned_evaluation)
def evaluate(*args: Any, **options: Any) -> Run:
    """Judge cases by evaluators, store every evaluation as it is made, and return the run.

    >>> from evenhand import Case, Contains, evaluate
    >>> cases = [Case(id="france", candidate_answer="Paris"), Case(id="italy", candidate_answer="Milan")]
    >>> run = evaluate(cases, [Contains(value="Paris")], store=None)
    >>> run.summary.cases.passed, run.summary.cases.failed
    (1, 1)

    ``cases`` are ``Case`` objects or mappings with the keys of a suite's case, one or many, from any iterable; a data
    frame; or the path of a file of cases (``data/*.csv`` for several), or of a suite, which may contain everything
    else. ``columns`` says which column is which key of a case, where they have other names. ``evaluators`` are objects,
    definitions as in a suite, or functions that return a score for a case. ``slices`` are keys of the cases' metadata:
    the numbers are given for each of their values too. ``judge`` is for definitions without one,
    ``target`` makes the answers of cases that have none. ``store`` is the database of the run: by default
    ``EVENHAND_DB``, or ``.evenhand/evenhand.db``; None stores it in memory.

    With ``batch``, models are asked in batches, at half the price, which takes up to a day. If the program ends before
    that, run it again: it continues the run that waits for the batches, and nothing is asked twice.

    With ``until_decided``, cases are judged in random order until a gate has failed or all are decided; the decision is
    that of a run of all cases, but for a probability of at most ``alpha``, 0.05 by default.

    With ``on="ray"``, ``workers`` processes of Ray judge a suite, and need the variables that ``worker_env`` names.

    ``gates`` are what the run must reach: ``run.gates`` and ``run.passed`` say whether it did. In a test of pytest, a
    run that does not pass raises ``GatesFailed``, an ``AssertionError`` that has the ``run``; ``enforce`` says whether
    to raise it, in a test or elsewhere.

    If the judge fails on a case, that is an error of the case, and nothing is raised. A run that cannot continue, since
    a key is refused or ``max_calls`` or ``max_cost`` is reached, raises ``RunStoppedError``, which has the run so far.
    """
    return _planned("evaluate", *args, **options).run_and_wait()


@_with_options_like(planned_evaluation)
async def aevaluate(*args: Any, **options: Any) -> Run:
    """Do what ``evaluate`` does, with the same options, on the running event loop.

    Cancelling it gives pending requests ten seconds to finish, and stores the run as interrupted.
    """
    return await _planned("aevaluate", *args, **options).run()


@overload
def compare(
    a: str | Run,
    b: str | Run,
    *,
    evaluator: str | None = None,
    limit: int | None = 10,
    anyway: bool = False,
    model_a: str | None = None,
    model_b: str | None = None,
    store: PlaceLike = "default",
) -> Comparison: ...


@overload
def compare(
    a: str | Run,
    b: str | Run,
    c: str | Run,
    /,
    *others: str | Run,
    evaluator: str | None = None,
    anyway: bool = False,
    model_a: str | None = None,
    model_b: str | None = None,
    store: PlaceLike = "default",
) -> RunsComparison: ...


def compare(
    a: str | Run,
    b: str | Run,
    *others: str | Run,
    evaluator: str | None = None,
    limit: int | None = 10,
    anyway: bool = False,
    model_a: str | None = None,
    model_b: str | None = None,
    store: PlaceLike = "default",
) -> Comparison | RunsComparison:
    """Compare run B with run A, case by case: whether it is better, by how much, and how certain that is.

    >>> from evenhand import Case, Contains, compare, evaluate
    >>> def answered(answer):
    ...     cases = [Case(id=f"case-{number}", candidate_answer=answer) for number in range(8)]
    ...     return evaluate(cases, Contains(value="Paris"), store=None)
    >>> scores = compare(answered("Rome"), answered("Paris")).cases.scores
    >>> scores.difference, scores.test, scores.better
    (1.0, 'exact McNemar', True)

    A run is a ``Run``, or the id of one in ``store``, the start of an id, ``last``, or ``previous``: the one before the
    last, of the same suite. With ``evaluator``, the comparison is by that evaluator and not by whole cases; ``limit``
    is how many changed cases are listed, None for all. ``model_a`` and ``model_b`` choose a model in a run of several;
    where the other run is of one of them, it is chosen already. With more runs, ``compare(a, b, c)``, each is compared
    with A, and p values allow for how many there are; a run that cannot be compared is in ``refused``. Raises
    ``ConfigError`` for runs that are unfinished, or were judged by different judges, evaluators, rubrics or thresholds,
    unless ``anyway`` is set.
    """
    from evenhand.engine.comparison import opened, read_paired  # noqa: PLC0415
    from evenhand.engine.run import Run  # noqa: PLC0415
    from evenhand.engine.runs_comparison import compare_several  # noqa: PLC0415
    from evenhand.profiles.job import require_scores  # noqa: PLC0415
    from evenhand.suites.run_settings import compare_sides  # noqa: PLC0415

    for run in (a, b, *others):
        if not isinstance(run, Run | str):
            raise ConfigError(f"compare takes runs, or their ids as text, not {run!r:.80}")
    before, after, *more = (run if isinstance(run, Run) else Run.open(run, store=store) for run in (a, b, *others))
    if more:
        by_id = {run.id: run for run in (after, *more)}

        def compared_with_a(record: RunRecord) -> Comparison:
            other = by_id[record.id]
            return compare(before, other, evaluator=evaluator, limit=0, anyway=anyway, model_a=model_a, model_b=model_b)

        records = [run.record for run in (after, *more)]
        return compare_several(before.record, records, compared_with_a, evaluator=evaluator)
    for opened_run in (before, after):
        require_scores(opened_run.record)
    with opened(before, model_a) as ours, opened(after, model_b) as theirs:
        comparison = compare_sides(ours, theirs, evaluator=evaluator, limit=limit, anyway=anyway)
    models = comparison.model_a, comparison.model_b
    return replace(comparison, read_cases=functools.partial(read_paired, before, after, models))


def win_rate(run: str | Run, *, evaluator: str | None = None, store: PlaceLike = "default") -> WinRate:
    """Return the win rate of a run with a pairwise evaluator, with its interval, and adjusted for length.

    >>> from evenhand import Case, PairwiseEvaluator, evaluate, win_rate
    >>> def judge(messages):
    ...     return '{"reasoning": "", "winner": "tie"}'
    >>> case = Case(id="a", question="Why?", candidate_answer="So.", reference_answer="Because.")
    >>> result = win_rate(evaluate([case], PairwiseEvaluator(judge=judge), store=None))
    >>> result.rate, (result.wins, result.ties, result.losses), result.flips
    (0.5, (0, 1, 0), 0)

    The run is a ``Run``, or an id as in ``compare``. No judge is asked: everything is in the store already.
    ``evaluator`` names the pairwise evaluator if there are several.
    """
    from evenhand.engine.run import Run  # noqa: PLC0415
    from evenhand.engine.win_rate import win_rate_of  # noqa: PLC0415

    if not isinstance(run, Run | str):
        raise ConfigError(f"win_rate takes a run, or its id as text, not {run!r:.80}")
    return win_rate_of(run if isinstance(run, Run) else Run.open(run, store=store), evaluator)
