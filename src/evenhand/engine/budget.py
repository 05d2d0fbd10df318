"""What a run may spend: calls, and dollars (SPEC-S4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Attempt
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import reaches


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


class Budget:
    """What is left to spend.

    Calls are counted before they are sent, so their limit is never passed by clients that ask for each; of those that
    do not, it can be passed by what one question takes. What a call costs is known afterwards: those under way are
    reckoned with what one cost so far, and no other is begun when that would be too much.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._under_way = 0
        self._priced = 0
        # What questions in batches are expected to cost, until that is known.
        self._reserved = 0.0
        self.calls = 0
        self.faults = 0
        self.cost = 0.0
        self.cost_is_known = True

    @property
    def used_up(self) -> str | None:
        """Say what is used up, if something is."""
        return self.used_up_by(self.cost / self._priced if self._priced else 0.0)

    def used_up_by(self, next_cost: float) -> str | None:
        """Say what is used up by one more question of such a cost, if something is."""
        most_calls, most_cost = self._limits.max_calls, self._limits.max_cost
        if most_calls is not None and self.calls >= most_calls:
            return f"max_calls: {most_calls} {'call was' if most_calls == 1 else 'calls were'} allowed"
        if most_cost is not None:
            if not self.cost_is_known:
                why = f"so the limit of {most_cost:g} dollars cannot be enforced"
                return f"max_cost: the cost of some replies is unknown, {why}"
            typical = self.cost / self._priced if self._priced else 0.0
            expected = self.cost + self._reserved + self._under_way * typical + next_cost
            if self.cost >= most_cost or not reaches(most_cost, expected):  # sums of small prices are a little off
                return (
                    f"max_cost: {self.cost:.4f} of {most_cost:g} dollars are spent, and calls in progress may need more"
                )
        return None

    def begin(self) -> Calls | None:
        """Begin a question; its requests are taken from what this gives, where they are limited."""
        self._under_way += 1
        return None if self._limits.max_calls is None else Calls(self)

    def submit(self, expected: float) -> None:
        """Count a question that goes into a batch, and reserve what it is expected to cost."""
        self.calls += 1
        self._reserved += expected

    def settle(self, expected: float, attempts: Sequence[Attempt] = (), *, cost: float | None = 0.0) -> None:
        """End a question that was in a batch: what was reserved for it is free, and what it cost is spent."""
        self._reserved -= expected
        if not attempts:
            return
        self.faults += sum(attempt.kind == "transport" for attempt in attempts)
        if cost is None:
            self.cost_is_known = False
        else:
            self.cost += cost
            self._priced += 1

    def take(self) -> bool:
        """Take a call, and return whether there was one to take."""
        if self._limits.max_calls is not None and self.calls >= self._limits.max_calls:
            return False
        self.calls += 1
        return True

    def give_up(self) -> None:
        """End a question of which nobody knows what became."""
        self._under_way -= 1

    def end(self, calls: Calls | None, attempts: Sequence[Attempt], *, cost: float | None) -> None:
        """End a question: count its requests, the faults on the way, and what it cost; None if nobody knows."""
        self._under_way -= 1
        self.calls += len(attempts) if calls is None else calls.uncounted(len(attempts))
        for attempt in attempts:
            self.faults += attempt.kind == "transport"
        if cost is None:
            self.cost_is_known = False
        else:
            self.cost += cost
            self._priced += 1


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
