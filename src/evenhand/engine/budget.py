"""What a run may spend: calls, and dollars (SPEC-S4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evenhand.domain.ask import Ask
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Attempt
from evenhand.domain.scale import is_finite_number


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

    Calls are counted one by one before they are sent, so their limit is never passed. What a call costs is known
    afterwards: those under way are reckoned with what one cost so far, and no other is begun when that would be too
    much.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._under_way = 0
        self._priced = 0
        self.calls = 0
        self.faults = 0
        self.cost = 0.0
        self.cost_is_known = True

    def allow(self, ask: Ask) -> Ask:
        """Make a question take its requests from this budget, where they are limited."""
        return ask if self._limits.max_calls is None else replace(ask, allowance=self)

    def take(self) -> bool:
        """Take a call, and tell whether there was one to take."""
        if self._limits.max_calls is not None and self.calls >= self._limits.max_calls:
            return False
        self.calls += 1
        return True

    def count(self, attempts: Sequence[Attempt]) -> None:
        """Count the calls of a question that took none from here, and the faults on the way."""
        if self._limits.max_calls is None:
            self.calls += len(attempts)
        self.faults += sum(attempt.kind == "transport" for attempt in attempts)

    @property
    def used_up(self) -> str | None:
        """Say what is used up, if something is."""
        most_calls, most_cost = self._limits.max_calls, self._limits.max_cost
        if most_calls is not None and self.calls >= most_calls:
            return f"max_calls: {most_calls} calls were allowed"
        if most_cost is not None:
            typical = self.cost / self._priced if self._priced else 0.0
            if self.cost + self._under_way * typical >= most_cost:
                return (
                    f"max_cost: {self.cost:.4f} of {most_cost:g} dollars are spent, and calls under way may need more"
                )
        return None

    def begin(self) -> None:
        """Count a question that is under way."""
        self._under_way += 1

    def end(self, cost: float | None) -> None:
        """Count what a question cost; None if nobody knows."""
        self._under_way -= 1
        if cost is None:
            self.cost_is_known = False
        else:
            self.cost += cost
            self._priced += 1
