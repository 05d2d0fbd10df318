"""The library's functions: thin doors onto the evaluators and the driver."""

from __future__ import annotations

import functools
import inspect
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, cast, overload

from evenhand import registry
from evenhand.domain.errors import ConfigError
from evenhand.drive import background
from evenhand.drive.driver import drive
from evenhand.evaluators.factory import PromptedJudge

if TYPE_CHECKING:
    from evenhand.domain.comparison import Comparison
    from evenhand.domain.verdict import Thresholds
    from evenhand.engine.job import Job, Pace, Scope
    from evenhand.engine.outcome import Run
    from evenhand.engine.place import PlaceLike
    from evenhand.engine.undertaking import Undertaking, Watcher
    from evenhand.profiles.audit.audited import Audit
    from evenhand.profiles.ranking.ranked import RankedProfiles
    from evenhand.profiles.reading import ProfilesLike
    from evenhand.profiles.scored import ScoredProfiles
    from evenhand.suites.given import CaseLike
    from evenhand.suites.panel import EvaluatorLike

_log = logging.getLogger(__name__)

Options = ParamSpec("Options")
Made = TypeVar("Made")


def _with_options_of(
    make: Callable[Options, PromptedJudge],
) -> Callable[[Callable[[PromptedJudge], Made]], Callable[Options, Made]]:
    """Give a door the options of what it opens onto, for callers, type checkers and ``help``, written down once."""

    def decorate(door: Callable[[PromptedJudge], Made]) -> Callable[Options, Made]:
        @functools.wraps(door)
        def create(*args: Options.args, **options: Options.kwargs) -> Made:
            if args:
                raise ConfigError(f"{door.__name__} takes its options by name, such as prompt=…")
            made: PromptedJudge = registry.make(make, options, where=door.__name__)
            return door(made)

        signature = inspect.signature(make).replace(return_annotation=inspect.signature(door).return_annotation)
        create.__signature__ = signature  # type: ignore[attr-defined]  # how help() learns of it
        return create

    return decorate


@_with_options_of(PromptedJudge)
def create_llm_as_judge(made: PromptedJudge) -> Callable[..., Any]:
    """Make an evaluator function from a prompt; it takes ``inputs``, ``outputs``, ``reference_outputs`` and more.

    >>> from evenhand import Scripted, create_llm_as_judge
    >>> judge = Scripted(['{"reasoning": "A greeting.", "score": 0.9}'])
    >>> rate = create_llm_as_judge(prompt="Rate: {outputs}", judge=judge, continuous=True)
    >>> result = rate(outputs="Hello world")
    >>> result["key"], result["score"], result["comment"]
    ('score', 0.9, 'A greeting.')

    ``prompt`` is a template, the name of a ready prompt such as ``correctness``, a function, or a LangChain prompt.
    The score is true or false, a number from 0 to 1 with ``continuous``, or one of ``choices``. With
    ``output_schema`` the evaluator returns what that describes instead. Raises ``JudgeError`` when the judge gives no
    usable reply.
    """

    def evaluator(*, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **values: Any) -> Any:
        """Judge with the given values and wait for the result."""
        given = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs, **values}
        return background.run(drive(made.steps(given)))

    return evaluator


@_with_options_of(PromptedJudge)
def create_async_llm_as_judge(made: PromptedJudge) -> Callable[..., Awaitable[Any]]:
    """Make the async twin of ``create_llm_as_judge``: same options, same result, awaited."""

    async def evaluator(
        *, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **values: Any
    ) -> Any:
        """Judge with the given values."""
        given = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs, **values}
        return await drive(made.steps(given))

    return evaluator


def undertaking(
    cases: str | os.PathLike[str] | CaseLike | Iterable[CaseLike],
    evaluators: EvaluatorLike | Iterable[EvaluatorLike] | None = None,
    *,
    target: object = None,
    judge: object = None,
    name: str | None = None,
    store: PlaceLike = "default",
    concurrency: int | None = None,
    repeat: int | None = None,
    cache: bool = True,
    max_calls: int | None = None,
    max_cost: float | None = None,
    timeout: float | None = None,
    thresholds: Thresholds | Mapping[str, float] | None = None,
    gates: Mapping[str, Any] | None = None,
    prices: Mapping[str, Any] | None = None,
    progress: bool | Watcher = False,
) -> Undertaking:
    """Plan a run; these are the options of ``evaluate`` and ``aevaluate``."""
    # The engine, its store and the suites are loaded when there is a run to be made.
    from evenhand.engine.job import Scope  # noqa: PLC0415
    from evenhand.suites.given import job_from  # noqa: PLC0415
    from evenhand.suites.kinship import kinship_notes  # noqa: PLC0415
    from evenhand.suites.suite import read_suite  # noqa: PLC0415

    suite = read_suite(cases) if isinstance(cases, str | os.PathLike) else None
    job = job_from(
        suite or cast("Iterable[CaseLike]", cases),
        evaluators,
        target=target,
        judge=judge,
        name=name,
        thresholds=thresholds,
        gates=gates,
        prices=prices,
        timeout=timeout,
    )
    usual_concurrency = suite.built.concurrency if suite else None
    usual_repeat = suite.built.repeat if suite else 1
    planned = _started(
        job,
        Scope(repeat=usual_repeat if repeat is None else repeat),
        _pace(
            usual_concurrency if concurrency is None else concurrency,
            max_calls=max_calls,
            max_cost=max_cost,
            cache=cache,
        ),
        store=store,
        progress=progress,
    )
    # A suite's notes may be about what does not count, if something else was given.
    notes = suite.notes if suite is not None and evaluators is None and judge is None else []
    for note in (*notes, *kinship_notes(job.definition)):
        _log.warning("%s", note)
    return planned


def _with_options_like(
    other: Callable[Options, object],
) -> Callable[[Callable[..., Made]], Callable[Options, Made]]:
    """Let a door that passes its options on say which they are, to type checkers and ``help``."""

    def decorate(door: Callable[..., Made]) -> Callable[Options, Made]:
        returned = inspect.signature(door).return_annotation
        door.__signature__ = inspect.signature(other).replace(return_annotation=returned)  # type: ignore[attr-defined]
        return door

    return decorate


@_with_options_like(undertaking)
def evaluate(*args: Any, **options: Any) -> Run:
    """Judge cases by evaluators, store every evaluation as it is made, and give the run.

    >>> from evenhand import Case, Contains, evaluate
    >>> cases = [Case(id="france", candidate_answer="Paris"), Case(id="italy", candidate_answer="Milan")]
    >>> run = evaluate(cases, [Contains(value="Paris")], store=None)
    >>> run.summary.cases.passed, run.summary.cases.failed
    (1, 1)

    ``cases`` are ``Case`` objects or mappings with the keys of a suite's case, one or many, from any iterable; or the
    path of a suite, which may bring everything else. ``evaluators`` are objects, definitions as in a suite, or
    functions that give a score for a case. ``judge`` is for definitions without one, ``target`` makes the answers of
    cases that have none. ``store`` is where the run is kept: by default what ``EVENHAND_DB`` names, or
    ``.evenhand/evenhand.db``; None keeps it in memory.

    A judge that fails on a case is that case's error, and raises nothing. A run that cannot go on, since a key is
    refused or ``max_calls`` or ``max_cost`` is reached, raises ``RunStoppedError``, which has the run so far.
    """
    return undertaking(*args, **options).run_and_wait()


@_with_options_like(undertaking)
async def aevaluate(*args: Any, **options: Any) -> Run:
    """Do what ``evaluate`` does, with the same options, on the running event loop.

    Cancelling it lets questions under way end, for ten seconds at most, and stores the run as interrupted.
    """
    return await undertaking(*args, **options).run()


def compare(
    a: str | Run,
    b: str | Run,
    *,
    evaluator: str | None = None,
    limit: int | None = 10,
    anyway: bool = False,
    store: PlaceLike = "default",
) -> Comparison:
    """Compare run B with run A, case by case: is it better, by how much, and how sure is that.

    >>> from evenhand import Case, Contains, compare, evaluate
    >>> def answered(answer):
    ...     cases = [Case(id=f"case-{number}", candidate_answer=answer) for number in range(8)]
    ...     return evaluate(cases, Contains(value="Paris"), store=None)
    >>> found = compare(answered("Rome"), answered("Paris"))
    >>> found.cases.scores.difference, found.cases.scores.test, found.cases.scores.better
    (1.0, 'exact McNemar', True)

    Runs are given as they are, or by their ids, the beginning of these, or as ``last``; ``store`` has those. With
    ``evaluator``, the comparison is by that evaluator and not by whole cases; ``limit`` is how many of the cases that
    changed are listed, None for all. Raises ``ConfigError`` for runs that are not finished, or were not judged by the
    same judges, evaluators, rubrics and thresholds, unless they are to be compared ``anyway``.
    """
    from evenhand.engine.comparing import compare_runs, opened  # noqa: PLC0415
    from evenhand.engine.outcome import Run  # noqa: PLC0415
    from evenhand.suites.judging import judging_differences  # noqa: PLC0415

    for given in (a, b):
        if not isinstance(given, Run | str):
            raise ConfigError(f"compare takes runs, or their ids as text, not {given!r:.80}")
    before, after = (given if isinstance(given, Run) else Run.open(given, store=store) for given in (a, b))
    with opened(before) as ours, opened(after) as theirs:
        return compare_runs(
            ours,
            theirs,
            differing=judging_differences(ours.run.definition, theirs.run.definition),
            evaluator=evaluator,
            limit=limit,
            anyway=anyway,
        )


def score(
    profiles: ProfilesLike,
    *,
    criteria: str,
    judge: object = None,
    max_attempts: int = 3,
    repeat: int = 1,
    name: str | None = None,
    store: PlaceLike = "default",
    concurrency: int | None = None,
    cache: bool = True,
    max_calls: int | None = None,
    max_cost: float | None = None,
    timeout: float | None = None,
    prices: Mapping[str, Any] | None = None,
    progress: bool | Watcher = False,
) -> ScoredProfiles:
    """Score profiles from 0 to 10, each one alone, by the same criteria, and give the scores with what they took.

    >>> from evenhand import Profile, Scripted, score
    >>> judge = Scripted(['{"score": 7.5, "justification": "Ten years on a ward."}'])
    >>> anna = Profile(id="anna", text="A nurse for ten years.")
    >>> scored = score([anna], criteria="Experience", judge=judge, store=None)
    >>> [(one.id, one.score, one.justification) for one in scored]
    [('anna', 7.5, 'Ten years on a ward.')]

    ``profiles`` are ``Profile`` objects, mappings with ``id`` and ``text``, or mere texts, from any iterable; or the
    path of a JSONL or CSV file, or of a folder of text files. The judge sees the criteria and one text. A reply that
    is no JSON, lacks a key, or has a score outside 0 to 10 is asked for again, up to ``max_attempts`` replies; a
    profile for which none can be used has failed, and has no score. With ``repeat`` each is scored several times.

    It is a run like any other: ``store``, the cache and the limits are those of ``evaluate``, and what it raises too.
    """
    from evenhand.engine.job import Scope  # noqa: PLC0415
    from evenhand.profiles.scored import ScoredProfiles  # noqa: PLC0415
    from evenhand.profiles.scoring import Scoring  # noqa: PLC0415
    from evenhand.suites.panel import as_written  # noqa: PLC0415

    work = Scoring(
        profiles=profiles,
        criteria=criteria,
        judge=judge,
        kept=as_written(judge),
        max_attempts=max_attempts,
        name=name,
        prices=prices,
        timeout=timeout,
    )
    pace = _pace(concurrency, max_calls=max_calls, max_cost=max_cost, cache=cache)
    run = _started(work.job(), Scope(repeat=repeat), pace, store=store, progress=progress).run_and_wait()
    return ScoredProfiles(run)


def rank(
    profiles: ProfilesLike,
    *,
    criteria: str,
    judge: object = None,
    design: str = "swiss",
    group_size: int = 10,
    rounds: int | None = None,
    top: int | None = None,
    seed: int = 1,
    max_attempts: int = 3,
    name: str | None = None,
    store: PlaceLike = "default",
    concurrency: int | None = None,
    cache: bool = True,
    max_calls: int | None = None,
    max_cost: float | None = None,
    timeout: float | None = None,
    prices: Mapping[str, Any] | None = None,
    progress: bool | Watcher = False,
) -> RankedProfiles:
    """Rank profiles by criteria, in groups that the judge puts in order, and say how sure each place is.

    >>> from evenhand import Profile, Scripted, rank
    >>> judge = Scripted(['{"reasoning": "Experience.", "order": ["A", "B"]}'] * 5)
    >>> people = [Profile(id="anna", text="Ten years a nurse."), Profile(id="ben", text="A year a nurse.")]
    >>> ranked = rank(people, criteria="Experience", judge=judge, rounds=5, group_size=3, store=None)
    >>> sorted(ranked.order), ranked.position_bias.test.n
    (['anna', 'ben'], 5)

    ``profiles`` are as in ``score``. In each round every profile is in one group, shown under a letter, in an order by
    chance that is kept. ``design`` is ``swiss`` (equals meet, best for a whole order), ``random``, or ``staged``
    (ever fewer of the best, the bargain when only the ``top`` matters). ``rounds`` are 5, or 3 with everybody when
    staged. With ``group_size=2`` pairs are compared, in both orders. A reply that is no exact order of its group is
    asked for again, up to ``max_attempts`` replies.

    From all groups together comes one order, by a Plackett–Luce fit, with an interval on each rank, tiers of those
    that cannot be told apart, and a test of whether the judge favours a slot. It is a run like any other: ``store``,
    the cache and the limits are those of ``evaluate``, and what it raises too.
    """
    from evenhand.engine.job import Scope  # noqa: PLC0415
    from evenhand.profiles.ranking.design import Design  # noqa: PLC0415
    from evenhand.profiles.ranking.job import RankingWork  # noqa: PLC0415
    from evenhand.profiles.ranking.ranked import RankedProfiles  # noqa: PLC0415
    from evenhand.suites.panel import as_written  # noqa: PLC0415

    work = RankingWork(
        profiles=profiles,
        criteria=criteria,
        judge=judge,
        kept=as_written(judge),
        design=Design(name=design, group_size=group_size, rounds=rounds, top=top, seed=seed),
        max_attempts=max_attempts,
        name=name,
        prices=prices,
        timeout=timeout,
    )
    pace = _pace(concurrency, max_calls=max_calls, max_cost=max_cost, cache=cache)
    return RankedProfiles(_started(work.job(), Scope(), pace, store=store, progress=progress).run_and_wait())


@overload
def evaluate_profiles(
    profiles: ProfilesLike, *, mode: Literal["scoring"] = "scoring", **options: Any
) -> ScoredProfiles: ...
@overload
def evaluate_profiles(profiles: ProfilesLike, *, mode: Literal["ranking"], **options: Any) -> RankedProfiles: ...
@overload
def evaluate_profiles(profiles: ProfilesLike, *, mode: str, **options: Any) -> ScoredProfiles | RankedProfiles: ...
def evaluate_profiles(
    profiles: ProfilesLike, *, mode: str = "scoring", **options: Any
) -> ScoredProfiles | RankedProfiles:
    """Evaluate profiles: mode ``scoring`` does what ``score`` does, mode ``ranking`` what ``rank`` does.

    >>> from evenhand import Scripted, evaluate_profiles
    >>> judge = Scripted(['{"score": 7, "justification": "Strong experience."}'])
    >>> [one.score for one in evaluate_profiles(["A nurse."], criteria="Experience", judge=judge, store=None)]
    [7.0]
    """
    doors: dict[str, Callable[..., ScoredProfiles | RankedProfiles]] = {"scoring": score, "ranking": rank}
    if mode not in doors:
        raise ConfigError(f"mode is {mode!r:.80}; it must be 'scoring' or 'ranking'")
    made: ScoredProfiles | RankedProfiles = registry.make(
        doors[mode], {"profiles": profiles, **options}, where="evaluate_profiles"
    )
    return made


def audit(
    design: str | os.PathLike[str] | Mapping[str, Any],
    *,
    judge: object = None,
    repetitions: int | None = None,
    max_attempts: int = 3,
    name: str | None = None,
    store: PlaceLike = "default",
    concurrency: int | None = None,
    cache: bool = True,
    max_calls: int | None = None,
    max_cost: float | None = None,
    timeout: float | None = None,
    progress: bool | Watcher = False,
) -> Audit:
    """Audit a judge: have it score profiles that differ in known ways, and say what each difference is worth to it.

    >>> from evenhand import audit
    >>> design = {
    ...     "template": "{name}, {years} years a nurse.",
    ...     "factors": {"name": ["Anna", "Jonas"], "years": [1, 10]},
    ...     "groups": ["name"],
    ...     "criteria": "Experience",
    ...     "repetitions": 1,
    ... }
    >>> def judge(messages):
    ...     score = 8 if "10 years" in messages[-1]["content"] else 5
    ...     return f'{{"score": {score}, "justification": "By the years."}}'
    >>> found = audit(design, judge=judge, store=None)
    >>> [(one.name, round(one.estimate, 6)) for one in found.effects if one.kind == "main"]
    [('name: Jonas − Anna', 0.0), ('years: 10 − 1', 3.0)]

    ``design`` is a mapping, or the path of a YAML file: a template, factors with their levels, which of them are
    groups that must not matter, and the criteria. ``judge`` and ``repetitions`` count before the design's own. Calls
    that failed are missing, never 0. It is a run like any other: the other options are those of ``score``.
    """
    from evenhand.engine.job import Scope  # noqa: PLC0415
    from evenhand.profiles.audit.audited import Audit  # noqa: PLC0415
    from evenhand.profiles.audit.design import WHAT, Design  # noqa: PLC0415
    from evenhand.profiles.audit.job import auditing  # noqa: PLC0415
    from evenhand.suites.definition import with_paths  # noqa: PLC0415
    from evenhand.suites.mapping_file import read_mapping  # noqa: PLC0415
    from evenhand.suites.panel import as_written  # noqa: PLC0415

    path = Path(design) if isinstance(design, str | os.PathLike) else None
    wanted = Design.of(design) if path is None else Design.of(read_mapping(path, what=WHAT), where=str(path))
    chosen = wanted.judge if judge is None else judge
    planned = auditing(
        wanted if name is None else replace(wanted, name=name),
        source=path,
        repetitions=repetitions,
        judge=with_paths(chosen, None if path is None else path.absolute().parent),
        kept=as_written(chosen),
        max_attempts=max_attempts,
        timeout=timeout,
    )
    pace = _pace(concurrency, max_calls=max_calls, max_cost=max_cost, cache=cache)
    scope = Scope(repeat=planned.design.repetitions)
    return Audit(_started(planned.job(), scope, pace, store=store, progress=progress).run_and_wait())


def _pace(concurrency: int | None, *, max_calls: int | None, max_cost: float | None, cache: bool) -> Pace:
    from evenhand.engine.budget import Limits  # noqa: PLC0415
    from evenhand.engine.job import DEFAULT_CONCURRENCY, Pace  # noqa: PLC0415

    return Pace(
        concurrency=DEFAULT_CONCURRENCY if concurrency is None else concurrency,
        limits=Limits(max_calls=max_calls, max_cost=max_cost),
        use_cache=cache,
    )


def _started(job: Job, scope: Scope, pace: Pace, *, store: PlaceLike, progress: bool | Watcher) -> Undertaking:
    from evenhand.engine.place import Place  # noqa: PLC0415
    from evenhand.engine.undertaking import Undertaking  # noqa: PLC0415

    return Undertaking(job, scope=scope, pace=pace, place=Place.of(store), progress=progress)
