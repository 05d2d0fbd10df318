"""From pairs of cases to the numbers of a comparison: everything is counted, nothing is dropped."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from evenhand.domain.comparison import STANDINGS
from evenhand.domain.errors import ConfigError
from evenhand.reports import paired_cases
from evenhand.reports.comparison import left_out_lines
from evenhand.reports.paired_cases import JudgedCase, PairedSummarizer


@pytest.fixture
def judged(made: Any) -> Any:
    """Make a case as it was judged in a run: ``judged("a", 0.9)``; None is a run that does not have it."""

    def make(identity: str, *found: Any, **rest: Any) -> JudgedCase:
        judged: JudgedCase = made.judged(made.case(*found, id=identity, **rest))
        return judged

    return make


def cell(transitions: Any, before: str, after: str) -> int:
    return int(transitions[STANDINGS.index(before)][STANDINGS.index(after)])


def test_every_case_is_counted_once(judged: Any) -> None:
    comparing = PairedSummarizer()
    comparing.add(judged("pair", 0.5), judged("pair", 0.9))
    comparing.add(judged("only-a", 0.5), None)
    comparing.add(None, judged("only-b", 0.5))
    comparing.add(judged("broken-a", "timeout: late"), judged("broken-a", 1.0))
    comparing.add(judged("broken-b", 0.7), judged("broken-b", None))
    comparing.add(judged("broken", None), judged("broken", "timeout: late"))

    found = comparing.cases()

    assert (found.in_common, found.only_a, found.only_b) == (4, 1, 1)
    assert (found.scores.n, found.unscored_a, found.unscored_b, found.unscored_both) == (1, 1, 1, 1)
    assert cell(found.transitions, "fail", "pass") == 1
    assert cell(found.transitions, "error", "pass") == 1
    assert cell(found.transitions, "borderline", "not_evaluated") == 1
    assert cell(found.transitions, "not_evaluated", "error") == 1
    assert sum(map(sum, found.transitions)) == 4


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_cases_that_are_alike_are_counted_as_if_each_were_by_itself(
    judged: Any, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paired_cases, "_MOST_ALIKE", most)
    outcomes = [judged("any", found) for found in (0.1, 0.3, 1.0, None, "timeout: late")]
    pairs = [(outcomes[n * n % 5], outcomes[n * 3 % 5]) for n in range(60)] + [(outcomes[0], None), (None, outcomes[1])]
    together, apart = PairedSummarizer(limit=4), PairedSummarizer(limit=4)

    for number, pair in enumerate(pairs):
        cluster = "some" if number % 7 == 0 else None
        placed = [one and one._replace(id=str(number), position=number, cluster=cluster) for one in pair]
        together.add(*placed)
        apart.add(*(one and one._replace(found=dict(one.found)) for one in placed))

    assert together.in_common == apart.in_common == 60
    assert together.cases() == apart.cases()
    assert together.evaluators() == apart.evaluators()
    assert (together.changed, together.changes()) == (apart.changed, apart.changes())


def test_what_is_not_judged_yet_is_pending_and_in_no_cell(judged: Any) -> None:
    comparing = PairedSummarizer()
    comparing.add(judged("half", 0.5, awaited=1), judged("half", 0.9))

    found = comparing.cases()

    assert (found.in_common, found.pending, found.unscored_a, found.scores.n) == (1, 1, 1, 0)
    assert sum(map(sum, found.transitions)) == 0


def test_repeats_are_averaged_before_anything_else(judged: Any, made: Any) -> None:
    comparing = PairedSummarizer()
    samples = [made.judgment(score, sample=sample) for sample, score in enumerate((0.2, 0.4, 0.9))]
    comparing.add(judged("again", *samples), judged("again", 0.7))

    assert comparing.cases().scores.n == 1
    assert comparing.cases().scores.mean_a == pytest.approx(0.5)
    assert comparing.evaluators()["quality"].scores.difference == pytest.approx(0.2)


def test_evaluators_are_compared_apart_and_corrected_together(judged: Any) -> None:
    comparing = PairedSummarizer()
    for number in range(10):
        comparing.add(judged(str(number), 0.0, 1.0), judged(str(number), 1.0, float(number % 2)))

    found = comparing.evaluators()

    assert list(found) == ["quality", "second"]
    assert found["quality"].scores.p == pytest.approx(2 / 2**10)
    assert found["quality"].p_holm == pytest.approx(4 / 2**10)
    assert found["second"].p_holm == found["second"].scores.p == pytest.approx(0.0625)


def test_an_evaluator_of_one_run_only_is_counted_there(judged: Any) -> None:
    comparing = PairedSummarizer()
    comparing.add(judged("both", 0.5, 0.5), judged("both", 0.5))

    second = comparing.evaluators()["second"]

    assert (second.in_common, second.only_a, second.only_b) == (0, 1, 0)
    assert second.scores.lacking is not None
    assert second.p_holm is None


def test_changes_come_largest_first_and_in_suite_order_where_equal(judged: Any) -> None:
    comparing = PairedSummarizer(limit=3)
    for place, (a, b) in enumerate([(0.5, 0.6), (0.9, 0.1), (0.5, 0.5), (0.3, 0.5), (0.6, 0.4), (0.1, 0.3)]):
        comparing.add(judged(f"case-{place}", a, position=place), judged(f"case-{place}", b))

    changes = comparing.changes()

    assert comparing.changed == 5
    # Of three equal ones, the first that has another verdict.
    assert [one.case_id for one in changes] == ["case-1", "case-4", "case-3"]
    assert changes[0].difference == pytest.approx(-0.8)
    assert (changes[0].standing_a, changes[0].standing_b) == ("pass", "fail")


def test_no_change_is_listed_where_none_is_wanted_and_all_where_nobody_limits(judged: Any) -> None:
    none, every = PairedSummarizer(limit=0), PairedSummarizer()
    for place in range(30):
        for comparing in (none, every):
            comparing.add(judged(str(place), 0.1), judged(str(place), 0.2))

    assert (none.changes(), none.changed) == ((), 30)
    assert len(every.changes()) == 30


def test_a_verdict_may_change_where_the_score_does_not(judged: Any, made: Any) -> None:
    comparing = PairedSummarizer()
    required = made.judgment(0.0, name="safe", weight=0.0, required=True)
    comparing.add(judged("turned", 0.9), judged("turned", 0.9, required))

    assert [one.standing_b for one in comparing.changes()] == ["fail"]


def test_changes_may_be_those_of_one_evaluator(judged: Any) -> None:
    comparing = PairedSummarizer(evaluator="second")
    comparing.add(judged("case", 0.1, 0.5), judged("case", 0.9, 0.5))

    assert comparing.changed == 0
    assert comparing.cases().scores.wins == 1


def test_an_evaluator_that_is_not_there_is_named(judged: Any) -> None:
    comparing = PairedSummarizer(evaluator="qualty")
    comparing.add(judged("case", 0.1), judged("case", 0.9))

    with pytest.raises(ConfigError, match="'qualty'; did you mean 'quality'"):
        comparing.evaluators()


def test_the_cluster_is_that_of_a_or_of_b_where_a_has_none(judged: Any) -> None:
    comparing = PairedSummarizer()
    for place in range(6):
        comparing.add(judged(f"a{place}", 0.1, cluster="one"), judged(f"a{place}", 0.9, cluster="another"))
        comparing.add(judged(f"b{place}", 0.1), judged(f"b{place}", 0.9, cluster="one"))

    assert comparing.cases().scores.clusters == 1


@pytest.mark.slow
@pytest.mark.parametrize("many", [8_000, pytest.param(20_000, marks=pytest.mark.sweep)])
def test_memory_stays_flat(judged: Any, many: int) -> None:
    a, b = judged("case", 0.1, 0.2), judged("case", 0.9, 0.3)

    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            comparing = PairedSummarizer(limit=10)
            for _ in range(count):
                comparing.add(a, b)
            comparing.cases()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(200)  # whatever is loaded and remembered once

    assert peak(many) < peak(200) + 100_000


def test_among_ten_evaluators_one_that_stands_out_by_chance_is_called_no_difference(made: Any) -> None:
    def case(number: int, better: float) -> Any:
        judgments = [made.judgment(0.5, name=f"e{place}") for place in range(9)]
        judgments.append(made.judgment(0.5 + better, name="odd"))
        return made.judged(made.case(*judgments, id=str(number)))

    comparing = PairedSummarizer()
    for number in range(12):
        comparing.add(case(number, 0.0), case(number, 0.3 if number % 4 else -0.25))

    found = comparing.evaluators()["odd"]

    assert found.scores.better
    assert found.p_holm is not None
    assert found.p_holm > 0.05
    assert not found.better
    assert found.as_dict()["better"] is False


def test_errors_in_one_run_only_are_tested_and_bound_the_difference(judged: Any) -> None:
    comparing = PairedSummarizer()
    for number in range(70):
        comparing.add(judged(str(number), 0.9), judged(str(number), 0.9))
    for number in range(70, 100):
        comparing.add(judged(str(number), 0.9), judged(str(number), "timeout: late"))

    found = comparing.cases()

    assert not found.better
    assert not found.worse
    assert found.errors == (0, 30)
    assert found.errors_p is not None
    assert found.errors_p < 1e-6
    assert found.fails_more
    assert found.bounds == pytest.approx((-0.27, 0.03))
    lines = list(left_out_lines(found))
    assert "with the missing scores, the difference could be anything from -0.270 to +0.030" in lines
    assert any(line.startswith("B ends in error more often than A: 30 cases where A does not") for line in lines)


def test_bounds_are_those_of_the_worst_and_the_best_scores_that_could_be_missing(judged: Any) -> None:
    comparing = PairedSummarizer()
    comparing.add(judged("both", 0.5), judged("both", 0.75))
    comparing.add(judged("a", 0.25), judged("a", None))
    comparing.add(judged("b", None), judged("b", 1.0))
    comparing.add(judged("none", None), judged("none", None))

    found = comparing.cases()

    assert found.bounds == pytest.approx(((0.25 - 0.25 + 0.0) / 3, (0.25 + 0.75 + 1.0) / 3))
    assert found.errors_p is None
    assert not found.fails_more
