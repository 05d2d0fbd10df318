"""A plain Python function as an evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from evenhand.domain.ask import Call, Steps
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Raised, Returned
from evenhand.domain.scale import is_finite_number
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.value_text import shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionEvaluator(BaseEvaluator):
    """Calls a function, sync or async, with the case.

    >>> short = FunctionEvaluator(name="short", function=lambda case: len(case.candidate_answer) < 80)
    >>> short.evaluate(Case(candidate_answer="Paris")).score
    1.0

    It returns a score from 0 to 1, true or false, a mapping with ``score`` and ``reasoning`` (or ``comment``), a whole
    ``Evaluation``, or None where there is nothing to judge. If it raises, that is an error, and no bad answer.
    """

    type: ClassVar[str] = "function"

    function: Callable[[Case], Any]

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Let the function judge a case."""
        (answer,) = yield (Call(function=self.function, args=(case,)),)
        match answer:
            case Returned(value=Evaluation() as evaluation):
                return replace(evaluation, evaluator=self.name)
            case Returned(value=Mapping() as result):
                rest = {
                    str(key): value for key, value in result.items() if key not in {"score", "reasoning", "comment"}
                }
                return self._read(
                    result.get("score"), str(result.get("reasoning") or result.get("comment") or ""), rest
                )
            case Returned(value=value):
                return self._read(value, "", {})
            case Raised() as raised:
                return self.failed(raised.failure(shortened))
            case _:
                raise TypeError(f"a Call is answered by Returned or Raised, not {type(answer).__name__}")

    def _read(self, score: object, reasoning: str, details: dict[str, Any]) -> Evaluation:
        score = score.item() if hasattr(score, "item") else score  # numbers of numpy's kind
        if score is None:
            return self.not_evaluated(reasoning or "the function gave no score", details=details)
        if isinstance(score, bool) or (is_finite_number(score) and 0 <= score <= 1):
            return self.scored(float(score), score_raw=score, reasoning=reasoning, details=details)
        return self.failed(
            Failure("contract", f"the function returned {score!r:.80}; a score is from 0 to 1, or true or false")
        )
