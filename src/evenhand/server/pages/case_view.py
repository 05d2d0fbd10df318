"""One case of a run as its page and the drawer show it: outcome, judgments, prompts and replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from evenhand.domain.aggregate import CaseScore
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.failure import Failure
from evenhand.domain.json_codec import case_to
from evenhand.domain.run import CaseResult, Judgment
from evenhand.domain.verdict import Verdict
from evenhand.evaluators.group_ranking import MEMBERS
from evenhand.evaluators.profile_score import SCALE
from evenhand.reports.json_text import strict_json
from evenhand.reports.phrases import Standing, cost_text, counted, score_text
from evenhand.reports.summary import NO_ANSWER, blamed
from evenhand.server.runs.views import ShownGroup

_PROMPTS: Final = {"systemPrompt": "System", "userPrompt": "User"}
_SHOWN_BY_THEMSELVES: Final = frozenset(
    {
        "id", "question", "input_messages", "candidate_answer", "output_messages", "reference_answer",
        "expected_messages", "expected_outcome",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownJudgment:
    """The judgment of an evaluator, for one sample."""

    judgment: Judgment
    several: bool
    scale: int | None = 1

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation."""
        return self.judgment.evaluation

    @property
    def title(self) -> str:
        """The name of the evaluator, and the sample."""
        sample = f", sample {self.judgment.sample + 1}" if self.several else ""
        return f"{self.evaluation.evaluator}{sample}"

    @property
    def standing(self) -> Standing:
        """Where it stands."""
        return Standing.of(self.evaluation)

    @property
    def is_ranked(self) -> bool:
        """Whether it ranked a group, which is no verdict."""
        return self.scale is None and self.standing.scored

    @property
    def score(self) -> str | None:
        """The score; None after an error, which is not a score of zero (SPEC-E2)."""
        return _score_out_of(self.evaluation.score, self.scale) if self.standing.scored else None

    @property
    def error_note(self) -> str:
        """How an error affects the numbers."""
        if self.scale is None:
            return "The judge failed: the group is left out of the ranking."
        whose = "No answer:" if Failure.of(self.evaluation.error or "").kind == NO_ANSWER else "The judge failed:"
        return f"{whose} recorded as 0, excluded from all means."

    @property
    def facts(self) -> list[str]:
        """What is shown beside the score."""
        evaluation, judge = self.evaluation, self.evaluation.details.get("judge")
        is_order = self.scale is None and "outcome" in evaluation.details
        is_shown = evaluation.score_raw in (None, evaluation.score) or self.scale == SCALE.high or is_order
        raw = None if is_shown else f"given as {strict_json(evaluation.score_raw)}"
        facts = [
            evaluation.type,
            judge if isinstance(judge, str) else None,
            raw,
            None if self.judgment.weight == 1 else f"weight {self.judgment.weight:g}",
            "required" if self.judgment.required else None,
            f"asked {evaluation.retry_count + 1} times" if evaluation.retry_count else None,
            f"flags: {', '.join(evaluation.flags)}" if evaluation.flags else None,
        ]
        return [fact for fact in facts if fact]

    @property
    def errors(self) -> list[tuple[str, str]]:
        """The errors that a schema found, each with its path."""
        listed = self.evaluation.details.get("errors")
        if not isinstance(listed, list) or not all(_is_schema_error(one) for one in listed):
            return []
        return [(one["path"], one["message"]) for one in listed]

    @property
    def details(self) -> dict[str, Any]:
        """Further details from the evaluator."""
        shown = {"judge"} | (
            {"errors", "valid"} if self.errors or self.evaluation.details.get("errors") == [] else set()
        )
        return {name: value for name, value in self.evaluation.details.items() if name not in shown}

    @property
    def has_scores(self) -> bool:
        """Whether there are checks with bands of scores."""
        return any(check.score is not None for check in self.evaluation.checks)

    @property
    def has_probabilities(self) -> bool:
        """Whether there are checks that were read from token probabilities."""
        return any(check.probability is not None for check in self.evaluation.checks)

    @property
    def prompts(self) -> list[tuple[str, str]]:
        """The prompts as they were sent, the system's first."""
        asked = self.evaluation.evaluator_provider_request or {}
        order = [*(name for name in _PROMPTS if name in asked), *(name for name in asked if name not in _PROMPTS)]
        return [(_PROMPTS.get(name, name), asked[name]) for name in order]

    @property
    def raw(self) -> str | None:
        """The last raw reply of the judge."""
        return next((one.raw for one in reversed(self.evaluation.attempts) if one.raw is not None), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCase:
    """A case with everything that was found about it; ``before`` and ``after`` are the addresses of its neighbours.

    Scores range from 0 to ``scale``, which is None for a group of a ranking. ``results`` is the address of the table.
    """

    result: CaseResult
    json: str
    results: str
    scale: int | None = 1
    before: str | None = None
    after: str | None = None

    @property
    def case(self) -> Case:
        """The case itself."""
        return self.result.case

    @property
    def standing(self) -> Standing:
        """Where it stands."""
        return Standing.of_case(self.result)

    @property
    def group(self) -> ShownGroup | None:
        """The group, if it is one of a ranking."""
        return ShownGroup.of(self.result) if self.scale is None else None

    @property
    def is_ranked(self) -> bool:
        """Whether it is a group that was ranked."""
        return self.scale is None and self.standing.scored

    @property
    def score(self) -> str | None:
        """Its score, or None."""
        return _score_out_of(self.result.outcome.score, self.scale) if self.standing.scored else None

    @property
    def facts(self) -> list[str]:
        """Facts about the whole case."""
        return list(self._facts())

    def _facts(self) -> Iterator[str]:
        result, outcome = self.result, self.result.outcome
        if isinstance(model := result.case.metadata.get("model"), str):
            yield model
        if result.case.cluster is not None:
            yield f"cluster {result.case.cluster}"
        if result.judgments and result.cost is not None:
            yield f"cost {cost_text(result.cost)}"
        if result.awaited:
            yield f"{counted(result.awaited, 'judgment')} pending"
        if self.standing is Standing.ERROR:
            means = "left out of the ranking" if self.scale is None else "no score, excluded from all means"
            yield f"{blamed(result)} failed: {means}"
        if self.scale is None:
            return
        if self.standing is Standing.FAIL and result.thresholds.verdict(outcome.score or 0.0) is not Verdict.FAIL:
            yield "fails because a required evaluator fails"
        if len(samples := result.by_sample) > 1:
            yield f"samples {', '.join(self._sample(one) for one in samples)}"

    def _sample(self, one: CaseScore) -> str:
        return score_text((one.score or 0.0) * (self.scale or 1) if Standing.of(one).scored else None)

    @property
    def judgments(self) -> list[ShownJudgment]:
        """The judgments of all evaluators and samples."""
        several = len({one.sample for one in self.result.judgments}) > 1
        return [ShownJudgment(judgment=one, several=several, scale=self.scale) for one in self.result.judgments]

    @property
    def replaced(self) -> list[tuple[str, str]]:
        """What was retried, and the error that led to it."""
        return [
            (one.evaluation.evaluator, one.evaluation.error or "")
            if isinstance(one, Judgment)
            else ("answer", one.error or "")
            for one in self.result.replaced
        ]

    @property
    def rest(self) -> dict[str, Any]:
        """The other fields of the case."""
        fields = case_to(self.case)
        if self.scale is None:
            fields["metadata"] = {name: value for name, value in self.case.metadata.items() if name != MEMBERS}
        return {name: value for name, value in fields.items() if name not in _SHOWN_BY_THEMSELVES}

    @property
    def attempts(self) -> int:
        """How many attempts there were."""
        judged = sum(len(one.evaluation.attempts) for one in self.result.judgments)
        return judged + sum(len(one.attempts) for one in self.result.answers)


def _score_out_of(score: float | None, scale: int | None) -> str | None:
    if score is None or scale is None:
        return None
    return f"{score:.3f}" if scale == 1 else f"{score * scale:.2f} of {scale}"


def _is_schema_error(one: object) -> bool:
    return isinstance(one, Mapping) and isinstance(one.get("path"), str) and isinstance(one.get("message"), str)
