"""Profiles: scored, ranked, and used to audit a judge."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from evenhand import registry
from evenhand.api.runs import execution_of
from evenhand.domain.errors import ConfigError

if TYPE_CHECKING:
    from evenhand.engine.execution import Watcher
    from evenhand.engine.store_location import PlaceLike
    from evenhand.evaluators.reading import Ambiguous
    from evenhand.profiles.audit.audit import Audit
    from evenhand.profiles.ranking.ranked_profiles import RankedProfiles
    from evenhand.profiles.scored_profiles import ScoredProfiles
    from evenhand.profiles.sources import ProfilesLike


def score(
    profiles: ProfilesLike,
    *,
    criteria: str,
    judge: object = None,
    pass_mark: float | None = None,
    max_attempts: int | None = None,
    max_retries: int | None = None,
    ambiguous: Ambiguous = "ask_again",
    repeat: int = 1,
    name: str | None = None,
    store: PlaceLike = "default",
    concurrency: int | None = None,
    on: str | None = None,
    workers: int | None = None,
    worker_env: Sequence[str] = (),
    cache: bool = True,
    max_calls: int | None = None,
    max_cost: float | None = None,
    timeout: float | None = None,
    outage_timeout: float | None = None,
    max_consecutive_errors: int | None = None,
    prices: Mapping[str, Any] | None = None,
    progress: bool | Watcher = False,
) -> ScoredProfiles:
    """Score profiles from 0 to 10, each on its own, by the same criteria.

    >>> from evenhand import Profile, Scripted, score
    >>> judge = Scripted(['{"score": 7.5, "justification": "Ten years on a ward."}'])
    >>> anna = Profile(id="anna", text="A nurse for ten years.")
    >>> scored = score([anna], criteria="Experience", judge=judge, store=None)
    >>> [(profile.id, profile.score, profile.justification) for profile in scored]
    [('anna', 7.5, 'Ten years on a ward.')]

    ``profiles`` are ``Profile`` objects, mappings with ``id`` and ``text``, or plain texts, from any iterable; or the
    path of a JSONL, CSV or Parquet file, or of a folder of text files. The judge sees the criteria and one text. If a
    reply is not JSON, lacks a key, or has a score outside 0 to 10, the judge is asked again, up to ``max_attempts``
    replies (3 by default; ``max_retries`` is one less, and can be given instead); a profile without a usable reply has
    failed, and has no score. So with several different verdicts in one reply, unless ``ambiguous`` says that the
    ``first`` or the ``last`` counts. With ``repeat`` each is scored several times. No profile passes or fails, unless a
    ``pass_mark`` from 0 to 10 says from which score on one passes.

    The result is a run like any other: ``store``, the cache, the limits and the errors are those of ``evaluate``.
    """
    from evenhand.engine.job import Pace, Scope  # noqa: PLC0415
    from evenhand.evaluators.asking import check_attempts  # noqa: PLC0415
    from evenhand.profiles.job import ScoringJob  # noqa: PLC0415
    from evenhand.profiles.scored_profiles import ScoredProfiles  # noqa: PLC0415
    from evenhand.suites.python_evaluators import as_written  # noqa: PLC0415

    work = ScoringJob(
        profiles=profiles,
        criteria=criteria,
        judge=judge,
        kept=as_written(judge),
        pass_mark=pass_mark,
        max_attempts=check_attempts(max_attempts, max_retries, where="score"),
        ambiguous=ambiguous,
        name=name,
        prices=prices,
        timeout=timeout,
    )
    pace = Pace.of(
        concurrency=concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        use_cache=cache,
        outage_timeout=outage_timeout,
        max_consecutive_errors=max_consecutive_errors,
    )
    run = execution_of(
        work.job(),
        Scope(repeat=repeat),
        pace,
        store=store,
        progress=progress,
        on=on,
        workers=workers,
        worker_env=worker_env,
    ).run_and_wait()
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
    max_attempts: int | None = None,
    max_retries: int | None = None,
    ambiguous: Ambiguous = "ask_again",
    name: str | None = None,
    store: PlaceLike = "default",
    concurrency: int | None = None,
    on: str | None = None,
    workers: int | None = None,
    worker_env: Sequence[str] = (),
    cache: bool = True,
    max_calls: int | None = None,
    max_cost: float | None = None,
    timeout: float | None = None,
    outage_timeout: float | None = None,
    max_consecutive_errors: int | None = None,
    prices: Mapping[str, Any] | None = None,
    progress: bool | Watcher = False,
) -> RankedProfiles:
    """Rank profiles by criteria, in groups that the judge puts in order, with a confidence interval for each rank.

    >>> from evenhand import Profile, Scripted, rank
    >>> judge = Scripted(['{"reasoning": "Experience.", "order": ["A", "B"]}'] * 5)
    >>> people = [Profile(id="anna", text="Ten years a nurse."), Profile(id="ben", text="A year a nurse.")]
    >>> ranked = rank(people, criteria="Experience", judge=judge, rounds=5, group_size=3, store=None)
    >>> sorted(ranked.order), ranked.position_bias.test.n
    (['anna', 'ben'], 5)

    ``profiles`` are as in ``score``. In each round every profile is in one group, labelled with a letter, in a random
    order that is stored. ``design`` is ``swiss`` (groups similar profiles, for a full ranking), ``random``, or
    ``staged`` (keeps only the best each stage, cheaper if only the ``top`` matters). ``rounds`` defaults to 5, or to 3
    with all profiles if staged. With ``group_size=2`` pairs are compared, in both orders. If a reply is not an exact
    order of its group, the judge is asked again, up to ``max_attempts`` replies; ``ambiguous`` is as in ``score``.

    A Plackett–Luce fit over all groups gives one ranking, with a confidence interval for each rank, tiers of profiles
    that cannot be told apart, and a test for position bias. The result is a run like any other: ``store``, the cache,
    the limits and the errors are those of ``evaluate``.
    """
    from evenhand.engine.job import Pace, Scope  # noqa: PLC0415
    from evenhand.evaluators.asking import check_attempts  # noqa: PLC0415
    from evenhand.profiles.ranking.design import RankingDesign  # noqa: PLC0415
    from evenhand.profiles.ranking.job import RankingJob  # noqa: PLC0415
    from evenhand.profiles.ranking.ranked_profiles import RankedProfiles  # noqa: PLC0415
    from evenhand.suites.python_evaluators import as_written  # noqa: PLC0415

    work = RankingJob(
        profiles=profiles,
        criteria=criteria,
        judge=judge,
        kept=as_written(judge),
        design=RankingDesign(name=design, group_size=group_size, rounds=rounds, top=top, seed=seed),
        max_attempts=check_attempts(max_attempts, max_retries, where="rank"),
        ambiguous=ambiguous,
        name=name,
        prices=prices,
        timeout=timeout,
    )
    pace = Pace.of(
        concurrency=concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        use_cache=cache,
        outage_timeout=outage_timeout,
        max_consecutive_errors=max_consecutive_errors,
    )
    return RankedProfiles(
        execution_of(
            work.job(), Scope(), pace, store=store, progress=progress, on=on, workers=workers, worker_env=worker_env
        ).run_and_wait()
    )


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
    """Evaluate profiles: ``score`` them in mode ``scoring``, ``rank`` them in mode ``ranking``.

    >>> from evenhand import Scripted, evaluate_profiles
    >>> judge = Scripted(['{"score": 7, "justification": "Strong experience."}'])
    >>> scored = evaluate_profiles(["A nurse."], criteria="Experience", judge=judge, store=None)
    >>> [profile.score for profile in scored]
    [7.0]
    """
    functions: dict[str, Callable[..., ScoredProfiles | RankedProfiles]] = {"scoring": score, "ranking": rank}
    if mode not in functions:
        raise ConfigError(f"mode is {mode!r:.80}; it must be 'scoring' or 'ranking'")
    evaluated: ScoredProfiles | RankedProfiles = registry.make(
        functions[mode], {"profiles": profiles, **options}, where="evaluate_profiles"
    )
    return evaluated


def audit(
    design: str | os.PathLike[str] | Mapping[str, Any],
    *,
    judge: object = None,
    repetitions: int | None = None,
    max_attempts: int | None = None,
    max_retries: int | None = None,
    ambiguous: Ambiguous = "ask_again",
    name: str | None = None,
    store: PlaceLike = "default",
    concurrency: int | None = None,
    on: str | None = None,
    workers: int | None = None,
    worker_env: Sequence[str] = (),
    cache: bool = True,
    max_calls: int | None = None,
    max_cost: float | None = None,
    timeout: float | None = None,
    outage_timeout: float | None = None,
    max_consecutive_errors: int | None = None,
    progress: bool | Watcher = False,
) -> Audit:
    """Audit a judge: let it score profiles that differ in known ways, and measure the effect of each difference.

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
    >>> audited = audit(design, judge=judge, store=None)
    >>> [(effect.name, round(effect.estimate, 6)) for effect in audited.effects if effect.kind == "main"]
    [('name: Jonas − Anna', 0.0), ('years: 10 − 1', 3.0)]

    ``design`` is a mapping, or the path of a YAML file: a template, factors with their levels, which of them are
    groups that must not matter, and the criteria. ``judge`` and ``repetitions`` take precedence over the design's own.
    Failed calls are missing values, never 0. The result is a run like any other: the other options are those of
    ``score``.
    """
    from evenhand.engine.job import Pace, Scope  # noqa: PLC0415
    from evenhand.evaluators.asking import check_attempts  # noqa: PLC0415
    from evenhand.profiles.audit.audit import Audit  # noqa: PLC0415
    from evenhand.profiles.audit.design import WHAT, AuditDesign  # noqa: PLC0415
    from evenhand.profiles.audit.job import audit_job  # noqa: PLC0415
    from evenhand.suites.definition import with_paths  # noqa: PLC0415
    from evenhand.suites.document import read_mapping  # noqa: PLC0415
    from evenhand.suites.python_evaluators import as_written  # noqa: PLC0415

    path = Path(design) if isinstance(design, str | os.PathLike) else None
    audited = AuditDesign.of(design) if path is None else AuditDesign.of(read_mapping(path, what=WHAT), where=str(path))
    judge = audited.judge if judge is None else judge
    planned = audit_job(
        audited if name is None else replace(audited, name=name),
        source=path,
        repetitions=repetitions,
        judge=with_paths(judge, None if path is None else path.absolute().parent),
        kept=as_written(judge),
        max_attempts=check_attempts(max_attempts, max_retries, where="audit"),
        ambiguous=ambiguous,
        timeout=timeout,
    )
    pace = Pace.of(
        concurrency=concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        use_cache=cache,
        outage_timeout=outage_timeout,
        max_consecutive_errors=max_consecutive_errors,
    )
    scope = Scope(repeat=planned.design.repetitions)
    return Audit(
        execution_of(
            planned.job(), scope, pace, store=store, progress=progress, on=on, workers=workers, worker_env=worker_env
        ).run_and_wait()
    )
