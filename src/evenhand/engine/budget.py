"""What a run may spend: calls, and dollars (SPEC-S4)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Attempt
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import reaches
from evenhand.engine.question_costs import Question, QuestionCosts
from evenhand.reports.phrases import cost_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that a run may spend; None is no limit."""

    max_calls: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        calls = self.max_calls
        if calls is not None and (isinstance(calls, bool) or not isinstance(calls, int) or calls < 0):
            raise ConfigError(f"max_calls is {calls!r:.80}; it must be a whole number, 0 or more")
        if self.max_cost is not None and (not is_finite_number(self.max_cost) or self.max_cost < 0):
            raise ConfigError(f"max_cost is {self.max_cost!r:.80}; it must be a number of dollars, 0 or more")


class Reservation(NamedTuple):
    """What was reserved for a question that is asked, in dollars."""

    question: Question
    dollars: float


class Budget:
    """What is left to spend.

    Calls are counted before they are sent, so their limit is never passed by clients that ask for each; of those that
    do not, it can be passed by what one question takes. What a call costs is known afterwards: before it is sent, what
    it may cost is reserved, as learnt from those before it, and it waits, or is never sent, where that would be too
    much. The first of a kind is sent alone.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._costs = QuestionCosts()
        self._reserved = self._lost = 0.0
        # What questions in batches are expected to cost, until that is known, and how many these are.
        self._submitted = 0.0
        self._in_batches = 0
        self._under_way = 0
        self._change = asyncio.Event()
        self.calls = 0
        self.faults = 0
        self.cost = 0.0
        self.cost_is_known = True

    @property
    def used_up(self) -> str | None:
        """Say what is used up, if something is."""
        most_calls, most_cost = self._limits.max_calls, self._limits.max_cost
        if most_calls is not None and self.calls >= most_calls:
            return f"max_calls: {most_calls} {'call was' if most_calls == 1 else 'calls were'} allowed"
        if most_cost is not None:
            if not self.cost_is_known:
                why = f"so the limit of {cost_text(most_cost)} cannot be enforced"
                return f"max_cost: the cost of some replies is unknown, {why}"
            if self.cost >= most_cost:
                return f"max_cost: {cost_text(self.cost)} of {cost_text(most_cost)} is spent"
        return None

    @property
    def _left(self) -> str:
        """Say what is left of the dollars, and what of it may be needed elsewhere."""
        most = self._limits.max_cost or 0.0
        others = ((self._lost, "requests that were given up"), (self._submitted, "what is submitted"))
        needed = " and ".join(f"{cost_text(dollars)} for {what}" for dollars, what in others if dollars)
        # Sums of small prices are a little off.
        left = f"{cost_text(max(round(most - self.cost, 9), 0.0))} of {cost_text(most)} is left"
        return f"{left}, less up to {needed}" if needed else left

    @property
    def limits_cost(self) -> bool:
        """Whether dollars are limited."""
        return self._limits.max_cost is not None

    def reserve(self, question: Question) -> Reservation | None:
        """Reserve what a question may cost; None if that may be more than is left."""
        most = self._limits.max_cost or 0.0
        bound = self._costs.bound(question)
        needed = question.guess if bound is None else bound
        is_alone = self._under_way == 0
        # Sums of small prices are a little off.
        if (bound is None and not is_alone) or not reaches(most, self.cost + self._lost + self._reserved + needed):
            return None
        # Nobody knows what the first of a kind will cost: it may take all that is left.
        reservation = Reservation(question, max(most - self.cost - self._lost, 0.0) if bound is None else bound)
        self._reserved += reservation.dollars
        self._under_way += 1
        return reservation

    def refusal(self, question: Question) -> str | None:
        """Say why a question cannot be asked for what is left; None if others may still leave enough for it."""
        if self._under_way:
            return None
        bound = self._costs.bound(question)
        needed = f"about {cost_text(question.guess)}" if bound is None else f"up to {cost_text(bound)}"
        return f"max_cost: {self._left}, and the next question may cost {needed}"

    def used_up_by(self, dollars: float) -> str | None:
        """Say why a question that may cost so much cannot go into a batch, if so."""
        most = self._limits.max_cost
        if (why := self.used_up) is not None or most is None:
            return why
        if reaches(most, self.cost + self._lost + self._reserved + self._submitted + dollars):
            return None
        return f"max_cost: {self._left}, and the next question may cost {cost_text(dollars)}"

    def submit(self, dollars: float) -> None:
        """Count a question that goes into a batch, and reserve what it may cost."""
        self.calls += 1
        self._in_batches += 1
        self._submitted += dollars

    def settle(self, dollars: float, attempts: Sequence[Attempt] = (), *, cost: float | None = 0.0) -> None:
        """End a question that was in a batch: what was reserved for it is free, and what it cost is spent."""
        self._in_batches -= 1
        self._submitted = max(self._submitted - dollars, 0.0) if self._in_batches else 0.0
        self.faults += sum(attempt.kind == "transport" for attempt in attempts)
        if cost is None:
            self.cost_is_known = False
        else:
            self.cost += cost

    def release(self, reservation: Reservation | None) -> None:
        """Give back what was reserved."""
        if reservation is not None:
            self._under_way -= 1
            self._reserved = max(self._reserved - reservation.dollars, 0.0) if self._under_way else 0.0
            self.wake()

    def wake(self) -> None:
        """Let those who wait look again."""
        self._change.set()
        self._change = asyncio.Event()

    async def changed(self) -> None:
        """Wait until something was given back."""
        await self._change.wait()

    def begin(self) -> Calls | None:
        """Begin a question; its requests are taken from what this gives, where they are limited."""
        return None if self._limits.max_calls is None else Calls(self)

    def take(self) -> bool:
        """Take a call, and return whether there was one to take."""
        if self._limits.max_calls is not None and self.calls >= self._limits.max_calls:
            return False
        self.calls += 1
        return True

    def give_up(self, reservation: Reservation | None = None) -> None:
        """End a question of which nobody knows what became: it may have been billed all the same."""
        if reservation is not None:
            question = reservation.question
            self._lost += self._costs.bound(question) or question.guess

    def end(
        self,
        calls: Calls | None,
        attempts: Sequence[Attempt],
        *,
        cost: float | None,
        reservation: Reservation | None = None,
    ) -> None:
        """End a question: count its requests, the faults on the way, and what it cost; None if nobody knows."""
        self.calls += len(attempts) if calls is None else calls.uncounted(len(attempts))
        for attempt in attempts:
            self.faults += attempt.kind == "transport"
        if cost is None:
            self.cost_is_known = False
        else:
            self.cost += cost
            if reservation is not None and any(attempt.kind == "reply" for attempt in attempts):
                self._costs.learn(reservation.question, cost)


class Calls:
    """The calls of one question. The first is taken as it begins: not every client asks for those it sends."""

    __slots__ = ("_asked", "_budget", "_taken")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._taken = budget.take()
        self._asked = False

    def take(self) -> bool:
        """Take a call, and return whether there was one to take."""
        if self._asked:
            return self._budget.take()
        self._asked = True
        return self._taken

    def uncounted(self, sent: int) -> int:
        """Return how many calls are still to be counted, or are too many, of a question that sent so many."""
        return 0 if self._asked else sent - self._taken
