"""A judgment as reports and pages show it, and the attempts that led to it or to an answer."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from evenhand.domain.evaluation import Attempt, Check, Evaluation, Usage
from evenhand.domain.failure import Failure
from evenhand.domain.run import Judgment, MadeAnswer
from evenhand.domain.verdict import Verdict
from evenhand.reports.counts import NO_ANSWER
from evenhand.reports.highlights import stated_models_of
from evenhand.reports.html.markup import tag
from evenhand.reports.phrases import Standing, cost_text, counted, duration_text
from evenhand.reports.safe_text import strict_json

# A group that was put in order, and a profile that has a score: neither is a verdict.
RANKED: Final = "ranked"
SCORED: Final = "scored"

_PROMPTS: Final = {"systemPrompt": "System prompt", "userPrompt": "User prompt"}


@functools.cache
def badge(standing: str) -> Markup:
    """Show a standing, or that a group was ranked or a profile scored, by sign, word and colour."""
    sign, _, word = badge_text(standing).partition(" ")
    return tag("span", tag("span", sign, aria_hidden="true"), f" {word}", class_=f"badge {standing}")


def badge_text(standing: str) -> str:
    """Return the sign and the word of a standing, or of what was ranked or scored.

    >>> badge_text("not_evaluated"), badge_text("scored")
    ('– not evaluated', '✓ scored')
    """
    if standing in (RANKED, SCORED):
        return f"{Standing.PASS.glyph} {standing}"
    return f"{Standing(standing).glyph} {Standing(standing).word}"


def outcome_of(standing: Standing, scale: int | None, *, has_verdicts: bool = True) -> str:
    """Return a standing as it is shown: where there are no verdicts, what was ranked or scored is only that."""
    if not standing.scored:
        return standing.value
    if scale is None:
        return RANKED
    return standing.value if has_verdicts else SCORED


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

    @property
    def told(self) -> Iterator[tuple[str, str]]:
        """What the target told of the answer beside that: what it was based on, and what no judge sees."""
        made = self.made
        if made.context is not None and not made.documents:
            yield "Context of the answer", "None was found."
        for number, document in enumerate(made.documents, 1):
            name = "" if document.id is None else f": {document.id}"
            of = "" if isinstance(made.context, str) else f", document {number}{name}"
            yield f"Context of the answer{of}", document.text
        if rest := {**made.metadata, **made.more}:
            yield "Other fields of the answer", json.dumps(rest, ensure_ascii=False, indent=2)


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
    has_verdicts: bool = True

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
    def outcome(self) -> str:
        """Its standing as it is shown."""
        return outcome_of(self.standing, self.scale, has_verdicts=self.has_verdicts)

    @property
    def score(self) -> str | None:
        """The score; None after an error, which is not a score of zero (SPEC-E2)."""
        return score_out_of(self.evaluation.score, self.scale) if self.standing.scored else None

    @property
    def error_note(self) -> str:
        """How an error affects the numbers."""
        if self.scale is None:
            return "The judge failed: the group is left out of the ranking."
        whose = "No answer:" if Failure.of(self.evaluation.error or "").kind == NO_ANSWER else "The judge failed:"
        return f"{whose} no score; left out of all means."

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
    def checks(self) -> list[tuple[Check, str]]:
        """The checks, each with the item of the rubric that it is about."""
        lines = (*self.evaluation.hits, *self.evaluation.misses)
        return [(check, _item_in(lines, check)) for check in self.evaluation.checks]

    @property
    def points(self) -> list[tuple[str, str]]:
        """Hits and misses, as ``pass`` and ``fail``; those of checks and schema errors are shown as such."""
        if self.schema_errors:
            return []
        starts = tuple(f"[{check.id}] " for check in self.evaluation.checks)
        hits, misses = self.evaluation.hits, self.evaluation.misses
        points = [*((Verdict.PASS.value, hit) for hit in hits), *((Verdict.FAIL.value, miss) for miss in misses)]
        return [(verdict, point) for verdict, point in points if not point.startswith(starts)]

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


def _item_in(lines: Sequence[str], check: Check) -> str:
    """Return the item that a check is about, from the line of hits or misses that has it; "" where there is none."""
    start = f"[{check.id}] "
    line = next((line.removeprefix(start) for line in lines if line.startswith(start)), "")
    return line.removesuffix(f": {check.reasoning}") if check.reasoning else line


def score_out_of(score: float | None, scale: int | None) -> str | None:
    """Write a score on the scale of its run; None where there is none."""
    if score is None or scale is None:
        return None
    return f"{score:.3f}" if scale == 1 else f"{score * scale:.2f} of {scale}"


def _is_schema_error(error: object) -> bool:
    return isinstance(error, Mapping) and isinstance(error.get("path"), str) and isinstance(error.get("message"), str)
