"""An evaluator that judges nothing and says why: answers are made and kept, and marked as not evaluated (SPEC-M3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.evaluators.base import BaseEvaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged(BaseEvaluator):
    """Leaves every case not evaluated, for the reason given.

    >>> from evenhand import Case
    >>> str(Unjudged(why="There are no criteria.").evaluate(Case(candidate_answer="x")).status)
    'not_evaluated'
    """

    type: ClassVar[str] = "unjudged"

    why: str = "Nothing says how to judge it."

    def steps(self, case: Case) -> Steps[Evaluation]:  # noqa: ARG002
        """Judge nothing."""
        return self.not_evaluated(self.why)
        yield  # a step generator that asks for nothing
