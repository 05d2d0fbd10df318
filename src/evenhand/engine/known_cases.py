"""Cases whose results are there before anybody is asked: stored already, in the cache, or found without a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from evenhand.domain.ask import Ask
from evenhand.domain.run import PlannedCase, RunRecord
from evenhand.engine.estimate import cached_replies
from evenhand.engine.first_steps import all_steps, first_wants
from evenhand.engine.gateway import Gateway
from evenhand.engine.job import Job
from evenhand.store.store import Store


def known_cases(store: Store, run: RunRecord, job: Job, gateway: Gateway) -> tuple[int, ...]:
    """Return the positions of cases that can be judged for nothing, by all that can be known without asking.

    A guess: a case that is not known after all is asked for, and one that is not seen to be is drawn like the others.
    """
    cached = cached_replies(store, gateway)
    return tuple(_known(store, run, job, cached))


def _known(store: Store, run: RunRecord, job: Job, cached: Callable[[Ask, int], bool]) -> Iterator[int]:
    for page in store.planned(run):
        judged = store.judged(run, page[0].position, page[-1].position)
        for planned in page:
            places = ((planned.position, place) for place in range(planned.expected))
            if all((*place, sample) in judged for place in places for sample in range(run.repeat)) or _is_free(
                planned, job, run.repeat, cached
            ):
                yield planned.position


def _is_free(planned: PlannedCase, job: Job, repeat: int, cached: Callable[[Ask, int], bool]) -> bool:
    if job.target is not None and planned.case.candidate_answer is None:
        return False
    try:
        wants = [
            want
            for evaluator in job.evaluators_for(planned)
            for steps, *_ in all_steps(evaluator, planned.case)
            for want in first_wants(steps)
        ]
    except Exception:  # evaluators are anybody's code; what fails here fails again when it is judged, and is reported
        return False
    return all(isinstance(want, Ask) and all(cached(want, sample) for sample in range(repeat)) for want in wants)
