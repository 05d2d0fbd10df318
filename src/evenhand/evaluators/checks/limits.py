"""What making the answer took, against a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.rubric import is_weight
from evenhand.evaluators.checks.check import DeterministicCheck, Finding, Found, Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit(DeterministicCheck):
    """What making the answer took is at most ``max``."""

    max: float

    def __post_init__(self) -> None:
        DeterministicCheck.__post_init__(self)
        if not is_weight(self.max):
            raise ConfigError(f"{self.where}: max is {self.max!r}; it must be a number, 0 or more")

    def _compared(self, took: float | None, what: str, unit: str) -> Finding:
        if took is None:
            return Missing(f"The {what} is unknown.")
        within = took <= self.max
        told = f"The {what} is {took:g} {unit}, {'within' if within else 'above'} {self.max:g} {unit}."
        return Found.that(within, told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency(_Limit):
    """The answer was made within ``max`` seconds."""

    type: ClassVar[str] = "latency"

    def look(self, case: Case) -> Steps[Finding]:
        """Compare what is known of the time."""
        yield from ()
        return self._compared(case.latency, "latency", "s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(_Limit):
    """The answer was made for at most ``max`` dollars."""

    type: ClassVar[str] = "cost"

    def look(self, case: Case) -> Steps[Finding]:
        """Compare what is known of the cost."""
        yield from ()
        return self._compared(case.cost, "cost", "dollars")
