"""What a question to a model may cost, learnt from those before it, so that no more are begun than can be paid."""

from __future__ import annotations

import math
from typing import Final, NamedTuple, TypeAlias

from evenhand.domain.ask import Ask
from evenhand.domain.evaluation import Usage
from evenhand.engine.token_estimate import CHARACTERS_A_TOKEN, JUDGMENT_TOKENS
from evenhand.models.prices import Price, cost

# The model, and the name of the contract of its replies.
Kind: TypeAlias = tuple[str, str]

# Of a few questions nobody knows how far they differ: the next may cost twice the most that one did.
_FEW: Final = 5
_FEW_FACTOR: Final = 2.0
# So many standard deviations above the mean, at least, is what one may cost.
_DEVIATIONS: Final = 4.0


class Question(NamedTuple):
    """A question: its kind, the characters of its prompt, and a guess at its cost, for the first of a kind."""

    kind: Kind
    size: int
    guess: float


def question_of(ask: Ask, price: Price | None) -> Question:
    """Return what is known of a question before it is asked; one without a price is taken to be free."""
    size = sum(len(message.content) for message in ask.messages)
    kind = (ask.judge.name, "" if ask.contract is None else ask.contract.name)
    if price is None:
        return Question(kind, size, 0.0)
    written = JUDGMENT_TOKENS if ask.max_tokens is None else min(ask.max_tokens, JUDGMENT_TOKENS)
    return Question(
        kind, size, cost(Usage(input_tokens=size // CHARACTERS_A_TOKEN, output_tokens=written * ask.room), price)
    )


class QuestionCosts:
    """Learns what questions of each kind cost."""

    __slots__ = ("_kinds",)

    def __init__(self) -> None:
        self._kinds: dict[Kind, _Costs] = {}

    def bound(self, question: Question) -> float | None:
        """Return the most that a question is likely to cost; None for the first of its kind that costs anything."""
        costs = self._kinds.get(question.kind)
        if costs is None:
            return 0.0 if question.guess == 0 else None
        # A longer prompt costs more than any so far: in proportion, at most.
        return costs.bound * max(1.0, question.size / max(costs.longest, 1))

    def learn(self, question: Question, dollars: float) -> None:
        """Take in what a question cost."""
        self._kinds.setdefault(question.kind, _Costs()).add(dollars, question.size)


class _Costs:
    """The costs of one kind of question: their number, mean, sum of squared deviations and maximum."""

    __slots__ = ("_mean", "_most", "_n", "_squares", "longest")

    def __init__(self) -> None:
        self._n = 0
        self._mean = self._squares = self._most = 0.0
        self.longest = 0

    def add(self, dollars: float, size: int) -> None:
        self._n += 1
        deviation = dollars - self._mean
        self._mean += deviation / self._n
        self._squares += deviation * (dollars - self._mean)
        self._most = max(self._most, dollars)
        self.longest = max(self.longest, size)

    @property
    def bound(self) -> float:
        if self._n < _FEW:
            return self._most * _FEW_FACTOR
        deviation = math.sqrt(self._squares / (self._n - 1) * (1 + 1 / self._n))
        return max(self._most, self._mean + _DEVIATIONS * deviation)
