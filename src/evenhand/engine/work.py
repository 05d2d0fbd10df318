"""What is still to be done of a run, read from its store page by page."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from evenhand.domain.ask import Evaluator
from evenhand.domain.evaluation import Status
from evenhand.domain.run import MadeAnswer, PlannedCase, RunRecord
from evenhand.engine.concurrency_limit import is_refusal
from evenhand.engine.job import Job
from evenhand.store.records import refuse_damage
from evenhand.store.results import planned_at
from evenhand.store.rows import planned_from
from evenhand.store.store import Store

# By position, place and sample: the last round, its status, and its error.
_Judged: TypeAlias = Mapping[tuple[int, int, int], tuple[int, str, str]]


# Tuples: one of each is made for every evaluation, and a frozen dataclass takes four times as long.
class Todo(NamedTuple):
    """An evaluation to be made: which evaluator of the case, for which sample, and for how manieth time."""

    place: int
    evaluator: Evaluator
    sample: int
    round: int


class Work(NamedTuple):
    """A sample of a case: the evaluations still to be made, and the answer to judge, if the target made one already."""

    planned: PlannedCase
    sample: int
    todo: list[Todo]
    made: MadeAnswer | None


def evaluation_place(position: int, place: int, sample: int, number: int) -> str:
    """Return what tells an evaluation from all others of a run."""
    return f"{position} {place} {sample} {number}"


def answer_place(position: int, sample: int, number: int) -> str:
    """Return what tells an answer of the target from all others of a run."""
    return f"answer {position} {sample} {number}"


def remaining_work(
    store: Store, run: RunRecord, job: Job, *, first: int, resuming: bool, retry_errors: bool
) -> Iterator[Work]:
    """Yield the samples of cases, from the ``first`` on, about which something is to be done."""
    for page in store.case_rows(run, first=first):
        start, end = page[0][0], page[-1][0]
        judged = store.judged(run, start, end) if resuming else {}
        answered = {} if job.target is None else store.answered(run, start, end)
        for planned in itertools.starmap(planned_from, page):  # when its turn comes, so that few are in memory
            yield from _work_on(planned, run, job, judged, answered, retry_errors=retry_errors)


# Cases that are read at once, in the drawn order: those of a stop are read for nothing.
_DRAWN_PAGE: Final = 32


def drawn_work(
    store: Store, run: RunRecord, job: Job, order: Sequence[int], *, resuming: bool, retry_errors: bool
) -> Iterator[Work]:
    """Yield the samples of cases about which something is to be done, the cases in a given order of positions."""
    for start in range(0, len(order), _DRAWN_PAGE):
        positions = order[start : start + _DRAWN_PAGE]
        page = planned_at(store, run, positions)
        for position in positions:
            if position not in page:
                refuse_damage(run, f"of its cases, the one at position {position} is missing")
            judged = store.judged(run, position, position) if resuming else {}
            answered = {} if job.target is None else store.answered(run, position, position)
            yield from _work_on(page[position], run, job, judged, answered, retry_errors=retry_errors)


def _work_on(
    planned: PlannedCase,
    run: RunRecord,
    job: Job,
    judged: _Judged,
    answered: Mapping[tuple[int, int], Sequence[MadeAnswer]],
    *,
    retry_errors: bool,
) -> Iterator[Work]:
    evaluators = job.evaluators_for(planned)
    for sample in range(run.repeat):
        if todo := _todo(planned.position, sample, evaluators, judged, retry_errors=retry_errors):
            rounds = answered.get((planned.position, sample))
            yield Work(planned, sample, todo, rounds[-1] if rounds else None)


def _todo(
    position: int,
    sample: int,
    evaluators: Sequence[Evaluator],
    judged: _Judged,
    *,
    retry_errors: bool,
) -> list[Todo]:
    if not judged:
        return [Todo(place, evaluator, sample, 0) for place, evaluator in enumerate(evaluators)]
    todo = []
    for place, evaluator in enumerate(evaluators):
        latest = judged.get((position, place, sample))
        if latest is None:
            todo.append(Todo(place, evaluator, sample, 0))
            continue
        number, status, error = latest
        if status == Status.ERROR and (retry_errors or is_refusal(error)):
            todo.append(Todo(place, evaluator, sample, number + 1))
    return todo
