"""Cases are drawn by a seed, each with the chance that it had."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from bench.large_run import filled

from evenhand.domain.errors import ConfigError, ConflictError
from evenhand.domain.label import Label
from evenhand.domain.run import RunRecord
from evenhand.labels.draw import Candidate, Candidates, candidates_of, draw_cases, draw_words, make_draw
from evenhand.labels.queue import case_of, give_label
from evenhand.store.store import Store

Judged = Callable[..., RunRecord]


def among(count: int, unsure: int = 0) -> Candidates:
    return Candidates([Candidate(n, f"case-{n}", "h0", is_unsure=n < unsure) for n in range(count)], {})


def test_the_same_seed_draws_the_same_cases_in_the_same_order_and_another_seed_others() -> None:
    once, again = (draw_cases(among(50), sample=10, seed=4) for _ in range(2))
    other = draw_cases(among(50), sample=10, seed=5)

    assert once == again
    assert once.size == 10
    assert {one.p for one in once.cases} == {0.2}
    assert once.cases != other.cases


def test_every_case_is_drawn_as_often_as_its_chance_says() -> None:
    drawn = Counter[int]()
    chances: dict[int, float] = {}

    for seed in range(2000):
        draw = draw_cases(among(20, unsure=5), sample=6, uncertain=0.5, seed=seed)
        drawn.update(one.position for one in draw.cases)
        chances |= {one.position: one.p for one in draw.cases}

    assert set(chances.values()) == {3 / 5, 3 / 15}
    # Four standard errors of a share over 2000 draws.
    assert all(abs(drawn[position] / 2000 - p) < 4 * (p * (1 - p) / 2000) ** 0.5 for position, p in chances.items())


def test_whoever_stops_early_has_labelled_a_random_part_of_each_group() -> None:
    first = Counter[bool]()

    for seed in range(1000):
        draw = draw_cases(among(40, unsure=4), sample=8, uncertain=0.5, seed=seed)
        first[draw.cases[0].position < 4] += 1

    assert abs(first[True] / 1000 - 0.5) < 4 * 0.5 / 1000**0.5


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.9])
def test_a_larger_draw_with_the_same_seed_contains_the_smaller_one(share: float) -> None:
    before: set[int] = set()

    for sample in range(2, 31):
        now = {one.position for one in draw_cases(among(30, unsure=7), sample=sample, uncertain=share, seed=3).cases}
        assert before <= now
        assert len(now) == sample
        before = now


@pytest.mark.parametrize("sample", [2, 5, 12, 30, 99])
@pytest.mark.parametrize("unsure", [0, 1, 15, 29, 30])
def test_no_case_has_a_chance_of_zero_whatever_the_groups(sample: int, unsure: int) -> None:
    draw = draw_cases(among(30, unsure=unsure), sample=sample, uncertain=0.9, seed=1)

    groups = {one.position < unsure for one in draw.cases}
    assert draw.size == min(sample, 30)
    assert groups == {n < unsure for n in range(30)}
    assert sum(1 / one.p for one in draw.cases) == pytest.approx(30)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"sample": 0}, "sample"),
        ({"sample": 1, "uncertain": 0.5}, "sample"),
        ({"sample": True}, "sample"),
        ({"uncertain": 1.0}, "uncertain"),
        ({"uncertain": float("nan")}, "uncertain"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**60}, "seed"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(given: dict[str, Any], key: str) -> None:
    options: dict[str, Any] = {"sample": 3, "uncertain": 0.0, "seed": 1} | given

    with pytest.raises(ConfigError, match=key) as refused:
        draw_cases(among(10), **options)

    assert refused.value.key == key


def test_cases_without_an_answer_or_a_score_are_left_out_and_counted(store: Store, judged: Judged) -> None:
    run = judged(("yes", 1.0), (None, 0.0), ("no", None), ("", 0.0))

    found = candidates_of(store.results(run), run)

    assert [case.case for case in found.cases] == ["case-0", "case-3"]
    assert found.left_out == {"without an answer": 1, "without a score": 1}
    assert draw_words(make_draw(store, run, sample=2, seed=1))[-1] == "left out: 1 without an answer, 1 without a score"


def test_the_judge_is_unsure_where_its_score_is_near_the_pass_mark_or_borderline(store: Store, judged: Judged) -> None:
    run = judged(("a", 1.0), ("b", 0.9), ("c", 0.7), ("d", 0.62), ("e", 0.5))

    found = candidates_of(store.results(run), run, "quality")

    assert [case.is_unsure for case in found.cases] == [False, True, True, True, False]


def test_an_evaluator_that_the_run_does_not_have_is_refused_with_those_it_has(store: Store, judged: Judged) -> None:
    run = judged(("a", 1.0))

    with pytest.raises(ConfigError, match="no evaluator 'qualty'; did you mean 'quality'"):
        make_draw(store, run, sample=1, evaluator="qualty")


def test_a_run_without_anything_to_draw_says_why(store: Store, judged: Judged) -> None:
    run = judged((None, 0.0), ("no", None))

    with pytest.raises(ConfigError, match="no case can be drawn: 1 without an answer, 1 without a score"):
        make_draw(store, run, sample=1)


def test_a_draw_without_labels_is_replaced_and_one_with_labels_only_enlarged(store: Store, judged: Judged) -> None:
    run = judged(*[("a", 1.0)] * 20)
    make_draw(store, run, sample=5, seed=1)
    draw = make_draw(store, run, sample=5, seed=2)
    give_label(store, run, case_of(store, run, draw.cases[0]), rater="Ann", value="pass", from_draw=True)

    with pytest.raises(ConflictError, match=r"draw of 5 cases with seed 2 has labels already \(1\).*--seed 2"):
        make_draw(store, run, sample=5, seed=3)
    larger = make_draw(store, run, sample=10)

    (label,) = store.labels.of(run)
    assert larger.seed == 2
    assert {one.position for one in draw.cases} <= {one.position for one in larger.cases}
    assert label.p == 0.5  # the chance that the case has in the draw that counts


def test_draws_of_evaluators_and_of_whole_cases_are_kept_apart(store: Store, judged: Judged) -> None:
    run = judged(*[("a", 1.0)] * 9)

    whole = make_draw(store, run, sample=3, seed=1)
    of_one = make_draw(store, run, sample=4, seed=2, evaluator="quality")

    assert store.labels.draw(run) == whole
    assert store.labels.draw(run, "quality") == of_one


def test_a_label_knows_its_answer_and_whether_it_was_drawn(store: Store, judged: Judged) -> None:
    run = judged(("a", 1.0), ("b", 0.0))
    draw = make_draw(store, run, sample=1, seed=1)
    (other,) = {0, 1} - {draw.cases[0].position}
    outside = next(result for result in store.results(run) if result.position == other)

    with pytest.raises(ConfigError, match="was not drawn; label it as not drawn"):
        give_label(store, run, outside, rater="Ann", value="pass", from_draw=True)
    with pytest.raises(ConfigError, match="is not the one that was labelled"):
        give_label(store, run, outside, rater="Ann", value="pass", from_draw=False, read="h0000000000000000")
    label: Label = give_label(store, run, outside, rater="Ann", value=0.5, from_draw=False)

    assert (label.p, label.is_drawn, label.score) == (None, False, 0.5)


@pytest.mark.parametrize(
    "most", [pytest.param(1_100, id="sample"), pytest.param(2_000, id="all", marks=pytest.mark.long)]
)
def test_the_memory_of_a_draw_does_not_grow_with_the_run(store: Store, most: int) -> None:
    def peak(cases: int) -> int:
        run = filled(store, cases)
        tracemalloc.start()
        try:
            make_draw(store, run, sample=5)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(20)  # whatever is loaded and remembered once

    assert peak(most) < peak(500) + 250_000  # the cases themselves took 700 bytes each
