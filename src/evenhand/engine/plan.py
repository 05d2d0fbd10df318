"""Plan a run: check its cases and store all of them before the first judge is asked."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, StoreError, did_you_mean
from evenhand.domain.run import PlannedCase, RunRecord, RunStatus
from evenhand.domain.run_kind import mode_of
from evenhand.engine.decidable import require_decidable
from evenhand.engine.identity import digest_of
from evenhand.engine.job import Job, Scope
from evenhand.engine.programs import PROGRAMS, ProgramSurvey
from evenhand.store.page_size import PAGE
from evenhand.store.rows import case_content, column, dumps
from evenhand.store.store import Store


class EarlierAnswers:
    """The answers that a run has, by the id of their case."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self._run = run

    def put_into(self, planned: PlannedCase) -> PlannedCase:
        """Return a case with the answer that it had in the run; where the target failed there, it has none.

        The question must be the same: an answer to another one would be judged by the wrong measure.
        """
        case = planned.case
        stored = self._store.case_and_answer(self._run, case.id or "")
        if stored is None:
            raise ConfigError(
                f"case {case.id!r}: run {self._run.id} has no case of that id, and so no answer to judge; "
                "leave the case out with --only, or drop --answers-from"
            )
        before, answer = stored
        if before.question != case.question or before.input_messages != case.input_messages:
            raise ConfigError(
                f"case {case.id!r}: its input is not the one that run {self._run.id} answered; "
                "drop --answers-from, or give the case another id"
            )
        return planned._replace(case=_with_answer_of(case, before) if answer is None else answer.put_into(case))


def _with_answer_of(case: Case, before: Case) -> Case:
    return replace(
        case,
        candidate_answer=before.candidate_answer,
        output_messages=before.output_messages,
        latency=before.latency,
        cost=before.cost,
    )


_IDS_SHOWN = 2000
HAS_ANSWER = "it has a candidate_answer, and the suite has several targets to answer it; leave out one or the other"


class Written(NamedTuple):
    """A case that a run takes: its place, how many evaluators judge it, and its content with the hash of that."""

    position: int
    given: PlannedCase
    hash: str
    expected: int
    content: str

    def row(self, run: RunRecord) -> tuple[Any, ...]:
        """Write the case for the store."""
        return (run.number, self.position, self.given.case.id, self.hash, self.expected, self.content)


def plan(store: Store, job: Job, scope: Scope, *, forked_from: str | None = None) -> RunRecord:
    """Make a run from a job. If one case has a mistake, there is no run, and nothing was asked."""
    run = begin(store, job, scope, forked_from=forked_from)
    try:
        return fill(store, run, job, scope)
    except Exception:
        with contextlib.suppress(StoreError):  # the first trouble is the one to report
            undo(store, run)
        raise


def begin(store: Store, job: Job, scope: Scope, *, forked_from: str | None = None) -> RunRecord:
    """Make a run whose cases are still to come."""
    return store.runs.create(
        name=job.name,
        source=job.source,
        definition=job.definition,
        options=scope.as_dict(),
        repeat=scope.repeat,
        forked_from=forked_from,
    )


def undo(store: Store, run: RunRecord) -> None:
    """Take back a run that could not be planned."""
    store.runs.mark(run, RunStatus.STOPPED, "planning failed")  # lets go of it, so that it can be deleted
    store.runs.delete(run)


def fill(store: Store, run: RunRecord, job: Job, scope: Scope) -> RunRecord:
    """Put the cases into a run, and the fingerprints of its programs into its options.

    There are many short transactions, so that others can write in between.
    """
    programs = ProgramSurvey.of(job)
    count = _store_cases(store, run, planned_cases(store, job, scope, programs))
    if not count:
        advice = "give at least one" if job.source is None else "list some under cases"
        raise ConfigError(f"{job.source or job.name}: there are no cases; {advice}")
    if programs.fingerprints:
        store.runs.set_options(run, {**run.options, PROGRAMS: programs.fingerprints.as_dict()})
    return store.runs.mark(run, RunStatus.RUNNING, cases=count)


def extend(store: Store, run: RunRecord, job: Job) -> RunRecord | None:
    """Put the cases into a run that follow from what was found so far; None where nothing follows.

    They come all or not at all: half of them would lead to others than the whole.
    """
    following = job.following
    if following is None:
        return None

    def store_all() -> RunRecord | None:
        cases = following.cases(store, run)  # before anything is locked: it may take long to work out
        with store.transaction():
            count = _store_cases(store, run, _written_cases(job, cases, first=run.cases))
            return store.runs.mark(run, RunStatus.RUNNING, cases=run.cases + count) if count else None

    return store.repeated(store_all)


def _store_cases(store: Store, run: RunRecord, cases: Iterator[Written]) -> int:
    """Write cases into the store page by page, and return how many they were."""
    count = 0
    # As rows, in which nothing is left of the case but what is stored.
    while page := [written.row(run) for written in itertools.islice(cases, PAGE)]:
        try:
            store.add_cases(page)
        except StoreError:
            _refuse_doubles(store, run, page)
            raise
        count += len(page)
    return count


def planned_cases(store: Store, job: Job, scope: Scope, programs: ProgramSurvey | None = None) -> Iterator[Written]:
    """Return the cases that a run takes; ``programs`` looks at what judges each."""
    earlier = None if scope.answers_from is None else EarlierAnswers(store, store.runs.find(scope.answers_from))
    noun = "case" if mode_of(job.definition) is None else "profile"
    cases = selected(job.cases(), scope, noun=noun)
    if job.assign is not None:
        assigned = map(job.assign, cases if earlier is not None else _without_answers(cases))
        cases = itertools.chain.from_iterable(assigned)
    written = _written_cases(job, cases, earlier=earlier, programs=programs)
    if scope.batch:
        written = _batchable(job, scope, written)
    if scope.until_decided is None:
        return written
    require_decidable(job)  # before a long file is read
    return _decidable(job, written)


def _decidable(job: Job, cases: Iterable[Written]) -> Iterator[Written]:
    """Pass cases on, and refuse them in the end if gates on them cannot be decided early."""
    count, clustered = 0, False
    for written in cases:
        count += 1
        clustered = clustered or written.given.case.cluster is not None
        yield written
    require_decidable(job, cases=count, clustered=clustered)


def _batchable(job: Job, scope: Scope, cases: Iterable[Written]) -> Iterator[Written]:
    """Pass cases on, and refuse those that cannot be asked in batches."""
    from evenhand.engine.batchable import BatchCheck  # noqa: PLC0415 - few runs ask in batches

    batches = BatchCheck(job, scope)
    for written in cases:
        batches.check(written.given)
        yield written


def _without_answers(cases: Iterable[PlannedCase]) -> Iterator[PlannedCase]:
    """Refuse cases that have answers: of several targets, none would be asked, and each be given the same score."""
    for planned in cases:
        if planned.case.candidate_answer is not None:
            raise ConfigError(f"case {planned.case.id!r}: {HAS_ANSWER}")
        yield planned


def _written_cases(
    job: Job,
    cases: Iterable[PlannedCase],
    *,
    first: int = 0,
    earlier: EarlierAnswers | None = None,
    programs: ProgramSurvey | None = None,
) -> Iterator[Written]:
    for position, planned in enumerate(cases, first):
        _refuse_odd_id(planned.case.id or "")
        answered = planned if earlier is None else earlier.put_into(planned)
        content = case_content(answered)
        try:
            written, identity = dumps(content), digest_of(content)
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigError(f"case {answered.case.id!r} cannot be written as JSON: {error}") from None
        evaluators = job.evaluators_for(answered)
        if programs is not None:
            programs.add(evaluators)
        yield Written(position, answered, identity, len(evaluators), written)


def selected(cases: Iterable[PlannedCase], scope: Scope, *, noun: str = "case") -> Iterator[PlannedCase]:
    """Yield the cases that ``only`` and ``limit`` leave. Those left out are read all the same, and checked.

    ``noun`` is what a case of the run is.
    """
    taken = 0
    missed = set(scope.only)
    ids: list[str] = []
    for planned in cases:
        identity = planned.case.id or ""
        if scope.only:
            matching = {pattern for pattern in scope.only if _matches(identity, pattern)}
            missed -= matching
            if len(ids) < _IDS_SHOWN:
                ids.append(identity)
            if not matching:
                continue
        if scope.limit is None or taken < scope.limit:
            taken += 1
            yield planned
    for pattern in scope.only:
        if pattern in missed:
            hint = did_you_mean(pattern, ids)
            raise ConfigError(f"no {noun} has the id {pattern!r}{hint if len(ids) <= 10 else hint.split('; known')[0]}")


def _matches(identity: str, pattern: str) -> bool:
    # An id may have brackets in it, which a pattern would take for something else.
    return identity == pattern or fnmatchcase(identity, pattern)


def _refuse_odd_id(identity: str) -> None:
    """Refuse an id that the store could only keep as another one."""
    if column(identity) != identity:
        raise ConfigError(f"case {identity!r}: its id contains characters that a database cannot store; remove them")


def _refuse_doubles(store: Store, run: RunRecord, page: list[tuple[Any, ...]]) -> None:
    """Say which ids are there twice, where that is why the store refused them."""
    # Those before this page: of the page itself none is there, or all of them, if only word of the commit was lost.
    (_, first, *_), *_ = page
    seen = {identity for identity, _ in itertools.islice(store.hashes(run), first)}
    for _, _, identity, *_ in page:
        if identity in seen:
            raise ConfigError(f"two cases have the id {identity!r}; ids must differ") from None
        seen.add(identity or "")


def with_id(case: PlannedCase, taken: dict[str, int]) -> PlannedCase:
    """Name a case that has no id by its content; equal ones are numbered."""
    if case.case.id is not None:
        return case
    named = f"case-{digest_of(case_content(case))[:8]}"
    taken[named] = number = taken.get(named, 0) + 1
    return case._replace(case=replace(case.case, id=named if number == 1 else f"{named}-{number}"))
