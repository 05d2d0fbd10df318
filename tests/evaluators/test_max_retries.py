"""How often a judge is asked again: ``max_retries`` is taken wherever ``max_attempts`` is, and only one of them."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand import ConfigError, Scripted, audit, rank, registry, score
from evenhand.evaluators.asking import DEFAULT_ATTEMPTS

DESIGN = {
    "template": "{name} bakes.",
    "factors": {"name": ["Anna", "Ben"]},
    "groups": ["name"],
    "criteria": "Craft",
    "repetitions": 1,
}
EVALUATORS: dict[str, dict[str, Any]] = {
    "llm_judge": {},
    "pairwise": {},
    "profile_score": {"criteria": "Craft"},
    "group_ranking": {"criteria": "Craft"},
    "field_accuracy": {"fields": [{"path": "name"}]},
}


def made(type_: str, **options: Any) -> Any:
    return registry.evaluator({"name": "one", "type": type_, "judge": Scripted([]), **EVALUATORS[type_], **options})


@pytest.mark.parametrize("type_", EVALUATORS)
def test_each_evaluator_takes_one_of_the_two(type_: str) -> None:
    assert made(type_).max_attempts == DEFAULT_ATTEMPTS
    assert made(type_, max_retries=0).max_attempts == made(type_, max_attempts=1).max_attempts == 1
    assert made(type_, max_retries=4).max_attempts == 5


@pytest.mark.parametrize("type_", EVALUATORS)
def test_both_are_refused_even_where_they_agree(type_: str) -> None:
    with pytest.raises(ConfigError, match="max_attempts 2 and max_retries 1 are both given; give one of them"):
        made(type_, max_attempts=2, max_retries=1)


@pytest.mark.parametrize(
    "act",
    [
        lambda judge, **options: score(["A"], criteria="Craft", judge=judge, store=None, **options),
        lambda judge, **options: rank(["A", "B"], criteria="Craft", judge=judge, store=None, rounds=1, **options),
        lambda judge, **options: audit(DESIGN, judge=judge, store=None, concurrency=1, **options),
    ],
)
def test_functions_take_one_of_the_two(act: Any) -> None:
    judge = Scripted(["no"] * 8)

    run = act(judge, max_retries=1).run

    (definition,) = run.record.definition["evaluators"]
    assert definition["max_attempts"] == 2
    assert len(judge.asked) == 2 * len(run)
    with pytest.raises(ConfigError, match="max_attempts 2 and max_retries 1 are both given"):
        act(Scripted([]), max_attempts=2, max_retries=1)
