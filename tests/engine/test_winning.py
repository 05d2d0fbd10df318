"""Win rates of runs with a pairwise evaluator."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from evenhand import Case, ConfigError, Contains, PairwiseEvaluator, evaluate, win_rate


def cases(count: int) -> list[Case]:
    return [
        Case(id=f"c{n}", candidate_answer=f"good {n % 4} " + "x" * (10 * n), reference_answer="good 2 " + "x" * 50)
        for n in range(count)
    ]


def by_quality(messages: Any) -> str:
    a, b = (int(points) for points in re.findall(r"good (\d)", messages[-1]["content"]))
    return json.dumps({"reasoning": "", "winner": "tie" if a == b else "A" if a > b else "B"})


def test_wins_ties_and_losses_make_the_rate() -> None:
    found = win_rate(evaluate(cases(20), PairwiseEvaluator(judge=by_quality), store=None))

    assert (found.n, found.wins, found.ties, found.losses, found.errors, found.flips) == (20, 5, 5, 10, 0, 0)
    assert found.rate == pytest.approx(0.375)
    assert found.interval is not None
    assert found.interval.low < 0.375 < found.interval.high
    assert found.rate_at_equal_length == pytest.approx(0.375, abs=0.1)
    assert found.position_p is None


def test_a_judge_with_a_place_is_found_by_its_flips() -> None:
    first = PairwiseEvaluator(judge=lambda _: '{"reasoning": "", "winner": "A"}')

    found = win_rate(evaluate(cases(12), first, store=None))

    assert (found.rate, found.ties, found.flips, found.flips_to_first) == (0.5, 12, 12, 12)
    assert (found.position_p or 1) < 0.001


def test_errors_are_in_no_rate() -> None:
    def moody(messages: Any) -> str:
        return "no" if "good 0" in messages[-1]["content"] else by_quality(messages)

    found = win_rate(evaluate(cases(8), PairwiseEvaluator(judge=moody, max_attempts=1), store=None))

    assert (found.n, found.errors) == (6, 2)


def test_it_must_be_clear_which_evaluator_is_meant() -> None:
    two = [PairwiseEvaluator(name=name, judge=by_quality) for name in ("kind", "right")]
    run = evaluate(cases(3), two, store=None)

    assert win_rate(run, evaluator="kind").n == 3
    with pytest.raises(ConfigError, match="several pairwise evaluators, kind, right; name one"):
        win_rate(run)
    with pytest.raises(ConfigError, match="no pairwise evaluator 'knd'; did you mean 'kind'"):
        win_rate(run, evaluator="knd")
    with pytest.raises(ConfigError, match="the run has no pairwise evaluation"):
        win_rate(evaluate(cases(1), Contains(value="x"), store=None))


def test_a_case_that_is_judged_five_times_counts_once() -> None:
    once = win_rate(evaluate(cases(20), PairwiseEvaluator(judge=by_quality), store=None))
    often = win_rate(evaluate(cases(20), PairwiseEvaluator(judge=by_quality), repeat=5, store=None))

    assert (often.n, often.wins, often.ties, often.losses) == (once.n, once.wins, once.ties, once.losses)
    assert (often.rate, often.interval) == (once.rate, once.interval)
    assert often.interval_at_equal_length == once.interval_at_equal_length


def test_samples_that_disagree_make_a_win_of_the_more_frequent() -> None:
    replies = iter(["A", "B", "A", "A", "A", "B"])  # a win, a flip, a win

    def moody(messages: Any) -> str:
        return json.dumps({"reasoning": "", "winner": next(replies)})

    found = win_rate(evaluate(cases(1), PairwiseEvaluator(judge=moody), repeat=3, concurrency=1, store=None))

    assert (found.n, found.wins) == (1, 1)
    assert found.rate == pytest.approx(5 / 6)


def test_a_tie_in_one_order_only_is_a_flip_for_no_place() -> None:
    def half(messages: Any) -> str:
        first = messages[-1]["content"].index("good 2") > messages[-1]["content"].index("good 1")
        return json.dumps({"reasoning": "", "winner": "A" if first else "tie"})

    pair = [Case(id="a", candidate_answer="good 1", reference_answer="good 2")]
    found = win_rate(evaluate(pair, PairwiseEvaluator(judge=half), store=None))

    assert (found.ties, found.flips, found.flips_to_first, found.flips_to_second) == (1, 1, 0, 0)
    assert found.position_p is None
