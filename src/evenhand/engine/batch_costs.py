"""What questions in batches may cost before they are answered, what they did cost, and what batches save."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from evenhand.domain.reply import Reply, Unanswered
from evenhand.engine.batch_lane import BatchQuestion
from evenhand.engine.budget import Budget
from evenhand.engine.question_costs import QuestionCosts, question_of
from evenhand.engine.token_estimate import expected_cost, expected_usage
from evenhand.models.prices import PriceBook

# How long a reply may be where its length is not limited: what Anthropic is told, which wants a limit.
LONGEST_REPLY_TOKENS: Final = 4096


class BatchCosts:
    """Accounts for the questions of a run that go into batches.

    What a question may cost is learnt from those before it. Of the first of a kind nothing is known but the limit of
    its reply, and a whole batch may be of these: where dollars are limited, each is taken to be as long as it may be.
    """

    def __init__(self, budget: Budget, prices: PriceBook) -> None:
        self._budget = budget
        self._prices = prices
        self._learnt = QuestionCosts()
        # In dollars: what answers have saved, and what questions that wait are expected to save.
        self._saved = self._to_save = 0.0

    @property
    def saving(self) -> float:
        """How many dollars batches save in this process: of what is answered, and about as much of what waits."""
        return self._saved + self._to_save

    def expect(self, question: BatchQuestion) -> None:
        """Work out what a question may cost, and is expected to save."""
        ask, usage = question.ask, expected_usage(question.ask)
        question.guess = expected_cost(ask, usage, self._prices, batch=True) or 0.0
        question.expected = question.guess
        alone = expected_cost(ask, usage, self._prices) or 0.0
        self._to_save += alone - question.guess - question.saving
        question.saving = alone - question.guess
        # One without a guess has no price, and is not limited.
        learnt = self._learnt.bound(question_of(ask, None)._replace(guess=question.guess))
        if learnt is not None:
            question.expected = max(question.guess, learnt)
        elif self._budget.limits_cost:
            longest = question.form.limit(ask) or LONGEST_REPLY_TOKENS * ask.room
            most = replace(usage, output_tokens=max(longest, usage.output_tokens))
            question.expected = expected_cost(ask, most, self._prices, batch=True) or 0.0

    def reserve(self, question: BatchQuestion, *, is_alone: bool) -> str | None:
        """Reserve what a question may cost; say why not where that is more than is left.

        One that is alone, and whose cost is not known from others, is asked if it is only expected to be within.
        """
        if (why := self._budget.used_up_by(question.expected)) is not None and is_alone:
            why = self._budget.used_up_by(question.guess) if self._is_first(question) else why
        if why is None:
            self._budget.submit(question.expected)
        return why

    def _is_first(self, question: BatchQuestion) -> bool:
        return self._learnt.bound(question_of(question.ask, None)._replace(guess=question.guess)) is None

    def settle(self, question: BatchQuestion, answer: Reply | Unanswered) -> Reply | Unanswered:
        """Return an answer with what it cost, and the requests for it that failed before; account for it."""
        name, attempts = question.model.name, answer.attempts
        cost = self._prices.cost_of(name, attempts)
        self._budget.settle(question.expected, attempts, cost=cost)
        self._to_save -= question.saving
        question.saving = 0.0
        if cost:
            self._learnt.learn(question_of(question.ask, None), cost)
            alone = self._prices.cost_of(name, [replace(attempt, batch=False) for attempt in attempts])
            self._saved += (alone or cost) - cost
        return replace(answer, attempts=(*question.failed, *self._prices.priced(name, attempts)))

    def give_back(self, question: BatchQuestion) -> None:
        """Free what was reserved for a question that was not answered."""
        self._budget.settle(question.expected)
