"""Whether a run can be asked in batches: who is asked, as far as one can see before anything is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from evenhand.domain.ask import Ask, Evaluator, ModelClient
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import PlannedCase
from evenhand.engine.first_steps import all_steps, first_wants
from evenhand.engine.job import Job, Scope
from evenhand.models.batches.catalogue import batch_protocol_of

# In place of an answer that is still to be made: without one, nothing would be judged.
_SOME_ANSWER: Final = "."


class BatchCheck:
    """Refuses what cannot be asked in batches, by name: runs at once, models with the first case that asks them."""

    def __init__(self, job: Job, scope: Scope) -> None:
        if scope.until_decided is not None:
            raise ConfigError(
                "batch: with until_decided, cases are judged one after the other, which takes a batch each; "
                "leave out one"
            )
        if job.following is not None:
            raise ConfigError("batch: later cases of this run depend on earlier ones; leave out batch")
        self._models = ModelsAsked(job)

    def check(self, planned: PlannedCase) -> None:
        """Look at the models that a case is asked of."""
        for client in self._models.first_asked_for(planned):
            batch_protocol_of(client)


class ModelsAsked:
    """The models that cases are asked of, each told once: judges, and the target where it is a model."""

    def __init__(self, job: Job) -> None:
        self._job = job
        # By object, which is kept, so that no other can come to have its number.
        self._told: dict[int, ModelClient] = {}
        self._known: dict[int, Evaluator] = {}

    def first_asked_for(self, planned: PlannedCase) -> Iterator[ModelClient]:
        """Yield the models that are asked for a case, and for none before it."""
        job, case = self._job, planned.case
        if job.target is not None and case.candidate_answer is None:
            if (client := job.target.client_for(case)) is not None:
                yield from self._new(client)
            case = replace(case, candidate_answer=_SOME_ANSWER)
        for evaluator in job.evaluators_for(planned):
            if id(evaluator) in self._known:
                continue
            for steps, _, _ in all_steps(evaluator, case):
                for want in first_wants(steps):
                    if planned.evaluators is None:  # one that judges other cases too
                        self._known[id(evaluator)] = evaluator
                    if isinstance(want, Ask):
                        yield from self._new(want.judge)

    def _new(self, client: ModelClient) -> Iterator[ModelClient]:
        if id(client) not in self._told:
            self._told[id(client)] = client
            yield client
