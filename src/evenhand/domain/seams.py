"""The few places where one part may be exchanged for another."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from evenhand.domain.ask import Ask, Steps
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.reply import Reply, Unanswered


@runtime_checkable
class ModelClient(Protocol):
    """A model that can be asked. It owns the retries of transport faults, and never raises for them.

    ``name`` is how the model is called in reports, for example ``openai/gpt-5-mini``.
    """

    @property
    def name(self) -> str:
        """How the model is called in reports."""
        ...

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply | Unanswered:
        """Ask once, trying again on transport faults until ``deadline`` (``time.monotonic``)."""
        ...


class Evaluator(Protocol):
    """Something that scores a case. It decides and never acts: what it wants to know, it yields."""

    @property
    def name(self) -> str:
        """How the evaluator is called in reports."""
        ...

    @property
    def type(self) -> str:
        """The registered name of its kind, such as ``llm_judge``."""
        ...

    @property
    def weight(self) -> float:
        """How much it counts in the case's score; 0 shows but does not count."""
        ...

    @property
    def required(self) -> bool:
        """Whether its failing fails the case."""
        ...

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Work out the evaluation of a case, step by step."""
        ...
