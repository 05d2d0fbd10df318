"""What is still to be done of a run, read from its store page by page."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from evenhand.domain.ask import Evaluator
from evenhand.domain.evaluation import Status
from evenhand.domain.run import MadeAnswer, PlannedCase, RunRecord
from evenhand.engine.concurrency_limit import is_refusal
from evenhand.engine.job import Job
from evenhand.store.rows import planned_from
from evenhand.store.store import Store


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


def remaining_work(
    store: Store, run: RunRecord, job: Job, *, first: int, resuming: bool, retry_errors: bool
) -> Iterator[Work]:
    """Yield the samples of cases, from the ``first`` on, about which something is to be done."""
    for page in store.case_rows(run, first=first):
        start, end = page[0][0], page[-1][0]
        judged = store.judged(run, start, end) if resuming else {}
        answered = {} if job.target is None else store.answered(run, start, end)
        for planned in itertools.starmap(planned_from, page):  # when its turn comes, so that few are in memory
            evaluators = job.evaluators_for(planned)
            for sample in range(run.repeat):
                if todo := _todo(planned.position, sample, evaluators, judged, retry_errors=retry_errors):
                    rounds = answered.get((planned.position, sample))
                    yield Work(planned, sample, todo, rounds[-1] if rounds else None)


def _todo(
    position: int,
    sample: int,
    evaluators: Sequence[Evaluator],
    judged: Mapping[tuple[int, int, int], tuple[int, str, str]],
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
