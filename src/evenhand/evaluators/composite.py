"""Several evaluators as one: a team, a jury of models, a panel with a meta-judge (SPEC-O3)."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, cast

from evenhand import registry
from evenhand.domain.ask import Evaluator, Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, ScriptExhaustedError, about
from evenhand.domain.evaluation import Evaluation, Status, total_usage
from evenhand.domain.failure import Failure
from evenhand.domain.verdict import Verdict
from evenhand.drive.driver import together
from evenhand.evaluators.aggregators import Aggregator, Member, aggregator_of
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.evaluators.reading import AMBIGUOUS

MEMBERS_LEFT_OUT = "members_left_out"
_EVALUATOR = ("name", "type", "weight", "required", "steps")
# What jurors may differ in: who they are, how often they are asked, how much they count, and what passes.
_OF_A_JUROR = frozenset(("name", "judge", "max_attempts", "weight", "required", "thresholds"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeEvaluator(BaseEvaluator):
    """Evaluates a case with several members side by side and combines what they find.

    >>> from evenhand import Case, CompositeEvaluator, Contains, Equals
    >>> team = CompositeEvaluator(members=[Contains(value="Paris"), Equals(value="Paris!", weight=3)])
    >>> team.evaluate(Case(candidate_answer="Paris")).score
    0.25

    ``members`` are evaluators or their definitions; each brings its weight and whether it is required. ``aggregator``
    is ``weighted_average``, ``majority``, ``median``, ``min``, ``{"type": "threshold", "threshold": 0.5}``,
    ``{"type": "llm_judge", "judge": …}`` or ``{"type": "code_judge", "command": […]}``. Members that failed or had
    nothing to judge are left out, and said; when none is left, the composite has failed.
    """

    type: ClassVar[str] = "composite"

    members: Sequence[Evaluator | Mapping[str, Any]]
    aggregator: str | Mapping[str, Any] | Aggregator = "weighted_average"

    def __post_init__(self) -> None:
        BaseEvaluator.__post_init__(self)
        if isinstance(self.members, (str, Mapping)) or not isinstance(self.members, Sequence) or not self.members:
            raise ConfigError(f"{self.where}: members must be a list with at least one evaluator", key="members")
        with about("members"):
            made = [registry.evaluator(member) if isinstance(member, Mapping) else member for member in self.members]
        for number, member in enumerate(made, start=1):
            if isinstance(member, type) or not all(hasattr(member, name) for name in _EVALUATOR):
                raise ConfigError(
                    f"{self.where}: member {number} is {member!r:.80}, not an evaluator or its definition",
                    key="members",
                )
        if sum(member.weight for member in made) <= 0:
            raise ConfigError(
                f"{self.where}: the members' weights are all 0; at least one must be above 0", key="members"
            )
        self._set("members", tuple(made))
        with about("aggregator"):
            self._set("aggregator", aggregator_of(self.aggregator, where=self.where))

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Let all members judge, then combine those that could."""
        evaluators = cast("tuple[Evaluator, ...]", self.members)
        evaluations = yield from together([_guard(evaluator, case) for evaluator in evaluators])
        members = [
            Member(name=name, evaluation=evaluation, weight=evaluator.weight, required=evaluator.required)
            for name, evaluation, evaluator in zip(_distinct_names(evaluators), evaluations, evaluators, strict=True)
        ]
        counted = [member for member in members if member.evaluation.status is Status.SCORED]
        details = _details(members, counted)
        if _is_jury(evaluators):
            details["jury"] = True
        if problem := _problem(members, counted, has_answer=case.candidate_answer is not None):
            return self.failed(problem, details=details, **_trail(evaluations))
        if not counted:
            return self.not_evaluated("There is no candidate answer.", details=details, **_trail(evaluations))
        combined = yield from cast("Aggregator", self.aggregator).steps(case, counted)
        trail = _trail(evaluations)
        if combined.own is not None:
            details["meta_judge"] = _summary(combined.own)
            trail = _trail([*evaluations, combined.own]) | {
                "evaluator_provider_request": combined.own.evaluator_provider_request
            }
            if combined.own.status is not Status.SCORED:
                why = combined.own.error or combined.own.reasoning
                return self.failed(Failure("meta_judge", why), details=details, **trail)
        verdict = combined.verdict or self.marks.verdict(combined.score)
        if any(member.required and member.evaluation.verdict is Verdict.FAIL for member in counted):
            verdict = Verdict.FAIL
        return self.scored(
            combined.score,
            score_raw=combined.score,
            verdict=verdict,
            hits=_points(counted, "hits"),
            misses=_points(counted, "misses"),
            reasoning=combined.reasoning,
            details=details,
            flags=_flags(members, counted, combined.own),
            **trail,
        )


def jury(
    judges: Sequence[Any], *, aggregator: str | Mapping[str, Any] = "median", **options: Any
) -> CompositeEvaluator:
    """Make a jury: the same question to several judges, whose agreement is reported with the result.

    Judges of different families err differently; several of one family mostly repeat each other. ``name``, ``weight``
    and ``required`` are the jury's, all other options each juror's, as for ``PromptEvaluator``.
    """
    if isinstance(judges, str) or not isinstance(judges, Sequence) or len(judges) < 2:
        raise ConfigError("a jury needs a list of at least two judges")
    if "judge" in options:
        raise ConfigError("a jury takes a list of judges; leave out judge")
    own = {key: options.pop(key) for key in ("name", "weight", "required") if key in options}
    clients = [registry.judge(judge) for judge in judges]
    jurors = [
        registry.make(PromptEvaluator, {"judge": client, "name": client.name, **options}, where="jury")
        for client in clients
    ]
    return CompositeEvaluator(members=jurors, aggregator=aggregator, thresholds=options.get("thresholds"), **own)


def _is_jury(evaluators: Sequence[Evaluator]) -> bool:
    """Return whether all members put the same question to a judge: others differ without being at odds."""
    first = evaluators[0]
    if len(evaluators) < 2 or not isinstance(first, PromptEvaluator):
        return False
    options = [field.name for field in fields(first) if field.name not in _OF_A_JUROR]
    return all(
        type(other) is type(first) and all(getattr(other, name) == getattr(first, name) for name in options)
        for other in evaluators[1:]
    )


def _guard(evaluator: Evaluator, case: Case) -> Steps[Evaluation]:
    """Turn a member's crash into its failed evaluation, so that it does not take the others with it."""
    try:
        evaluation = yield from evaluator.steps(case)
        if not isinstance(evaluation, Evaluation):
            raise TypeError(f"steps must return an Evaluation, not {type(evaluation).__name__}")
    except ScriptExhaustedError:
        raise
    except Exception as error:  # members are anybody's code
        crash = Failure("crashed", f"{type(error).__name__}: {error}")
        return Evaluation.with_error(evaluator=evaluator.name, type=evaluator.type, error=crash)
    return evaluation


def _problem(members: Sequence[Member], counted: Sequence[Member], *, has_answer: bool) -> Failure | None:
    """Say why the members' findings cannot be combined; None where they can, or where there is nothing to judge."""
    broken = [member for member in members if member.evaluation.status is Status.ERROR]
    for member in broken:
        if member.required:  # without it nobody knows whether the whole would have failed
            return Failure("members", f"{member.name} is required and failed: {member.evaluation.error}")
    if any(member.weight > 0 for member in counted) or not (broken or counted or has_answer):
        return None
    reasons = [f"{member.name}: {member.evaluation.error or member.evaluation.reasoning}" for member in members]
    return Failure("members", f"none could be counted ({'; '.join(reasons)})")


def _distinct_names(evaluators: Sequence[Evaluator]) -> list[str]:
    """Make the names of the members unique, by numbering those that share one."""
    names = [evaluator.name for evaluator in evaluators]
    distinct: list[str] = []
    for name in names:
        numbered = (f"{name}-{number}" for number in itertools.count(1))
        free = (candidate for candidate in numbered if candidate not in names and candidate not in distinct)
        distinct.append(name if names.count(name) == 1 else next(free))
    return distinct


def _details(members: Sequence[Member], counted: Sequence[Member]) -> dict[str, Any]:
    left_out = {
        member.name: member.evaluation.error or member.evaluation.reasoning
        for member in members
        if member.evaluation.status is not Status.SCORED
    }
    details: dict[str, Any] = {
        "members": [_summary(member.evaluation) | {"evaluator": member.name} for member in members],
        "left_out": left_out,
    }
    if len(counted) > 1:
        details["agreement"] = _agreement(counted)
    return details


def _agreement(counted: Sequence[Member]) -> dict[str, Any]:
    """Return how far the members agree: the share of pairs with the same verdict, and the spread of the scores."""
    verdicts = [member.evaluation.verdict for member in counted]
    pairs = list(itertools.combinations(verdicts, 2))
    return {
        "same_verdict": sum(first is second for first, second in pairs) / len(pairs),
        "score_spread": statistics.stdev([member.score for member in counted]),
        "n": len(counted),
    }


def _summary(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation for the details; its attempts are, in order, in the composite's own list."""
    summary = evaluation.as_dict()
    summary["attempts"] = len(evaluation.attempts)
    return summary


def _trail(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    attempts = tuple(attempt for evaluation in evaluations for attempt in evaluation.attempts)
    return {
        "attempts": attempts,
        "retry_count": sum(evaluation.retry_count for evaluation in evaluations),
        "usage": total_usage(attempts),
    }


def _flags(members: Sequence[Member], counted: Sequence[Member], own: Evaluation | None) -> tuple[str, ...]:
    """Return the flags of the whole: also that the verdict of one who counted is one of several."""
    flags = [] if len(counted) == len(members) else [MEMBERS_LEFT_OUT]
    judged = [member.evaluation for member in counted] + ([] if own is None else [own])
    if any(AMBIGUOUS in evaluation.flags for evaluation in judged):
        flags.append(AMBIGUOUS)
    return tuple(flags)


def _points(counted: Sequence[Member], name: str) -> tuple[str, ...]:
    return tuple(f"[{member.name}] {point}" for member in counted for point in getattr(member.evaluation, name))
