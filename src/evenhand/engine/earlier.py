"""Answers of an earlier run, to be judged again without making them anew."""

from __future__ import annotations

from dataclasses import replace

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import PlannedCase, RunRecord
from evenhand.store.store import Store


class EarlierAnswers:
    """The answers that a run has, by the id of their case."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self._run = run

    def put_into(self, planned: PlannedCase) -> PlannedCase:
        """Give a case the answer that it had in the run; where the target failed there, it has none.

        The question must be the same: an answer to another one would be judged by the wrong measure.
        """
        case = planned.case
        found = self._store.case_and_answer(self._run, case.id or "")
        if found is None:
            raise ConfigError(
                f"case {case.id!r}: run {self._run.id} has no case of that id, and so no answer to judge; "
                "leave the case out with --only, or drop --answers-from"
            )
        before, made = found
        if before.question != case.question or before.input_messages != case.input_messages:
            raise ConfigError(
                f"case {case.id!r}: its input is not the one that run {self._run.id} answered; "
                "drop --answers-from, or give the case another id"
            )
        return planned._replace(case=_answered(case, before) if made is None else made.put_into(case))


def _answered(case: Case, before: Case) -> Case:
    return replace(
        case,
        candidate_answer=before.candidate_answer,
        output_messages=before.output_messages,
        latency=before.latency,
        cost=before.cost,
    )
