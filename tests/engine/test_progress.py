"""Counts that can be looked at while a run goes on."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.evaluation import Evaluation
from evenhand.domain.run import Judgment
from evenhand.domain.verdict import Verdict
from evenhand.engine.run import Progress


def judgment(verdict: str | None = "pass", **rest: Any) -> Judgment:
    known: dict[str, Any] = {"evaluator": "e", "type": "t"}
    if verdict is None:
        return Judgment(evaluation=Evaluation.without_score(reasoning="nothing", **known), **rest)
    if verdict == "error":
        return Judgment(evaluation=Evaluation.with_error(error="x: y", retry_count=2, **known), **rest)
    return Judgment(evaluation=Evaluation.with_score(score=0.5, verdict=Verdict(verdict), **known), **rest)


def test_each_judgment_counts_as_what_it_is() -> None:
    progress = Progress(total=9)

    for verdict in ("pass", "pass", "borderline", "fail", "error", None):
        progress.add(judgment(verdict))

    assert (progress.done, progress.scored, progress.not_evaluated, progress.errors) == (6, 4, 1, 1)
    assert (progress.passed, progress.borderline, progress.failed, progress.retries) == (2, 1, 1, 2)


def test_one_that_did_not_happen_is_no_error_even_if_it_tells_of_one() -> None:
    progress = Progress(total=1)

    progress.add(Judgment(evaluation=Evaluation.without_score(evaluator="e", type="t", reasoning="r", error="x: y")))

    assert (progress.not_evaluated, progress.errors, progress.scored) == (1, 0, 0)


def test_one_that_is_made_anew_was_counted_before() -> None:
    progress = Progress(total=3, done=3)

    progress.add(judgment(round=1))

    assert (progress.done, progress.scored) == (3, 1)


def test_the_rest_is_reckoned_from_what_this_process_has_done() -> None:
    now = 100.0
    progress = Progress(total=110, done=50, clock=lambda: now)
    assert progress.seconds_left is None

    for _ in range(20):
        progress.add(judgment())
    now = 110.0

    assert progress.seconds == 10.0
    assert progress.rate == pytest.approx(2.0)
    assert progress.seconds_left == pytest.approx(20.0)


def test_before_anything_is_done_nobody_can_tell() -> None:
    assert Progress(total=5).seconds_left is None
    assert Progress().rate == 0
