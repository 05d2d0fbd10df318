"""Anchors judged again: on both databases, with repeats, with answers of a target, and what they are compared by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, ConfigError, PromptEvaluator, add_labels, drift, evaluate
from evenhand.engine.run import Run
from evenhand.stats.drift import Drift
from evenhand.suites.drift import drift_of
from evenhand.trust.anchors import Anchor, AnchorSet
from evenhand.trust.drift import DriftLimits, DriftReport, compare_anchors

POSTGRES = (pytest.mark.slow, pytest.mark.group("postgres"))
CASES = [Case(id=f"c{number}", candidate_answer=("Paris", "Rome")[number % 2]) for number in range(60)]
IS_PARIS = {"type": "contains", "name": "city", "value": "Paris"}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=POSTGRES)])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "runs.db") if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


def labelled(run: Run) -> Run:
    rows = [{"id": case.id, "human": "pass" if case.candidate_answer == "Paris" else "fail"} for case in CASES]
    add_labels(run, rows, rater="Ann")
    return run


def test_anchors_are_judged_again_in_a_run_of_their_own_on_either_database(db: str) -> None:
    before = labelled(evaluate(CASES, IS_PARIS, store=db, name="towns", repeat=3))

    found = drift(before.id, store=db)

    again = Run.open(found.now, store=db)
    assert (found.outcome, found.anchors, found.labelled, found.flips) == ("ok", 60, True, 0)
    assert (again.name, again.record.repeat, len(again)) == ("towns (drift)", 3, 60)
    assert (drift_of(again.record) or {})["of"] == before.id
    assert drift(before, again).as_dict() == found.as_dict()


def scripted(passing: str) -> PromptEvaluator:
    """Make an evaluator whose judge passes answers with a word in them."""

    def judge(messages: Any) -> str:
        return f'{{"score": {int(passing in messages[-1]["content"])}, "reasoning": ""}}'

    return PromptEvaluator(judge=judge, name="quality")


def test_two_runs_of_a_program_are_compared_and_a_scripted_judge_that_drifted_is_found() -> None:
    cases = [Case(id=case.id, candidate_answer=case.candidate_answer, expected_outcome="So") for case in CASES]
    before, same, changed = (
        evaluate(cases, scripted(word), store=None, cache=False) for word in ("Paris", "Paris", "Rome")
    )
    labelled(before)

    assert drift(before, same).outcome == "ok"
    assert drift(before, changed, anyway=True).drifted
    with pytest.raises(ConfigError, match="were made in Python"):
        drift(before)
    with pytest.raises(ConfigError, match="was judged by a program's own judge"):
        drift(evaluate(cases[:1], {"type": "llm_judge"}, judge=lambda _: '{"score": 1}', store=None))


def anchors(said: str, people: str = "") -> AnchorSet:
    """Make anchors: ``+`` passes, ``-`` does not, ``?`` is unknown."""
    words = {"+": True, "-": False, "?": None}
    cases = tuple(
        Anchor(case=str(number), answer="h", terms="t", judge=words[judge], people=words[person])
        for number, (judge, person) in enumerate(zip(said, people or "?" * len(said), strict=True))
    )
    return AnchorSet(
        run="a", name="a", evaluator=None, definition={}, judges=(), models=(), judged=0.0, cases=cases
    )  # fmt: skip


def compared(then: str, now: str, people: str = "", **limits: float) -> DriftReport:
    after = anchors(now)
    return compare_anchors(anchors(then, people), after.cases, after, DriftLimits(**limits))


@pytest.mark.parametrize(
    ("then", "now", "people", "outcome", "flips"),
    [
        ("+" * 100, "+" * 100, "+" * 100, "ok", 0),
        ("+" * 100, "-" * 20 + "+" * 80, "+" * 100, "drifted", 20),
        ("+" * 100, "-" * 20 + "+" * 80, "-" * 100, "ok", 20),  # it errs less than before
        ("+" * 100, "-" * 3 + "+" * 97, "+" * 100, "undecided", 3),
        ("+" * 100, "+" * 100, "", "ok", 0),
        ("+" * 100, "-" * 3 + "+" * 97, "", "undecided", 3),
        ("+" * 100, "-" * 20 + "+" * 80, "", "drifted", 20),
        ("?" * 5, "+" * 5, "+" * 5, "undecided", 0),
        ("", "", "", "undecided", 0),
    ],
)
def test_the_outcome_follows_from_labels_or_else_from_flips(
    then: str, now: str, people: str, outcome: str, flips: int
) -> None:
    found = compared(then, now, people)

    assert (found.outcome, found.flips) == (outcome, flips)
    assert found.labelled is bool(people)
    assert isinstance(found.change, Drift) is bool(people and "+" in then)


def test_what_was_not_scored_is_counted_by_when() -> None:
    found = compared("+?+?+", "++??-", "+++++")

    assert found.anchors == 2
    assert found.left_out == {"without a score then": 1, "without a score now": 1, "without a score then and now": 1}


@pytest.mark.parametrize("limits", [{"max_drop": 0}, {"max_drop": 1}, {"usual_flips": float("nan")}])
def test_limits_that_mean_nothing_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="it must be above 0 and below 1"):
        DriftLimits(**limits)
