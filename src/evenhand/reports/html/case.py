"""A case as reports and pages show it: what was asked and answered, and how it was judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from evenhand.domain.aggregate import CaseScore
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Status
from evenhand.domain.json_codec import case_to
from evenhand.domain.message import Message, messages_from
from evenhand.domain.run import CaseResult, Judgment
from evenhand.domain.verdict import Verdict
from evenhand.reports.html.judgment import AnswerView, JudgmentView, outcome_of, score_out_of
from evenhand.reports.phrases import Standing, cost_text, counted, score_text
from evenhand.reports.safe_text import plain
from evenhand.reports.summary import blamed

_LONGEST_TITLE: Final = 160
_SHOWN_BY_THEMSELVES: Final = frozenset(
    {
        "id", "question", "input_messages", "candidate_answer", "output_messages", "reference_answer",
        "expected_messages", "expected_outcome", "context",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """A profile of a group, under the letter that the judge saw; ``place`` is None if the group was not ranked."""

    letter: str
    id: str
    text: str
    place: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """A group of a ranking: its profiles as they were shown, the judge's order, and what led to it."""

    members: tuple[MemberView, ...]
    order: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """A case with everything that is known about it.

    Scores range from 0 to ``scale``, which is None for a group of a ranking. ``has_verdicts`` is false for profiles
    that are scored without a pass mark. Metadata under a name in
    ``metadata_shown`` is shown as something else.
    """

    result: CaseResult
    scale: int | None = 1
    has_verdicts: bool = True
    group: GroupView | None = None
    metadata_shown: frozenset[str] = frozenset()

    @property
    def case(self) -> Case:
        """The case itself."""
        return self.result.case

    @property
    def noun(self) -> str:
        """What was judged."""
        return {None: "Profiles", 1: "Answer"}.get(self.scale, "Profile")

    @property
    def standing(self) -> Standing:
        """Its verdict, or why there is none."""
        return Standing.of_case(self.result)

    @property
    def title(self) -> str:
        """What distinguishes it: what was asked, or its id."""
        return plain(self.case.last_question or "", _LONGEST_TITLE) or self.result.id

    @property
    def is_titled_by_question(self) -> bool:
        """Whether its title is the whole question, which need not be shown a second time."""
        return self.case.question is not None and self.title == self.case.question

    @property
    def schema_errors(self) -> list[tuple[str, str]]:
        """The errors that schemas found in the answer, each with its path; none where there are several answers."""
        if len(self.result.answers) > 1:
            return []
        return list(dict.fromkeys(error for judgment in self.judgments for error in judgment.schema_errors))

    @property
    def has_reference(self) -> bool:
        """Whether something is given that the answer is held against."""
        return self.reference is not None or bool(self.expected_messages) or self.case.expected_outcome is not None

    @property
    def outcome(self) -> str:
        """Its standing as it is shown."""
        return outcome_of(self.standing, self.scale, has_verdicts=self.has_verdicts)

    @property
    def why(self) -> str:
        """The reasons for its score: those of the sample that is nearest to it; or the error."""
        evaluations = [judgment.evaluation for judgment in self.result.judgments]
        score = self.result.outcome.score if self.standing.scored else None
        if score is None:
            return next((evaluation.error for evaluation in evaluations[::-1] if evaluation.error is not None), "")
        counted = [evaluation for evaluation in evaluations if evaluation.status is Status.SCORED]
        return min(counted, key=lambda evaluation: abs((evaluation.score or 0.0) - score)).reasoning if counted else ""

    @property
    def score(self) -> str | None:
        """Its score, or None."""
        return score_out_of(self.result.outcome.score, self.scale) if self.standing.scored else None

    @property
    def facts(self) -> list[str]:
        """Facts about the whole case."""
        return list(self._facts())

    def _facts(self) -> Iterator[str]:
        result = self.result
        if isinstance(model := result.case.metadata.get("model"), str):
            yield model
        if result.case.cluster not in (None, result.case.metadata.get("test_case")):
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
        if self.has_verdicts and self.standing is Standing.FAIL:
            yield from self._why_it_fails()
        if len(samples := result.by_sample) > 1:
            yield f"{len(samples)} samples: {', '.join(map(self._sample, samples))}"

    def _why_it_fails(self) -> Iterator[str]:
        score = self.result.outcome.score
        if score is None:
            yield f"fails because a required evaluator fails; no score, since {blamed(self.result)} failed too"
        elif self.result.thresholds.verdict(score) is not Verdict.FAIL:
            yield "fails because a required evaluator fails"

    def _sample(self, sample: CaseScore) -> str:
        standing = Standing.of(sample)
        if not standing.scored or sample.score is None:
            return f"{standing.glyph} {standing.word}"
        score = score_text(sample.score * (self.scale or 1))
        return f"{standing.glyph} {score}" if self.has_verdicts else score

    @property
    def input_messages(self) -> list[Message]:
        """The messages that were asked."""
        return list(messages_from(self.case.input_messages))

    @property
    def output_messages(self) -> list[Message]:
        """The messages of the answer."""
        return list(messages_from(self.case.output_messages))

    @property
    def reference(self) -> str | None:
        """The reference answer, where it is not one of several messages that are shown."""
        return None if self.case.reference_text != self.case.reference_answer else self.case.reference_answer

    @property
    def expected_messages(self) -> list[Message]:
        """The messages of the reference, unless there is no more to them than the reference answer."""
        messages = list(messages_from(self.case.expected_messages))
        is_shown = messages == [Message("assistant", self.case.reference_answer or "")]
        return [] if is_shown and self.case.reference_answer is not None else messages

    @property
    def answers(self) -> list[AnswerView]:
        """The answers that a target made."""
        return [AnswerView(made, len(self.result.answers) == 1) for made in self.result.answers]

    @property
    def judgments(self) -> list[JudgmentView]:
        """The judgments of all evaluators and samples."""
        return [self._judgment(judgment) for judgment in self.result.judgments]

    def _judgment(self, judgment: Judgment) -> JudgmentView:
        has_siblings = len({other.sample for other in self.result.judgments}) > 1
        return JudgmentView(
            judgment=judgment, has_siblings=has_siblings, scale=self.scale, has_verdicts=self.has_verdicts
        )

    @property
    def replaced(self) -> list[JudgmentView | AnswerView]:
        """What was retried after an error."""
        return [
            self._judgment(replaced) if isinstance(replaced, Judgment) else AnswerView(replaced, is_only=True)
            for replaced in self.result.replaced
        ]

    @property
    def rest(self) -> dict[str, Any]:
        """The other fields of the case."""
        fields = case_to(self.case)
        if self.metadata_shown:
            metadata = self.case.metadata.items()
            fields["metadata"] = {name: value for name, value in metadata if name not in self.metadata_shown}
        return {name: value for name, value in fields.items() if name not in _SHOWN_BY_THEMSELVES}

    @property
    def attempts(self) -> int:
        """How many attempts there were."""
        judged = sum(len(judgment.evaluation.attempts) for judgment in self.result.judgments)
        return judged + sum(len(made.attempts) for made in self.result.answers)
