"""Evaluators within another: how they are given, asked, named and put on record."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand import registry
from evenhand.domain.ask import Evaluator, Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, ScriptExhaustedError, about
from evenhand.domain.evaluation import Evaluation, total_usage
from evenhand.domain.failure import Failure

_EVALUATOR = ("name", "type", "weight", "required", "steps")


def made_members(given: Any, *, where: str, key: str, what: str, least: int = 1) -> tuple[Evaluator, ...]:
    """Return evaluators that were given as such or as definitions, under a key such as ``members``."""
    if isinstance(given, (str, Mapping)) or not isinstance(given, Sequence) or len(given) < least:
        several = "one evaluator" if least == 1 else f"{least} evaluators"
        raise ConfigError(f"{where}: {key} must be a list with at least {several}", key=key)
    with about(key):
        made = tuple(registry.evaluator(member) if isinstance(member, Mapping) else member for member in given)
    for number, member in enumerate(made, start=1):
        if isinstance(member, type) or not all(hasattr(member, name) for name in _EVALUATOR):
            raise ConfigError(
                f"{where}: {what} {number} is {member!r:.80}, not an evaluator or its definition", key=key
            )
    return made


def guarded(evaluator: Evaluator, case: Case) -> Steps[Evaluation]:
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


def distinct_names(evaluators: Sequence[Evaluator]) -> list[str]:
    """Make the names of the members unique, by numbering those that share one."""
    names = [evaluator.name for evaluator in evaluators]
    distinct: list[str] = []
    for name in names:
        numbered = (f"{name}-{number}" for number in itertools.count(1))
        free = (candidate for candidate in numbered if candidate not in names and candidate not in distinct)
        distinct.append(name if names.count(name) == 1 else next(free))
    return distinct


def on_record(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation for the details; its attempts are, in order, in the list of the whole."""
    summary = evaluation.as_dict()
    summary["attempts"] = len(evaluation.attempts)
    return summary


def trail_of(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """Return what several evaluations took, for the evaluation that they make together."""
    attempts = tuple(attempt for evaluation in evaluations for attempt in evaluation.attempts)
    return {
        "attempts": attempts,
        "retry_count": sum(evaluation.retry_count for evaluation in evaluations),
        "usage": total_usage(attempts),
    }
