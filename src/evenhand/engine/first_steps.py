"""What evaluators want first: as far as one can see before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from evenhand.domain.ask import Evaluator, Steps, Want
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.verdict import Verdict
from evenhand.engine.token_estimate import CHARACTERS_A_TOKEN, JUDGMENT_TOKENS
from evenhand.evaluators.aggregators import ByModel, ByProgram, Member
from evenhand.evaluators.asking import DEFAULT_ATTEMPTS
from evenhand.evaluators.cascade import Cascade
from evenhand.evaluators.composite import CompositeEvaluator


def first_wants(steps: Steps[Any]) -> tuple[Want, ...]:
    """Return what an evaluator or a target wants first; nothing is done."""
    try:
        return next(steps)
    except StopIteration:  # there is nothing that it would have to ask
        return ()
    finally:
        steps.close()


def all_steps(evaluator: Evaluator, case: Case) -> Iterator[tuple[Steps[Any], int, bool]]:
    """Yield the steps of an evaluator, or of all within it, how often each may ask, and whether it surely will.

    Those are the members and the meta-judge of a composite, and the stages of a cascade.
    """
    if isinstance(evaluator, Cascade):
        for number, stage in enumerate(cast("tuple[Evaluator, ...]", evaluator.stages)):
            yield from ((steps, attempts, number == 0 and sure) for steps, attempts, sure in all_steps(stage, case))
        return
    if not isinstance(evaluator, CompositeEvaluator):
        yield evaluator.steps(case), _attempts(evaluator), True
        return
    members = cast("tuple[Evaluator, ...]", evaluator.members)
    for member in members:
        yield from all_steps(member, case)
    # A meta-judge asks when the members have answered, which nobody can wait for here.
    if isinstance(evaluator.aggregator, (ByModel, ByProgram)) and case.candidate_answer is not None:
        steps = evaluator.aggregator.steps(case, [_assumed(member) for member in members])
        yield steps, _attempts(evaluator.aggregator.judge), True


def _attempts(evaluator: Evaluator) -> int:
    attempts = getattr(evaluator, "max_attempts", None)
    return attempts if isinstance(attempts, int) else DEFAULT_ATTEMPTS


def _assumed(member: Evaluator) -> Member:
    evaluation = Evaluation.with_score(
        evaluator=member.name,
        type=member.type,
        score=1.0,
        verdict=Verdict.PASS,
        reasoning="." * (JUDGMENT_TOKENS * CHARACTERS_A_TOKEN),
    )
    return Member(name=member.name, evaluation=evaluation, weight=member.weight, required=member.required)
