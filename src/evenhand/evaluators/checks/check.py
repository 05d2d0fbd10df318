"""What the checks without a judge have in common (SPEC-O4): what they find, and how they are negated."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError, ContractError, require_flag
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import Verdict, reaches
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.value_text import shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a check found: how much of what was expected is there, and sentences for what is and what is not."""

    score: float
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def that(cls, satisfied: bool, sentence: str, **details: Any) -> Found:
        """Make the finding of a check that is satisfied or not."""
        lines = {"hits": (sentence,)} if satisfied else {"misses": (sentence,)}
        return cls(score=float(satisfied), details=details, **lines)


@dataclass(frozen=True, slots=True)
class Missing:
    """What was not there to be checked, as a sentence."""

    sentence: str


Finding: TypeAlias = Found | Missing

_MOST_QUOTED: Final = 80
# What would break a line, or not be seen in it.
_UNSEEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")

NO_ANSWER = Missing("There is no candidate answer.")
NO_REFERENCE = Missing("There is neither a value nor a reference answer to compare with.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeterministicCheck(BaseEvaluator):
    """A check that always finds the same; ``negate`` turns what it finds around."""

    negate: bool = False

    def __post_init__(self) -> None:
        BaseEvaluator.__post_init__(self)
        require_flag(self.negate, "negate", where=self.where)

    @abstractmethod
    def look(self, case: Case) -> Steps[Finding]:
        """Find what there is to find, step by step; ``ContractError`` means that it could not be found out."""

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Check a case."""
        try:
            finding = yield from self.look(case)
        except ContractError as error:
            return self.failed(error.failure)
        if isinstance(finding, Missing):
            return self.not_evaluated(finding.sentence)
        score, hits, misses = finding.score, finding.hits, finding.misses
        if self.negate:
            score, hits, misses = 1 - score, misses, hits
        sentences = shortened(" ".join(hits + misses))
        return self.scored(
            score,
            hits=hits,
            misses=misses,
            reasoning=f"Negated: {sentences}" if self.negate else sentences,
            details=finding.details,
            verdict=self._verdict(finding.score),
        )

    def _verdict(self, score: float) -> Verdict | None:  # noqa: ARG002 - for checks with a mark of their own
        """Return the verdict for what was found; None leaves it to the thresholds."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedCheck(DeterministicCheck):
    """A check that finds a degree; with ``min``, that much passes and less fails, whatever the thresholds."""

    min: float | None = None

    def __post_init__(self) -> None:
        DeterministicCheck.__post_init__(self)
        if self.min is not None and not (is_finite_number(self.min) and 0 <= self.min <= 1):
            raise ConfigError(f"{self.where}: min is {self.min!r}; it must be a number from 0 to 1", key="min")

    def is_enough(self, score: float) -> bool:
        """Return whether a score passes, negated or not."""
        return reaches(score, self.marks.pass_at if self.min is None else self.min)

    def _verdict(self, score: float) -> Verdict | None:
        if self.min is None:
            return None
        return Verdict.PASS if self.is_enough(score) is not self.negate else Verdict.FAIL


def require_text(where: str, value: object) -> None:
    """Refuse an option that is neither text nor absent."""
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{where}: value is {value!r:.80}; it must be text, so put it in quotes", key="value")


def quoted(text: str) -> str:
    r"""Quote a text on one line as it was written, and no more of it than helps: its backslashes stay as they are.

    >>> print(quoted(r"\[\d\]"), quoted('say "yes"'), quoted("one\ntwo"))
    "\[\d\]" 'say "yes"' "one\ntwo"
    """
    seen = _UNSEEN.sub(lambda match: json.dumps(match[0])[1:-1], shortened(storable(text), _MOST_QUOTED))
    mark = "'" if '"' in seen and "'" not in seen else '"'
    return f"{mark}{seen}{mark}"
