"""Pairwise: which of two answers is better, asked in both orders (SPEC-K3).

Judges favour a place, small ones above all. So the same question is put twice with the answers changed about, and an
answer wins only if it wins in both places; a judge that changes its mind with the order has found a tie.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

from evenhand import registry
from evenhand.domain.ask import ModelClient, Steps
from evenhand.domain.case import Case
from evenhand.domain.contract import FieldContract, Text
from evenhand.domain.errors import ConfigError, ContractError, about
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.message import Message
from evenhand.drive.driver import together
from evenhand.evaluators.asking import (
    DEFAULT_ATTEMPTS,
    Answered,
    FirstToken,
    GaveUp,
    Record,
    ask_first_token,
    check_attempts,
    inquire,
)
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.group_ranking import MEMBERS
from evenhand.evaluators.prompts import texts
from evenhand.evaluators.reading import KNOWN_IF_UNUSUAL, Ambiguous, check_ambiguous
from evenhand.evaluators.sampling import all_flags, first_probability, judge_details, turned, with_other
from evenhand.evaluators.sections import context_sections, sections, short_sections

Winner: TypeAlias = Literal["A", "B", "tie"]
WINNERS: Final = ("A", "B", "tie")
FLIPPED: Final = "flipped"

Place: TypeAlias = Literal["A", "B"]
PLACES: Final[tuple[Place, Place]] = ("A", "B")
# A chance of exactly 0 or 1 is a rounded one.
_LEAST_CHANCE: Final = 1e-6
_OUTCOMES: Final = {"win": "{} is better.", "loss": "the other one is better.", "tie": "neither is better."}
_SCORES: Final = {"win": 1.0, "tie": 0.5, "loss": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class WinnerField:
    """The key of a reply that names the better answer."""

    name: str = "winner"
    required: bool = True

    def words(self) -> str:
        """Describe the value to a judge."""
        return '"A" or "B", whichever answer is better, or "tie" if neither is'

    def schema(self) -> dict[str, Any]:
        """Describe the value to a decoder."""
        return {"type": "string", "enum": list(WINNERS)}

    def absent(self) -> None:
        """Return nothing: a winner is required."""

    def read(self, value: object) -> tuple[Winner, tuple[str, ...]]:
        """Read the winner, however it is spelt."""
        text = value.strip().lower() if isinstance(value, str) else None
        for winner in WINNERS:
            if text == winner.lower():
                return winner, ()
        raise ContractError('winner must be "A", "B" or "tie"')


CONTRACT: Final = FieldContract(
    name="pairwise",
    fields=(Text(name="reasoning", about="what decides it, in two or three sentences"), WinnerField()),
)


class Order(NamedTuple):
    """What the judge said in one order: the chance that the candidate is the better one, and in which place it was."""

    place: Place
    winner: Winner
    probability: float | None
    reasoning: str

    @property
    def wins(self) -> float:
        """1 where the candidate won, 0 where the other did, else one half."""
        return 0.5 if self.winner == "tie" else float(self.winner == self.place)

    def as_dict(self) -> dict[str, Any]:
        """Return what is on record of it."""
        fields: dict[str, Any] = {"candidate": self.place, "winner": self.winner}
        if self.probability is not None:
            fields["probability"] = self.probability
        return fields


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseEvaluator(BaseEvaluator):
    """Asks a judge whether the candidate answer is better than the reference answer, in both orders.

    >>> from evenhand import Case, Scripted
    >>> judge = Scripted(['{"reasoning": "", "winner": "A"}', '{"reasoning": "", "winner": "A"}'])
    >>> case = Case(question="Why?", candidate_answer="So.", reference_answer="Because.")
    >>> evaluation = PairwiseEvaluator(judge=judge).evaluate(case)
    >>> evaluation.score, evaluation.flags  # it likes whatever comes first
    (0.5, ('flipped',))

    The score is 1 for a win in both orders, 0 for a loss in both, and one half otherwise. Of a judge whose margin was
    measured, the probabilities of both orders decide together, so that what it adds for a place cancels out: beyond
    the margin one of them wins, within it there is a tie. ``criteria`` says what makes
    an answer better, beside the case's expected outcome. ``score_from`` is ``text`` (the judge reasons and names the
    better one), ``logprobs`` (the probabilities of its first token), or ``auto``: logprobs for embedded judges.
    """

    type: ClassVar[str] = "pairwise"

    judge: Any = field(default=None, repr=False)
    criteria: str = ""
    score_from: Literal["auto", "text", "logprobs"] = "auto"
    max_attempts: int | None = None
    max_retries: InitVar[int | None] = None
    ambiguous: Ambiguous = field(default="ask_again", metadata=KNOWN_IF_UNUSUAL)
    model: InitVar[str | None] = None

    def __post_init__(self, max_retries: int | None, model: str | None) -> None:
        BaseEvaluator.__post_init__(self)
        if not isinstance(self.criteria, str):
            raise ConfigError(
                f"{self.where}: criteria must be text, not {type(self.criteria).__name__}", key="criteria"
            )
        if self.score_from not in ("auto", "text", "logprobs"):
            raise ConfigError(
                f"{self.where}: score_from is {self.score_from!r}; it must be auto or text or logprobs",
                key="score_from",
            )
        self._set("max_attempts", check_attempts(self.max_attempts, max_retries, where=self.where))
        check_ambiguous(self.ambiguous, where=self.where)
        with about("judge"):
            self._set("judge", registry.judge(self.judge, model=model))

    @property
    def client(self) -> ModelClient:
        """The judge, settled."""
        client: ModelClient = self.judge
        return client

    @property
    def by_probability(self) -> bool:
        """Whether first-token probabilities are read."""
        if self.score_from == "auto":
            return bool(getattr(self.client, "prefers_logprobs", False))
        return self.score_from == "logprobs"

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Compare the candidate answer with the reference answer."""
        if case.candidate_answer is None:
            return self.not_evaluated("There is no candidate answer.")
        if case.reference_answer is None:
            return self.not_evaluated("There is no reference answer to compare with.")
        asked = yield from together([self._ask(case, place) for place in PLACES])
        candidate = _candidate(case)
        evaluation = self._compare(asked, candidate)
        if not any(isinstance(outcome, Answered) and outcome.other is not None for outcome in asked):
            return evaluation
        return with_other(
            evaluation, self._compare([turned(outcome) for outcome in asked], candidate), counted=self.ambiguous
        )

    def _compare(self, asked: Sequence[Answered | FirstToken | GaveUp], candidate: str) -> Evaluation:
        record = Record.merged(outcome.record for outcome in asked)
        answered = [outcome for outcome in asked if isinstance(outcome, Answered)]
        details = judge_details(self.client, answered)
        details["requests"] = {place: outcome.record.request for place, outcome in zip(PLACES, asked, strict=True)}
        orders: list[Order] = []
        for place, outcome in zip(PLACES, asked, strict=True):
            order = _order(place, outcome)
            if isinstance(order, str):
                return self.failed(f"{order} (with {candidate} as {place})", details=details, **record.fields())
            orders.append(order)
        return self._evaluation(orders, details, all_flags(answered), record, candidate)

    def _evaluation(
        self,
        orders: list[Order],
        details: dict[str, Any],
        reply_flags: tuple[str, ...],
        record: Record,
        candidate: str,
    ) -> Evaluation:
        wins = [order.wins for order in orders]
        margin = getattr(self.client, "pair_margin", None) if self.by_probability else None
        if margin is None:
            outcome = "win" if min(wins) == 1 else "loss" if max(wins) == 0 else "tie"
        else:
            odds = _mean_log_odds(orders)
            outcome = "tie" if abs(odds) < margin else "win" if odds > 0 else "loss"
            details |= {"log_odds": round(odds, 6), "pair_margin": margin}
        details |= {"outcome": outcome, "orders": [order.as_dict() for order in orders]}
        flags = ["logprobs"] if self.by_probability else list(reply_flags)
        if max(wins) > min(wins):
            flags.append(FLIPPED)
        return self.scored(
            _SCORES[outcome],
            score_raw=outcome,
            reasoning="\n".join(order.reasoning for order in orders if order.reasoning)
            or _sentence(orders, outcome, candidate),
            details=details,
            flags=tuple(flags),
            **record.fields(),
        )

    def _ask(self, case: Case, place: Place) -> Steps[Answered | FirstToken | GaveUp]:
        """Put the question with the candidate in one of the two places."""
        candidate, other = case.candidate_answer or "", case.reference_answer or ""
        first, second = (candidate, other) if place == "A" else (other, candidate)
        material = {
            "criteria": self.criteria,
            "expected_outcome": case.expected_outcome or "",
            **context_sections(case),
            "question": case.question_text or "",
            "answer_a": first,
            "answer_b": second,
        }
        if self.by_probability:
            # In the short form a part without a text is left out, and what is left would be the only answer.
            material |= {"answer_a": first or texts.EMPTY, "answer_b": second or texts.EMPTY}
            system = texts.A_OR_B
            context = {texts.short_name(name): text for name, text in context_sections(case).items()}
            parts = short_sections(context | {words: material[name] for name, words in texts.PAIR_NAMES.items()})
            user = f"{parts}\n{texts.WHICH}"
            return (yield from ask_first_token((Message("system", system), Message("user", user)), judge=self.client))
        about_material = texts.with_context(texts.PAIR_MATERIAL, case)
        system = f"{texts.COMPARE}\n\n{about_material}\n\n{CONTRACT.instructions()}"
        return (
            yield from inquire(
                (Message("system", system), Message("user", sections(material))),
                judge=self.client,
                contract=CONTRACT,
                max_attempts=self.max_attempts or DEFAULT_ATTEMPTS,
                ambiguous=self.ambiguous,
            )
        )


def _candidate(case: Case) -> str:
    """Name the candidate to people: in a ranking it is the first of two profiles."""
    match case.metadata.get(MEMBERS):
        case [{"id": str(identity)}, {"id": str()}]:
            return f"profile {identity!r:.80}"
    return "the candidate"


def _sentence(orders: Sequence[Order], outcome: str, candidate: str) -> str:
    """Say what decided, where the judge gave no reasons."""
    told = _OUTCOMES[outcome].format(candidate)
    if all(order.probability is not None for order in orders):
        chances = " and ".join(f"{order.probability:.2f} as answer {order.place}" for order in orders)
        return f"P({candidate} is better) is {chances}: {told}"
    if orders[0].wins == orders[1].wins:
        return f"In both orders, {told}"
    return f"The two orders disagree: {told}"


def _mean_log_odds(orders: Sequence[Order]) -> float:
    """Return the mean, over both orders, of the log-odds that the candidate is the better one."""
    chances = [min(max(order.probability or 0.0, _LEAST_CHANCE), 1 - _LEAST_CHANCE) for order in orders]
    return statistics.fmean(math.log(chance / (1 - chance)) for chance in chances)


def _order(place: Place, asked: Answered | FirstToken | GaveUp) -> Order | str:
    """Read what the judge said, or say why it cannot be used."""
    if isinstance(asked, GaveUp):
        return asked.error
    if isinstance(asked, Answered):
        values = asked.accepted.values
        return Order(place, values["winner"], None, values["reasoning"])
    try:
        first = first_probability(asked.choices)
    except ContractError as error:
        return error.failure
    winner: Winner = "tie" if first.value == 0.5 else "A" if first.value > 0.5 else "B"
    chance = first.value if place == "A" else 1 - first.value
    return Order(place, winner, round(chance, 12), "")
