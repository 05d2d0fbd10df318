"""Where a case or an evaluation stands: its verdict, or why it has none."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from evenhand.domain.aggregate import CaseScore
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult
from evenhand.domain.summary import Tally


class Standing(StrEnum):
    """Six states that are never mixed up: a broken judge is no fail, and what was not judged is no zero (SPEC-E2)."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    BORDERLINE = "borderline"
    FAIL = "fail"
    ERROR = "error"
    NOT_EVALUATED = "not_evaluated"
    PENDING = "pending"

    @property
    def glyph(self) -> str:
        """The sign that stands beside the word, so that colour is never alone."""
        return _GLYPHS[self]

    @property
    def word(self) -> str:
        """The state in words."""
        return self.value.replace("_", " ")

    @property
    def scored(self) -> bool:
        """Whether there is a score that counts."""
        return self in {Standing.PASS, Standing.BORDERLINE, Standing.FAIL}

    @classmethod
    def of(cls, found: CaseScore | Evaluation) -> Standing:
        """Give the standing of a score or an evaluation."""
        if found.status is Status.SCORED and found.verdict is not None:
            return cls(found.verdict.value)
        return cls.ERROR if found.status is Status.ERROR else cls.NOT_EVALUATED

    @classmethod
    def of_case(cls, result: CaseResult) -> Standing:
        """Give the standing of a case; one with judgments still to come is pending, whatever the others say."""
        return cls.PENDING if result.pending else cls.of(result.outcome)


def standings(tally: Tally) -> Mapping[Standing, int]:
    """Give the counts of a tally by standing."""
    return {
        Standing.PASS: tally.passed,
        Standing.BORDERLINE: tally.borderline,
        Standing.FAIL: tally.failed,
        Standing.ERROR: tally.errors,
        Standing.NOT_EVALUATED: tally.not_evaluated,
        Standing.PENDING: tally.pending,
    }


_GLYPHS = {
    Standing.PASS: "✓",
    Standing.BORDERLINE: "≈",
    Standing.FAIL: "✗",
    Standing.ERROR: "!",
    Standing.NOT_EVALUATED: "–",
    Standing.PENDING: "…",
}
