from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from evenhand import Case, Evaluation, JsonMatch, Status, Verdict
from evenhand.domain.errors import ConfigError
from evenhand.evaluators.checks.json import MOST_PAIRS, Comparison, ListMode

MODES: list[ListMode] = ["ordered", "unordered", "subset", "superset"]

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", ""]) | st.just(0.5)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=12
)  # fmt: skip


def matched(expected: Any, answer: Any, **options: Any) -> Evaluation:
    return JsonMatch(**options).evaluate(
        Case(candidate_answer=json.dumps(answer), reference_answer=json.dumps(expected))
    )


def score(expected: Any, answer: Any, **options: Any) -> float | None:
    return matched(expected, answer, **options).score


# Keys


def test_the_score_is_the_mean_of_the_expected_keys() -> None:
    evaluation = matched({"a": 1, "b": "x", "c": None, "d": True}, {"a": 1, "b": "y", "c": None})

    assert evaluation.score == 0.5
    assert evaluation.verdict is Verdict.FAIL
    assert evaluation.details == {"keys": {"a": 1.0, "b": 0.0, "c": 1.0, "d": 0.0}}
    assert evaluation.hits == ("$.a: as expected", "$.c: as expected")
    assert evaluation.misses == ('$.b: expected "x", found "y"', "$.d: expected true, found nothing")


def test_an_object_inside_counts_by_its_own_keys() -> None:
    evaluation = matched({"who": {"name": "Ada", "born": 1815}, "ok": True}, {"who": {"name": "Ada"}, "ok": True})

    assert evaluation.score == 0.75
    assert evaluation.misses == ("$.who.born: expected 1815, found nothing",)


def test_keys_may_weigh_differently() -> None:
    expected, answer = {"a": 1, "b": 2}, {"a": 1, "b": 3}

    assert score(expected, answer, weights={"a": 3}) == 0.75
    assert score(expected, answer, weights={"b": 0}) == 1
    assert matched(expected, answer, weights={"a": 0, "b": 0}).status is Status.NOT_EVALUATED


def test_ignored_keys_do_not_count_wherever_they_stand() -> None:
    expected = {"id": 1, "items": [{"id": 2, "name": "x"}]}
    answer = {"id": 9, "items": [{"id": 8, "name": "x"}]}

    assert score(expected, answer) == 0.25
    assert score(expected, answer, ignore=["id"]) == 1
    assert score(expected, answer, ignore=["id"], list_mode="unordered") == 1


def test_further_keys_count_only_when_told() -> None:
    assert score({"a": 1}, {"a": 1, "b": 2}) == 1
    strict = matched({"a": 1}, {"a": 1, "b": 2}, extra_keys=False)
    assert (strict.score, strict.misses) == (0.5, ("$.b: expected nothing, found 2",))


@pytest.mark.parametrize(
    ("expected", "answer", "same"),
    [
        (1, 1.0, True),
        (1e2, 100, True),
        (1, True, False),
        (0, False, False),
        (1, "1", False),
        (None, False, False),
        ("", None, False),
        ([], {}, False),
        (10**20, 1e20, True),
    ],
)
def test_which_values_are_equal(expected: Any, answer: Any, same: bool) -> None:
    assert score({"value": expected}, {"value": answer}) == float(same)
    assert score({"value": [expected]}, {"value": [answer]}, list_mode="unordered") == float(same)


def test_half_a_surrogate_pair_in_an_answer_can_be_stored() -> None:
    evaluation = matched({"a": "x"}, {"a": "\ud800", "\udfff": 1}, extra_keys=False)

    stored = json.dumps(evaluation.as_dict(), ensure_ascii=False).encode("utf-8")

    assert evaluation.misses == ('$.a: expected "x", found "?"', '$["?"]: expected nothing, found 1')
    assert b"?" in stored


def test_what_is_expected_need_not_be_an_object() -> None:
    assert score([1, 2], [1, 3]) == 0.5
    assert score("x", "x") == 1
    assert matched({"a": 1}, [1]).misses == ('$: expected {"a": 1}, found [1]',)


# Lists


@pytest.mark.parametrize(
    ("mode", "expected", "answer", "result"),
    [
        ("ordered", [1, 2, 3], [1, 2, 3], 1),
        ("ordered", [1, 2, 3], [3, 2, 1], 1 / 3),
        ("ordered", [1, 2], [1, 2, 3, 4], 1 / 2),
        ("ordered", [1, 2, 3, 4], [1, 2], 1 / 2),
        ("unordered", [1, 2, 3], [3, 1, 2], 1),
        ("unordered", [1, 1, 2], [1, 2, 2], 2 / 3),
        ("unordered", [1, 2], [2, 1, 3, 4], 1 / 2),
        ("subset", [1, 2, 3], [3, 1], 1),
        ("subset", [1, 2, 3], [3, 4], 1 / 2),
        ("subset", [1, 2, 3], [], 1),
        ("superset", [1, 2], [3, 2, 1], 1),
        ("superset", [1, 2], [2, 3], 1 / 2),
        ("superset", [], [1], 1),
        ("ordered", [], [], 1),
        ("ordered", [], [1], 0),
    ],
)
def test_how_lists_may_differ(mode: ListMode, expected: Any, answer: Any, result: float) -> None:
    assert score({"list": expected}, {"list": answer}, list_mode=mode) == pytest.approx(result)


def test_items_that_are_not_equal_are_paired_with_the_most_alike() -> None:
    expected = [{"name": "a", "n": 1, "k": 5}, {"name": "b", "n": 2, "k": 6}]
    answer = [{"name": "b", "n": 2, "k": 0}, {"name": "a", "n": 1, "k": 5}]

    evaluation = matched({"list": expected}, {"list": answer}, list_mode="unordered")

    assert evaluation.score == pytest.approx((1 + 2 / 3) / 2)
    assert evaluation.misses == ("$.list[1].k: expected 6, found 0",)


def test_items_without_a_partner_are_named() -> None:
    evaluation = matched([1, "x"], ["x", 2, 3], list_mode="unordered")

    assert evaluation.misses == (
        "$[0]: expected 1, found nothing",
        "$[1]: expected nothing, found 2",
        "$[2]: expected nothing, found 3",
    )


def test_in_lists_too_long_for_pairing_only_equal_items_count() -> None:
    expected = [{"id": number, "name": "x"} for number in range(1_000)]
    answer = [{"id": number, "name": "y" if number % 2 else "x"} for number in reversed(range(1_000))]
    assert len(expected) * len(answer) > MOST_PAIRS

    assert score(expected, answer, list_mode="unordered") == 0.5


@pytest.mark.slow
def test_lists_in_lists_do_not_multiply() -> None:
    deep: Any = [[[[number, number + 1] for number in range(6)] for _ in range(6)] for _ in range(6)]
    other: Any = [[[[number, number + 2] for number in range(6)] for _ in range(6)] for _ in range(6)]

    result = score([deep, deep], [other, other], list_mode="unordered")

    assert result is not None
    assert 0 <= result < 1


@pytest.mark.slow
@given(json_values, st.sampled_from(MODES))
def test_every_value_matches_itself(value: Any, mode: ListMode) -> None:
    comparison = Comparison(list_mode=mode, ignore=(), extra_keys=False)

    assert comparison.score(value, value) == 1
    assert comparison.misses == []


@pytest.mark.slow
@given(json_values, json_values, st.sampled_from(MODES), st.booleans())
def test_a_score_is_whole_exactly_when_nothing_is_missed(
    one: Any, other: Any, mode: ListMode, extra_keys: bool
) -> None:
    comparison = Comparison(list_mode=mode, ignore=(), extra_keys=extra_keys)

    result = comparison.score(one, other)

    assert 0 <= result <= 1
    assert (result == 1) is (comparison.misses == [])


@pytest.mark.slow
@given(st.lists(json_values, max_size=5), st.randoms())
def test_the_order_of_an_unordered_list_does_not_matter(items: list[Any], chance: Any) -> None:
    shuffled = list(items)
    chance.shuffle(shuffled)

    assert Comparison(list_mode="unordered", ignore=(), extra_keys=False).score(items, shuffled) == 1


# What there is to compare


def test_the_expected_json_is_the_value_or_the_reference_answer() -> None:
    case = Case(candidate_answer='{"a": 1}', reference_answer='{"a": 2}')

    assert JsonMatch().evaluate(case).score == 0
    assert JsonMatch(value={"a": 1}).evaluate(case).score == 1
    assert JsonMatch(value='{"a": 1}').evaluate(case).score == 1
    assert JsonMatch(value='"text"').evaluate(Case(candidate_answer='"text"')).score == 1


def test_a_given_value_cannot_be_changed_afterwards() -> None:
    value = {"a": 1}
    check = JsonMatch(value=value)

    value["a"] = 2

    assert check.evaluate(Case(candidate_answer='{"a": 1}')).score == 1


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (Case(reference_answer="{}"), "There is no candidate answer."),
        (Case(candidate_answer="{}"), "There is neither a value nor a reference answer to compare with."),
        (Case(candidate_answer="{}", reference_answer=" "), "There is neither a value nor a reference answer"),
        (Case(candidate_answer="{}", reference_answer="Ada"), "The reference answer is not JSON"),
        (Case(candidate_answer="{}", reference_answer="{}"), "No key is expected that counts."),
    ],
)
def test_without_anything_to_compare_nothing_is_evaluated(case: Case, why: str) -> None:
    evaluation = JsonMatch().evaluate(case)

    assert evaluation.status is Status.NOT_EVALUATED
    assert evaluation.reasoning.startswith(why)


def test_an_answer_that_is_no_json_is_a_wrong_answer() -> None:
    case = Case(candidate_answer='Sure: {"a": 1}', reference_answer='{"a": 1}')

    strict, tolerant = JsonMatch().evaluate(case), JsonMatch(parse="tolerant").evaluate(case)

    assert (strict.status, strict.score) == (Status.SCORED, 0.0)
    assert strict.misses[0].startswith("The answer is not JSON")
    assert tolerant.score == 1


def test_it_can_be_negated_and_have_a_mark_of_its_own() -> None:
    expected, answer = {"a": 1, "b": 2}, {"a": 1, "b": 3}

    assert matched(expected, answer, negate=True).hits == ("$.b: expected 2, found 3",)
    assert matched(expected, answer, min=0.5).verdict is Verdict.PASS
    assert matched(expected, answer, min=0.6).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"list_mode": "sorted"}, "list_mode is 'sorted'; it must be one of ordered, unordered, subset, superset"),
        ({"ignore": "id"}, "ignore is 'id'; it must be a list of keys"),
        ({"weights": {"a": -1}}, "weights is .*; it must give keys numbers of 0 or more"),
        ({"weights": ["a"]}, "weights is"),
        ({"extra_keys": "no"}, "extra_keys is 'no'; it must be true or false"),
        ({"parse": "loose"}, "parse is 'loose'"),
        ({"value": "text"}, "value is not JSON: not JSON at column 1"),
        ({"value": {"a": {1}}}, "value is not JSON"),
        ({"value": float("nan")}, "value is not JSON"),
        ({"min": 2}, "min is 2; it must be a number from 0 to 1"),
    ],
)
def test_a_wrong_option_is_refused_and_said_what_would_be_right(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=f"^json_match: {complaint}"):
        JsonMatch(**options)


@pytest.mark.parametrize("mode", ["unordered", "subset", "superset"])
def test_nested_lists_in_any_order_do_not_take_for_ever(mode: Any) -> None:
    nested = {end: "[" * 60 + f"1,{end}" + "]" * 60 for end in (2, 3)}

    evaluation = JsonMatch(list_mode=mode).evaluate(Case(candidate_answer=nested[3], reference_answer=nested[2]))

    assert evaluation.score is not None
    assert 0 < evaluation.score < 1


def test_lists_too_large_to_try_every_pair_are_taken_in_order() -> None:
    expected = [{"id": number, "name": "x", "ok": True} for number in range(300)]
    answer = [one | {"ok": False} for one in expected]

    evaluation = JsonMatch(list_mode="unordered").evaluate(
        Case(candidate_answer=json.dumps(answer), reference_answer=json.dumps(expected))
    )

    assert evaluation.score == pytest.approx(2 / 3)


def test_nothing_expected_and_nothing_found_is_right_where_extra_keys_count() -> None:
    strict = JsonMatch(extra_keys=False)

    assert strict.evaluate(Case(candidate_answer="{}", reference_answer="{}")).score == 1.0
    assert strict.evaluate(Case(candidate_answer='{"a": 1}', reference_answer="{}")).score == 0.0
