"""A case as reports and pages show it: what was asked and answered, and how it was judged."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from evenhand.domain.aggregate import CaseScore
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Attempt, Evaluation, Usage
from evenhand.domain.failure import Failure
from evenhand.domain.json_codec import case_to
from evenhand.domain.message import Message, messages_from
from evenhand.domain.run import CaseResult, Judgment, MadeAnswer
from evenhand.domain.verdict import Verdict
from evenhand.reports.counts import NO_ANSWER
from evenhand.reports.highlights import stated_models_of
from evenhand.reports.html.markup import tag
from evenhand.reports.phrases import Standing, cost_text, counted, duration_text, score_text
from evenhand.reports.safe_text import strict_json
from evenhand.reports.summary import blamed

# A group that was put in order, which is no verdict on it.
RANKED: Final = "ranked"

_PROMPTS: Final = {"systemPrompt": "System prompt", "userPrompt": "User prompt"}
_SHOWN_BY_THEMSELVES: Final = frozenset(
    {
        "id", "question", "input_messages", "candidate_answer", "output_messages", "reference_answer",
        "expected_messages", "expected_outcome", "context",
    }
)  # fmt: skip


@functools.cache
def badge(standing: str) -> Markup:
    """Show a standing, or that a group was ranked, by sign, word and colour."""
    sign, word = ("✓", RANKED) if standing == RANKED else (Standing(standing).glyph, Standing(standing).word)
    return tag("span", tag("span", sign, aria_hidden="true"), f" {word}", class_=f"badge {standing}")


def attempts_phrase(attempts: Sequence[Attempt]) -> str:
    """Say how many attempts there were, and how they went.

    >>> attempts_phrase([Attempt(kind="transport", error="timeout"), Attempt(kind="reply", raw="{}", cached=True)])
    '2 attempts, 1 failed, 1 cached'
    """
    failed = sum(attempt.error is not None for attempt in attempts)
    cached = sum(attempt.cached for attempt in attempts)
    outcomes = ((failed, "failed"), (cached, "cached"))
    return ", ".join([counted(len(attempts), "attempt"), *(f"{count} {word}" for count, word in outcomes if count)])


def _tokens(usage: Usage | None) -> str | None:
    return None if usage is None else f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer that a target made; ``is_only`` if the case has no other samples."""

    made: MadeAnswer
    is_only: bool

    @property
    def title(self) -> str:
        """What it is called."""
        return "Answer" if self.is_only else f"Answer, sample {self.made.sample + 1}"

    @property
    def facts(self) -> list[str]:
        """What it took."""
        took = None if self.made.latency is None else duration_text(self.made.latency)
        return [fact for fact in (took, _tokens(self.made.usage), f"cost {cost_text(self.made.cost)}") if fact]


@dataclass(frozen=True, slots=True)
class AttemptView:
    """An attempt, with its number."""

    number: int
    attempt: Attempt

    @property
    def facts(self) -> list[str]:
        """What kind of attempt it was, and what it took."""
        took = "from the cache" if self.attempt.cached else duration_text(self.attempt.latency)
        facts = (f"{self.number}. {self.attempt.kind}", took, _tokens(self.attempt.usage), self.attempt.model)
        return [fact for fact in facts if fact]


def attempt_views(attempts: Sequence[Attempt]) -> list[AttemptView]:
    """Return attempts with their numbers."""
    return [AttemptView(number, attempt) for number, attempt in enumerate(attempts, 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgmentView:
    """The judgment of an evaluator for one sample; ``has_siblings`` if there are judgments of other samples."""

    judgment: Judgment
    has_siblings: bool
    scale: int | None = 1

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation."""
        return self.judgment.evaluation

    @property
    def title(self) -> str:
        """The name of the evaluator, and the sample."""
        sample = f", sample {self.judgment.sample + 1}" if self.has_siblings else ""
        return f"{self.evaluation.evaluator}{sample}"

    @property
    def standing(self) -> Standing:
        """Its verdict, or why there is none."""
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
        # A score on another scale is shown on that scale already.
        is_shown = (
            evaluation.score_raw in (None, evaluation.score, evaluation.label)
            or self.scale not in (None, 1)
            or is_order
        )
        facts = [
            evaluation.type,
            judge if isinstance(judge, str) else None,
            f"replied as {', '.join(models)}" if (models := stated_models_of(evaluation)) else None,
            None if evaluation.label is None else f"label {evaluation.label}",
            None if is_shown else f"given as {strict_json(evaluation.score_raw)}",
            None if self.judgment.weight == 1 else f"weight {self.judgment.weight:g}",
            "required" if self.judgment.required else None,
            f"asked {evaluation.retry_count + 1} times" if evaluation.retry_count else None,
            f"flags: {', '.join(evaluation.flags)}" if evaluation.flags else None,
        ]
        return [fact for fact in facts if fact]

    @property
    def schema_errors(self) -> list[tuple[str, str]]:
        """The errors that a schema found, each with its path."""
        errors = self.evaluation.details.get("errors")
        if not isinstance(errors, list) or not all(map(_is_schema_error, errors)):
            return []
        return [(error["path"], error["message"]) for error in errors]

    @property
    def details(self) -> dict[str, Any]:
        """Further details from the evaluator."""
        details = self.evaluation.details
        shown = {"judge"} if isinstance(details.get("judge"), str) else set()
        if self.schema_errors or details.get("errors") == []:
            shown |= {"errors", "valid"}
        return {name: value for name, value in details.items() if name not in shown}

    @property
    def satisfied(self) -> int:
        """How many checks are satisfied."""
        return sum(check.satisfied for check in self.evaluation.checks)

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
        """The prompts as they were sent, the system prompt first."""
        request = self.evaluation.evaluator_provider_request or {}
        order = [*(name for name in _PROMPTS if name in request), *(name for name in request if name not in _PROMPTS)]
        return [(_PROMPTS.get(name, name), request[name]) for name in order]

    @property
    def raw(self) -> str | None:
        """The last raw reply of the judge."""
        return next((attempt.raw for attempt in reversed(self.evaluation.attempts) if attempt.raw is not None), None)


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

    Scores range from 0 to ``scale``, which is None for a group of a ranking. Metadata under a name in
    ``metadata_shown`` is shown as something else.
    """

    result: CaseResult
    scale: int | None = 1
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
        if self.standing is Standing.FAIL and outcome.score is None:
            yield f"fails because a required evaluator fails; no score, since {blamed(result)} failed too"
        elif self.standing is Standing.FAIL and result.thresholds.verdict(outcome.score or 0.0) is not Verdict.FAIL:
            yield "fails because a required evaluator fails"
        if len(samples := result.by_sample) > 1:
            yield f"{len(samples)} samples: {', '.join(map(self._sample, samples))}"

    def _sample(self, sample: CaseScore) -> str:
        standing = Standing.of(sample)
        if not standing.scored or sample.score is None:
            return f"{standing.glyph} {standing.word}"
        return f"{standing.glyph} {score_text(sample.score * (self.scale or 1))}"

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
        return JudgmentView(judgment=judgment, has_siblings=has_siblings, scale=self.scale)

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


def _score_out_of(score: float | None, scale: int | None) -> str | None:
    if score is None or scale is None:
        return None
    return f"{score:.3f}" if scale == 1 else f"{score * scale:.2f} of {scale}"


def _is_schema_error(error: object) -> bool:
    return isinstance(error, Mapping) and isinstance(error.get("path"), str) and isinstance(error.get("message"), str)
