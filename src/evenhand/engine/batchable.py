"""Whether a run can be asked in batches: who is asked, as far as one can see before anything is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evenhand.domain.ask import Ask, ModelClient
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import PlannedCase
from evenhand.engine.first_steps import all_steps, first_wants
from evenhand.engine.job import Job, Scope
from evenhand.models.batches.catalogue import batch_protocol_of


def require_batchable(job: Job, scope: Scope, cases: Iterable[PlannedCase]) -> None:
    """Refuse what cannot be asked in batches, by name."""
    if scope.until_decided is not None:
        raise ConfigError(
            "batch: with until_decided, cases are judged one after the other, which takes a batch each; leave out one"
        )
    if job.following is not None:
        raise ConfigError("batch: later cases of this run depend on earlier ones; leave out batch")
    for client in models_of(job, cases):
        batch_protocol_of(client)


def models_of(job: Job, cases: Iterable[PlannedCase]) -> Iterator[ModelClient]:
    """Yield the models that cases are asked of, each once: judges, and the target where it is a model."""
    told: set[int] = set()
    known: set[int] = set()
    for planned in cases:
        client = None if job.target is None else job.target.client_for(planned.case)
        if client is not None and id(client) not in told:
            told.add(id(client))
            yield client
        for evaluator in job.evaluators_for(planned):
            if id(evaluator) in known:
                continue
            for steps, _, _ in all_steps(evaluator, planned.case):
                for want in first_wants(steps):
                    known.add(id(evaluator))
                    if isinstance(want, Ask) and id(want.judge) not in told:
                        told.add(id(want.judge))
                        yield want.judge
