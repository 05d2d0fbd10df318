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
from evenhand.domain.errors import ConfigError, about
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.failure import Failure
from evenhand.domain.verdict import Verdict
from evenhand.drive.driver import together
from evenhand.evaluators.aggregators import Aggregator, Member, aggregator_of
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.cascade import Cascade
from evenhand.evaluators.members import distinct_names, guarded, made_members, on_record, trail_of
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.evaluators.reading import AMBIGUOUS

MEMBERS_LEFT_OUT = "members_left_out"
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
        made = made_members(self.members, where=self.where, key="members", what="member")
        for number, member in enumerate(made, start=1):
            if isinstance(member, Cascade) and member.then is not None:
                raise ConfigError(
                    f"{self.where}: member {number} is a cascade that leaves cases to people, and the other members "
                    "would decide them; leave out its 'then'",
                    key="members",
                )
        if sum(member.weight for member in made) <= 0:
            raise ConfigError(
                f"{self.where}: the members' weights are all 0; at least one must be above 0", key="members"
            )
        self._set("members", made)
        with about("aggregator"):
            self._set("aggregator", aggregator_of(self.aggregator, where=self.where))

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Let all members judge, then combine those that could."""
        evaluators = cast("tuple[Evaluator, ...]", self.members)
        evaluations = yield from together([guarded(evaluator, case) for evaluator in evaluators])
        members = [
            Member(name=name, evaluation=evaluation, weight=evaluator.weight, required=evaluator.required)
            for name, evaluation, evaluator in zip(distinct_names(evaluators), evaluations, evaluators, strict=True)
        ]
        counted = [member for member in members if member.evaluation.status is Status.SCORED]
        details = _details(members, counted)
        if _is_jury(evaluators):
            details["jury"] = True
        if problem := _problem(members, counted, has_answer=case.candidate_answer is not None):
            return self.failed(problem, details=details, **trail_of(evaluations))
        if not counted:
            return self.not_evaluated("There is no candidate answer.", details=details, **trail_of(evaluations))
        combined = yield from cast("Aggregator", self.aggregator).steps(case, counted)
        trail = trail_of(evaluations)
        if combined.own is not None:
            details["meta_judge"] = on_record(combined.own)
            trail = trail_of([*evaluations, combined.own]) | {
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


def _details(members: Sequence[Member], counted: Sequence[Member]) -> dict[str, Any]:
    left_out = {
        member.name: member.evaluation.error or member.evaluation.reasoning
        for member in members
        if member.evaluation.status is not Status.SCORED
    }
    details: dict[str, Any] = {
        "members": [on_record(member.evaluation) | {"evaluator": member.name} for member in members],
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


def _flags(members: Sequence[Member], counted: Sequence[Member], own: Evaluation | None) -> tuple[str, ...]:
    """Return the flags of the whole: also that the verdict of one who counted is one of several."""
    flags = [] if len(counted) == len(members) else [MEMBERS_LEFT_OUT]
    judged = [member.evaluation for member in counted] + ([] if own is None else [own])
    if any(AMBIGUOUS in evaluation.flags for evaluation in judged):
        flags.append(AMBIGUOUS)
    return tuple(flags)


def _points(counted: Sequence[Member], name: str) -> tuple[str, ...]:
    return tuple(f"[{member.name}] {point}" for member in counted for point in getattr(member.evaluation, name))
