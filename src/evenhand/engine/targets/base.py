"""What every target has in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from evenhand.domain.ask import ModelClient, Steps
from evenhand.domain.case import Case
from evenhand.domain.run import MadeAnswer


class Target(Protocol):
    """Something that answers a case. Like an evaluator it never acts: what it wants done, it yields."""

    @property
    def name(self) -> str:
        """How the target is called in reports."""
        ...

    def client_for(self, case: Case) -> ModelClient | None:
        """Return the model that it asks for the answer to a case; None where it is a program or a function."""
        ...

    def description(self) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        """Say what decides on the answers, in plain JSON values and without secrets."""
        ...

    def steps(self, case: Case) -> Steps[MadeAnswer]:
        """Make the answer to a case, step by step."""
        ...
