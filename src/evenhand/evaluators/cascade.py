"""Judges one after the other: a cheap one first, a stronger one where it is not sure, and people for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal, cast

from evenhand.domain.ask import Evaluator, Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import Thresholds, reaches
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.members import distinct_names, guarded, made_members, on_record, trail_of
from evenhand.trust.confidence import confidence_of

CASCADE: Final = "cascade"
PEOPLE: Final = "people"
LEFT_TO_PEOPLE: Final = "Left to people: no stage of the cascade was sure enough."
# The flag of an evaluation that was decided though the judge of a stage before had failed.
STAGE_FAILED: Final = "stage_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cascade(BaseEvaluator):
    """Asks one evaluator after the other, until one is sure enough of its verdict.

    >>> from evenhand import Cascade, Case, PromptEvaluator, Scripted
    >>> cheap = PromptEvaluator(name="cheap", judge=Scripted(['{"score": 0.75}']))
    >>> strong = PromptEvaluator(name="strong", judge=Scripted(['{"score": 1.0}']))
    >>> case = Case(question="Capital of France?", candidate_answer="Paris", expected_outcome="Names Paris")
    >>> evaluation = Cascade(stages=[cheap, strong], confident=0.5).evaluate(case)
    >>> evaluation.score, evaluation.details["cascade"]["decided_by"]
    (1.0, 2)

    ``stages`` are evaluators or their definitions, the cheapest first. A stage decides if its confidence reaches
    ``confident``, a number from 0 to 1, or a list with one for each stage that may be unsure. Confidence is what an
    evaluator says under ``confidence`` in its details, or else how far its score lies from its pass mark. A stage that
    failed, or had nothing to judge, decides nothing. The last stage decides however sure it is, unless ``then`` is
    ``people``: then what it is not sure of is left to people, not evaluated.
    """

    type: ClassVar[str] = CASCADE

    stages: Sequence[Evaluator | Mapping[str, Any]]
    confident: float | Sequence[float]
    then: Literal["people"] | None = None
    # No option: the verdict is that of the stage that decides, by the thresholds of that stage.
    thresholds: Thresholds | Mapping[str, float] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        BaseEvaluator.__post_init__(self)
        made = made_members(self.stages, where=self.where, key="stages", what="stage", least=2)
        for number, stage in enumerate(made, start=1):
            if isinstance(stage, Cascade):
                raise ConfigError(
                    f"{self.where}: stage {number} is a cascade itself; list its stages here", key="stages"
                )
            if stage.weight != 1 or stage.required:
                raise ConfigError(
                    f"{self.where}: stage {number} has a weight or is required; only the cascade can", key="stages"
                )
        self._set("stages", made)
        if self.then not in (None, PEOPLE):
            raise ConfigError(f"{self.where}: then is {self.then!r:.80}; it must be people, or left out", key="then")
        self._set("confident", self._one_for_each(self.confident))

    def _one_for_each(self, confident: object) -> tuple[float, ...]:
        """Return the confidence that each stage needs, but for a last one that always decides."""
        needed = len(self.stages) - (self.then is None)
        many = list(confident) if isinstance(confident, list | tuple) else [confident] * needed
        if len(many) != needed:
            last = "" if self.then == PEOPLE else ", as the last one always decides"
            raise ConfigError(
                f"{self.where}: confident has {len(many)} numbers, and {needed} of {len(self.stages)} stages need "
                f"one{last}",
                key="confident",
            )
        settled: list[float] = []
        for number in many:
            if not is_finite_number(number) or not 0 <= number <= 1:
                raise ConfigError(
                    f"{self.where}: confident is {number!r:.80}; it must be a number from 0 to 1", key="confident"
                )
            settled.append(float(number))
        return tuple(settled)

    @property
    def needed(self) -> tuple[float | None, ...]:
        """The confidence that each stage needs to decide; None for a last stage that always does."""
        confident = cast("tuple[float, ...]", self.confident)
        return confident if self.then == PEOPLE else (*confident, None)

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Ask stage after stage, until one decides."""
        stages = cast("tuple[Evaluator, ...]", self.stages)
        names = distinct_names(stages)
        asked: list[Evaluation] = []
        rows: list[dict[str, Any]] = []
        decided: int | None = None
        for stage, name, needed in zip(stages, names, self.needed, strict=True):
            row: dict[str, Any] = {"name": name, "needed": needed, "confidence": None, "came_to": "not_asked"}
            rows.append(row)
            if decided is not None:
                continue
            evaluation = yield from guarded(stage, case)
            asked.append(evaluation)
            row["confidence"] = sure = stage_confidence(stage, evaluation)
            if needed is None or (sure is not None and reaches(sure, needed)):
                decided = len(asked)
            row["came_to"] = _came_to(evaluation, is_decided=decided is not None)
        whole = self._whole(asked, decided)
        is_left = whole is None
        details = {
            "members": [on_record(one) | {"evaluator": name} for one, name in zip(asked, names, strict=False)],
            CASCADE: {"decided_by": _decider(asked, decided), "left_to": PEOPLE if is_left else None, "stages": rows},
        }
        if whole is None:
            return self.not_evaluated(LEFT_TO_PEOPLE, details=details, **trail_of(asked))
        failed_before = any(one.status is Status.ERROR for one in asked if one is not whole)
        return replace(
            whole,
            evaluator=self.name,
            type=self.type,
            details=details,
            flags=(*whole.flags, STAGE_FAILED) if failed_before and whole.status is Status.SCORED else whole.flags,
            **trail_of(asked),
        )

    def _whole(self, asked: Sequence[Evaluation], decided: int | None) -> Evaluation | None:
        """Return the evaluation that counts: that of who decided, or why nobody could; None where people shall."""
        if decided is not None:
            return asked[decided - 1]
        if any(one.status is Status.SCORED for one in asked):
            return None
        # Nobody has judged it: what failed can be made anew, and what has nothing to judge is nothing for people.
        return next((one for one in reversed(asked) if one.status is Status.ERROR), asked[-1])


def stage_confidence(stage: Evaluator, evaluation: Evaluation) -> float | None:
    """Return how sure a stage is of its verdict; None where it has none, or cannot say."""
    if evaluation.status is not Status.SCORED:
        return None
    marks = getattr(stage, "thresholds", None)
    return confidence_of(evaluation, pass_mark=(marks if isinstance(marks, Thresholds) else Thresholds()).pass_at)


def _decider(asked: Sequence[Evaluation], decided: int | None) -> int | None:
    """Return the number of the stage that decided; a last one that failed, or had nothing to judge, did not."""
    return decided if decided is not None and asked[decided - 1].status is Status.SCORED else None


def _came_to(evaluation: Evaluation, *, is_decided: bool) -> str:
    if evaluation.status is not Status.SCORED:
        return str(evaluation.status)
    return "decided" if is_decided else "unsure"
