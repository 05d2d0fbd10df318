"""Score a profile: a judge gives one text a score from 0 to 10 by criteria, and says why (SPEC-K1)."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, Final

from evenhand import registry
from evenhand.domain.ask import ModelClient, Steps
from evenhand.domain.case import Case, is_blank
from evenhand.domain.contract import FieldContract, Score, Text
from evenhand.domain.errors import ConfigError, ContractError, about
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.message import Message
from evenhand.domain.scale import Range
from evenhand.evaluators.asking import DEFAULT_ATTEMPTS, Answered, GaveUp, check_attempts, inquire
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.prompts import texts
from evenhand.evaluators.reading import KNOWN_IF_UNUSUAL, Ambiguous, check_ambiguous
from evenhand.evaluators.sampling import judge_details, turned, with_other
from evenhand.evaluators.sections import sections


@dataclass(frozen=True, slots=True, kw_only=True)
class CriteriaEvaluator(BaseEvaluator):
    """An evaluator that has a judge go by criteria; ``told_to`` says in a message what these are for."""

    told_to: ClassVar[str]

    criteria: str
    judge: Any = field(default=None, repr=False)
    max_attempts: int | None = None
    max_retries: InitVar[int | None] = None
    ambiguous: Ambiguous = field(default="ask_again", metadata=KNOWN_IF_UNUSUAL)
    model: InitVar[str | None] = None

    def __post_init__(self, max_retries: int | None, model: str | None) -> None:
        BaseEvaluator.__post_init__(self)
        if not isinstance(self.criteria, str) or is_blank(self.criteria):
            raise ConfigError(f"{self.where}: criteria is {self.criteria!r:.80}; {self.told_to}", key="criteria")
        self._set("max_attempts", check_attempts(self.max_attempts, max_retries, where=self.where))
        check_ambiguous(self.ambiguous, where=self.where)
        with about("judge"):
            self._set("judge", registry.judge(self.judge, model=model))

    @property
    def client(self) -> ModelClient:
        """The judge, settled."""
        client: ModelClient = self.judge
        return client


PROFILE_SCORE: Final = "profile_score"
# A score beyond it is refused and asked for again, never clamped.
SCALE: Final = Range(low=0, high=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Justification(Text):
    """The reasons, which have to be there."""

    name: str = "justification"
    required: bool = True

    def read(self, value: object) -> tuple[str, tuple[str, ...]]:
        """Read the reasons, trimmed."""
        text, flags = Text.read(self, value)
        if not text:
            raise ContractError(f"{self.name} must not be empty")
        return text, flags


# The judge gives its reasons before it scores.
CONTRACT: Final = FieldContract(
    name="profile_score",
    fields=(
        Justification(about="what in the profile earns the score, in two or three sentences"),
        Score(scale=SCALE, about="how well the profile meets the criteria, higher being better"),
    ),
)
_SYSTEM: Final = f"{texts.SCORE_PROFILE}\n\n{texts.PROFILE_MATERIAL}\n\n{CONTRACT.instructions()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileScoreEvaluator(CriteriaEvaluator):
    """Asks a judge to score a text from 0 to 10 by criteria, and to justify the score.

    >>> from evenhand import Case, Scripted
    >>> judge = Scripted(['{"score": 7.5, "justification": "Ten years in the trade."}'])
    >>> evaluation = ProfileScoreEvaluator(judge=judge, criteria="Experience").evaluate(Case(candidate_answer="Baker."))
    >>> evaluation.score_raw, evaluation.score, evaluation.reasoning
    (7.5, 0.75, 'Ten years in the trade.')

    The text is the case's ``candidate_answer``; nothing else of the case is shown. A reply that is no JSON, lacks a
    key or has a score outside 0 to 10 is asked for again, up to ``max_attempts`` replies in all.
    """

    type: ClassVar[str] = PROFILE_SCORE
    told_to: ClassVar[str] = "say what a profile is scored by"

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Score the text of a case."""
        if case.candidate_answer is None or is_blank(case.candidate_answer):
            return self.not_evaluated("There is no text to score.")
        material = {"criteria": self.criteria, "profile": case.candidate_answer}
        asked = yield from inquire(
            (Message("system", _SYSTEM), Message("user", sections(material))),
            judge=self.client,
            contract=CONTRACT,
            max_attempts=self.max_attempts or DEFAULT_ATTEMPTS,
            ambiguous=self.ambiguous,
        )
        if isinstance(asked, GaveUp):
            return self.failed(asked.error, details=judge_details(self.client), **asked.record.fields())
        evaluation = self._evaluation(asked)
        if asked.other is None:
            return evaluation
        return with_other(evaluation, self._evaluation(turned(asked)), counted=self.ambiguous)

    def _evaluation(self, asked: Answered) -> Evaluation:
        values = asked.accepted.values
        return self.scored(
            SCALE.unit(values["score"]),
            score_raw=values["score"],
            reasoning=values["justification"],
            details=judge_details(self.client, (asked,)),
            flags=asked.flags,
            **asked.record.fields(),
        )
