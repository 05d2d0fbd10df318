"""What evaluators of profiles have in common: criteria, a judge, and how often that may be asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand import registry
from evenhand.domain.case import is_blank
from evenhand.domain.errors import ConfigError
from evenhand.domain.seams import ModelClient
from evenhand.evaluators.ambiguity import KNOWN_IF_UNUSUAL, Ambiguous, check_ambiguous
from evenhand.evaluators.asking import check_attempts
from evenhand.evaluators.base import BaseEvaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class CriteriaEvaluator(BaseEvaluator):
    """An evaluator that has a judge go by criteria; ``told_to`` says in a message what these are for."""

    told_to: ClassVar[str]

    criteria: str
    judge: Any = field(default=None, repr=False)
    max_attempts: int | None = None
    ambiguous: Ambiguous = field(default="ask_again", metadata=KNOWN_IF_UNUSUAL)

    def __post_init__(self) -> None:
        BaseEvaluator.__post_init__(self)
        if not isinstance(self.criteria, str) or is_blank(self.criteria):
            raise ConfigError(f"{self.where}: criteria is {self.criteria!r:.80}; {self.told_to}")
        self._set("max_attempts", check_attempts(self.max_attempts, None, where=self.where))
        check_ambiguous(self.ambiguous, where=self.where)
        self._set("judge", registry.judge(self.judge))

    @property
    def client(self) -> ModelClient:
        """The judge, settled."""
        client: ModelClient = self.judge
        return client
