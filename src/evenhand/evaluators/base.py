"""What all evaluators have: a name, a weight, thresholds, and the two ways to be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, require_flag
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.rubric import is_weight
from evenhand.domain.verdict import Thresholds, Verdict
from evenhand.drive import background, telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseEvaluator(ABC):
    """An evaluator: subclasses say in ``steps`` how a case is judged, and get ``evaluate`` and ``aevaluate``."""

    type: ClassVar[str]

    name: str = ""
    weight: float = 1.0
    required: bool = False
    thresholds: Thresholds | Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ConfigError(f"{self.type}: name must be text, not {self.name!r}", key="name")
        self._set("name", self.name or self.type)
        if not is_weight(self.weight):
            raise ConfigError(
                f"{self.where}: weight is {self.weight!r:.80}; it must be a finite number, 0 or more", key="weight"
            )
        require_flag(self.required, "required", where=self.where)
        try:
            self._set("thresholds", Thresholds.of(self.thresholds))
        except ConfigError as error:
            raise error.within(self.where, key="thresholds") from None

    def _set(self, field: str, value: object) -> None:
        """Put the settled form of an option in place of what the user wrote."""
        object.__setattr__(self, field, value)

    @property
    def where(self) -> str:
        """Name the evaluator in messages."""
        return self.type if self.name == self.type else f"{self.type} {self.name!r}"

    @property
    def marks(self) -> Thresholds:
        """The thresholds, settled."""
        return self.thresholds  # type: ignore[return-value]  # since it was made

    @abstractmethod
    def steps(self, case: Case) -> Steps[Evaluation]:
        """Work out the evaluation of a case, step by step."""

    async def aevaluate(self, case: Case, *, timeout: float | None = None) -> Evaluation:
        """Evaluate a case; ``timeout`` bounds all of it, in seconds."""
        if not isinstance(case, Case):
            raise ConfigError(
                f"{self.where}: it evaluates a Case, not {type(case).__name__}; write Case(candidate_answer=…)"
            )
        evaluation = await telemetry.evaluate(self, case, timeout=timeout)
        if not isinstance(evaluation, Evaluation):
            raise TypeError(f"{self.where}: steps must return an Evaluation, not {type(evaluation).__name__}")
        return evaluation

    def evaluate(self, case: Case, *, timeout: float | None = None) -> Evaluation:
        """Evaluate a case and wait for it: also in notebooks, from threads, and after a fork."""
        return background.run(self.aevaluate(case, timeout=timeout))

    def scored(self, score: float, *, verdict: Verdict | None = None, **rest: Any) -> Evaluation:
        """Return this evaluator's evaluation of an answer; the verdict is by the thresholds unless given."""
        return Evaluation(
            evaluator=self.name,
            type=self.type,
            status=Status.SCORED,
            score=float(score),
            verdict=verdict or self.marks.verdict(score),
            **rest,
        )

    def not_evaluated(self, reasoning: str, **rest: Any) -> Evaluation:
        """Return the evaluation of a case that has nothing to judge; the reasoning says what was missing."""
        return Evaluation.without_score(evaluator=self.name, type=self.type, reasoning=reasoning, **rest)

    def failed(self, error: str, **rest: Any) -> Evaluation:
        """Return this evaluator's evaluation when the judge failed."""
        return Evaluation.with_error(evaluator=self.name, type=self.type, error=error, **rest)


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
