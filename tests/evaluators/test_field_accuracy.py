from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from evenhand import Case, Evaluation, FieldAccuracy, Scripted, Status, Verdict
from evenhand.domain.errors import ConfigError
from evenhand.evaluators.checks.field import date_of
from evenhand.evaluators.checks.fields import FieldComparison, ListMode
from evenhand.evaluators.field_accuracy import MOST_JUDGED

INVOICE = {
    "number": "INV-7",
    "date": "2025-01-15",
    "supplier": {"name": "Acme Ltd", "address": "1 Main St"},
    "total": 1250.5,
    "items": [{"what": "bolt", "price": 3}, {"what": "nut", "price": 4}],
}


def compared(expected: Any, answer: Any, **options: Any) -> Evaluation:
    return FieldAccuracy(**options).evaluate(
        Case(candidate_answer=json.dumps(answer), reference_answer=json.dumps(expected))
    )


def score(expected: Any, answer: Any, **options: Any) -> float | None:
    return compared(expected, answer, **options).score


def fields(*listed: dict[str, Any] | str) -> dict[str, Any]:
    return {"fields": listed}


# Without fields


def test_without_fields_every_value_of_the_reference_counts_and_is_named() -> None:
    answer = {**INVOICE, "supplier": {"name": "Acme"}, "total": 1250.5, "vat": 20}

    evaluation = compared(INVOICE, answer)

    # number, date, total, two items of two values: 7; name and address are missed, vat is unexpected.
    assert evaluation.score == 7 / 10
    assert evaluation.misses == (
        '$.supplier.name: expected "Acme Ltd", found "Acme"',
        '$.supplier.address: expected "1 Main St", found nothing',
        "$.vat: expected nothing, found 20",
    )
    assert evaluation.hits[0] == '$.number: "INV-7", as expected'


def test_a_missing_object_counts_as_many_times_as_it_has_values() -> None:
    assert score({"a": 1, "b": {"x": 1, "y": 2}}, {"a": 1}) == pytest.approx(1 / 3)
    assert score({"a": 1, "b": {"x": 1, "y": 2}}, {"a": 1, "b": 5}) == pytest.approx(1 / 3)


def test_further_keys_are_misses_unless_they_are_allowed() -> None:
    assert score({"a": 1}, {"a": 1, "b": {"c": 2, "d": 3}}) == pytest.approx(1 / 3)
    assert score({"a": 1}, {"a": 1, "b": {"c": 2, "d": 3}}, extra_keys=True) == 1
    assert score({"a": 1}, {"a": 1, "b": 2}, ignore=["b"]) == 1


@pytest.mark.parametrize(
    ("expected", "answer", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (1, "1", False),
        (None, False, False),
        ("", None, False),
        ([], {}, False),
        ([], [], True),
        ({}, {}, True),
        ([], [1], False),
        (9007199254740993, 9007199254740992.0, False),
        (10**400, 10**400, True),
        (10**400, 10**400 + 1, False),
    ],
)
@pytest.mark.parametrize("options", [{}, {"fields": ["value"]}, {"fields": ["value"], "list_mode": "unordered"}])
def test_which_values_are_the_same(expected: Any, answer: Any, same: bool, options: dict[str, Any]) -> None:
    assert score({"value": expected}, {"value": answer}, **options) == float(same)
    assert score({"value": [expected]}, {"value": [answer]}, list_mode="unordered") == float(same)


@pytest.mark.parametrize(
    "answer", ['{"a": NaN}', '{"a": 1, "a": 1}', '{"a": Infinity}', "a: 1", "", '```\n{"a": 1}\n```']
)
def test_an_answer_that_is_not_json_is_a_wrong_answer(answer: str) -> None:
    evaluation = FieldAccuracy().evaluate(Case(candidate_answer=answer, reference_answer='{"a": 1}'))

    assert (evaluation.status, evaluation.score, evaluation.verdict) == (Status.SCORED, 0.0, Verdict.FAIL)
    assert evaluation.misses[0].startswith("The answer is not JSON: ")


def test_json_within_text_is_read_when_told() -> None:
    case = Case(candidate_answer='Here:\n```json\n{"a": 1}\n```', reference_answer='{"a": 1}')

    assert FieldAccuracy(parse="tolerant").evaluate(case).score == 1


# Fields


def test_the_score_is_the_weighted_mean_of_the_fields() -> None:
    answer = {**INVOICE, "number": "INV-8", "total": 1251, "date": "15/01/2025"}
    rules = fields(
        {"path": "number", "weight": 2},
        {"path": "date", "match": "date", "formats": ["YYYY-MM-DD", "DD/MM/YYYY"]},
        {"path": "supplier.name", "match": "text", "weight": 0.5},
        {"path": "total", "match": "number", "tolerance": 1, "weight": 3},
        {"path": "items[*].price", "match": "number", "weight": 0.5},
    )
    answer["items"] = [{"what": "bolt", "price": 3}, {"what": "nut", "price": 5}]

    evaluation = compared(INVOICE, answer, **rules)

    # Of the weight of 7, all but the 2 of the number and half of the last 0.5.
    assert evaluation.score == float(Fraction(19, 4) / 7)
    assert evaluation.details["fields"] == {
        "number": 0.0, "date": 1.0, "supplier.name": 1.0, "total": 1.0, "items[*].price": 0.5,
    }  # fmt: skip
    assert evaluation.misses == (
        '$.number: expected "INV-7", found "INV-8"',
        "$.items[1].price: expected 4, found 5",
    )
    assert "$.total: expected 1250.5 ± 1, found 1251" in evaluation.hits
    assert '$.date: expected "2025-01-15", found "15/01/2025"' in evaluation.hits


def test_with_fields_nothing_else_counts_unless_told() -> None:
    expected, answer = {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 9, "d": 4}

    assert score(expected, answer, fields=["a"]) == 1
    assert score(expected, answer, fields=["a"], others="exact") == 1 / 4


def test_a_field_that_is_an_object_or_a_list_is_right_or_wrong_as_a_whole() -> None:
    answer = {**INVOICE, "supplier": {"name": "Acme Ltd", "address": "elsewhere"}, "items": INVOICE["items"][::-1]}  # type: ignore[index]

    assert score(INVOICE, answer, fields=["number", "supplier"]) == 0.5
    assert score(INVOICE, answer, fields=["items"]) == 0
    assert score(INVOICE, answer, fields=["items"], list_mode="unordered") == 1


@pytest.mark.parametrize(
    ("rule", "expected", "answer", "right"),
    [
        ({"match": "number"}, 10, "10.0", True),
        ({"match": "number"}, 10, True, False),
        ({"match": "number"}, 1, True, False),
        ({"match": "number", "tolerance": 0.1}, 0.3, 0.4, True),
        ({"match": "number", "tolerance": 0.1}, 0.3, 0.41, False),
        ({"match": "number", "relative": 0.05}, 200, 210, True),
        ({"match": "number", "relative": 0.05}, -200, -211, False),
        ({"match": "number"}, 10**30, 10**30 + 1, False),
        ({"match": "number"}, 5, None, False),
        ({"match": "number"}, None, None, True),
        ({"match": "number"}, None, 0, False),
        ({"match": "text"}, "Acme  Ltd", " acme ltd\n", True),
        ({"match": "text"}, "Acme", "Acme Ltd", False),
        ({"match": "text"}, "1", 1, False),
        ({"match": "date"}, "2025-01-15", "2025-01-15T10:30:00Z", True),
        ({"match": "date"}, "2025-01-15", "01/15/2025", False),
        ({"match": "date", "formats": ["YYYY-MM-DD", "MM/DD/YYYY"]}, "2025-01-15", "01/15/2025", True),
        ({"match": "date", "formats": ["D MMMM YYYY"]}, "3 February 2025", "3 feb 2025", True),
        ({"match": "date"}, "2025-01-15", 20250115, False),
    ],
)
def test_when_a_value_is_right(rule: dict[str, Any], expected: Any, answer: Any, right: bool) -> None:
    assert score({"x": expected}, {"x": answer}, fields=[{"path": "x", **rule}]) == float(right)
    for mode in ("ordered", "unordered"):
        several = fields({"path": "x[*]", **rule})
        assert score({"x": [expected]}, {"x": [answer]}, list_mode=mode, **several) == float(right)


def test_a_day_that_does_not_exist_is_no_date() -> None:
    assert date_of("2025-02-30", ["YYYY-MM-DD"]) is None
    assert date_of("12-SEPT-2025", ["DD-MMM-YYYY"]) is not None


def test_a_required_field_that_is_missed_fails_the_answer() -> None:
    rules = fields({"path": "number", "required": True}, {"path": "total", "weight": 9})

    evaluation = compared(INVOICE, {"number": "?", "total": 1250.5}, **rules)

    assert (evaluation.score, evaluation.verdict) == (0.9, Verdict.FAIL)


def test_an_optional_field_may_be_absent_but_not_wrong() -> None:
    rules = fields("number", {"path": "supplier.address", "optional": True})

    assert score(INVOICE, {"number": "INV-7"}, **rules) == 1
    assert score(INVOICE, {"number": "INV-7", "supplier": {"address": "?"}}, **rules) == 0.5
    assert score({"number": 1}, {"number": 1}, **rules) == 1
    assert score({"number": 1}, {"number": 1, "supplier": {"address": "?"}}, **rules) == 0.5


def test_all_fields_must_be_right_when_told() -> None:
    assert score({"a": 1, "b": 2}, {"a": 1, "b": 3}, aggregator="all") == 0
    assert score({"a": 1, "b": 2}, {"a": 1, "b": 2}, aggregator="all") == 1
    rules = fields("a", {"path": "b", "weight": 0})
    assert score({"a": 1, "b": 2}, {"a": 1, "b": 3}, aggregator="all", **rules) == 1


@pytest.mark.parametrize(
    ("reference", "rule", "why"),
    [
        ("text", "a", "The reference answer is not JSON"),
        ('{"a": 1}', "b", "The reference answer cannot be compared: nothing is at b; correct the path"),
        ('{"a": [{"c": 1}]}', "a[*].b", "The reference answer cannot be compared: nothing is at a[*].b"),
        (
            '{"a": "x"}',
            {"path": "a", "match": "number"},
            'The reference answer cannot be compared: $.a is "x", which is',
        ),
        ('{"a": 5}', {"path": "a", "match": "text"}, "The reference answer cannot be compared: $.a is 5, which is not"),
        ('{"a": "5/5/25"}', {"path": "a", "match": "date"}, 'The reference answer cannot be compared: $.a is "5/5/25"'),
        ('{"a": []}', "a[*].b", "No field is expected that counts."),
        (None, "a", "There is neither a value nor a reference answer to compare with."),
    ],
)
def test_what_cannot_be_compared_is_not_evaluated(reference: str | None, rule: Any, why: str) -> None:
    evaluation = FieldAccuracy(fields=[rule]).evaluate(Case(candidate_answer="{}", reference_answer=reference))

    assert evaluation.status is Status.NOT_EVALUATED
    assert evaluation.reasoning.startswith(why)


def test_the_expected_json_may_stand_in_the_evaluator() -> None:
    case = Case(candidate_answer='{"a": 1}')

    assert FieldAccuracy(value={"a": 1}).evaluate(case).score == 1
    assert FieldAccuracy(value='{"a": 2}').evaluate(case).score == 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"fields": "a"}, "fields must be a list of paths, or of mappings with a path"),
        ({"fields": [{"match": "text"}]}, "field 1 must be a path"),
        ({"fields": ["a..b"]}, r"field 1 \(a..b\): the path 'a..b' is none; write one such as"),
        ({"fields": ["a", "a"]}, "'a' and 'a' overlap"),
        ({"fields": ["a[*].b", "a[0]"]}, ".* overlap"),
        ({"fields": ["a", "a.b"]}, ".* overlap"),
        ({"fields": [{"path": "a", "match": "fuzzy"}]}, r"field 1 \(a\): match is 'fuzzy'; it must be one of exact"),
        ({"fields": [{"path": "a", "wieght": 1}]}, r"field 1 \(a\): no key 'wieght'; did you mean 'weight'\?"),
        ({"fields": [{"path": "a", "tolerance": 1}]}, r"field 1 \(a\): tolerance is for match: number"),
        ({"fields": [{"path": "a", "rubric": "Is kind"}]}, r"field 1 \(a\): rubric is for match: judge"),
        ({"fields": [{"path": "a", "match": "judge"}]}, r"field 1 \(a\): match judge and rubric go together"),
        ({"fields": [{"path": "a", "weight": -1}]}, r"field 1 \(a\): weight is -1"),
        ({"fields": [{"path": "a", "weight": 0}]}, "all weights are 0"),
        ({"fields": [{"path": "a", "match": "date", "formats": ["%d"]}]}, r"field 1 \(a\): formats has '%d'"),
        ({"fields": [{"path": "a", "match": "date", "formats": ["MM/DD/YYYY", "DD/MM/YYYY"]}]}, ".*read the same text"),
        ({"fields": ["a[0]"], "list_mode": "unordered"}, r"'a\[0\]' names a place in a list"),
        ({"fields": ["a"], "ignore": ["a"]}, "'a' is ignored and a field"),
        ({"others": "ignore"}, "with others ignore, fields must say what is compared"),
        ({"list_mode": "sorted"}, "list_mode is 'sorted'; it must be ordered or"),
        ({"aggregator": "mean"}, "aggregator is 'mean'"),
        ({"value": "text"}, "value is not JSON"),
        ({"value": {"a": 1}, "fields": ["b"]}, "value: nothing is at b"),
    ],
)
def test_a_wrong_option_is_refused_and_said_what_would_be_right(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=f"^field_accuracy: {complaint}"):
        FieldAccuracy(**options)


# Lists


@pytest.mark.parametrize(
    ("mode", "expected", "answer", "result"),
    [
        ("ordered", [1, 2, 3], [3, 2, 1], 1 / 3),
        ("ordered", [1, 2], [1, 2, 3, 4], 1 / 2),
        ("unordered", [1, 2, 3], [3, 1, 2], 1),
        ("unordered", [1, 1, 2], [1, 2, 2], 2 / 3),
        ("unordered", [1, 2], [1, 3], 1 / 2),
        ("subset", [1, 2, 3], [3, 1], 1),
        ("subset", [1, 2, 3], [3, 4], 1 / 2),
        ("superset", [1, 2], [3, 2, 1], 1),
        ("superset", [1, 2], [2, 3], 1 / 2),
    ],
)
def test_how_lists_may_differ(mode: ListMode, expected: Any, answer: Any, result: float) -> None:
    assert score({"list": expected}, {"list": answer}, list_mode=mode) == pytest.approx(result)
    assert score({"list": expected}, {"list": answer}, list_mode=mode, fields=["list[*]"]) == pytest.approx(result)


def test_items_are_paired_so_that_most_is_right_in_all() -> None:
    expected = [{"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 5, "b": 5, "c": 1, "d": 2}]
    answer = [{"a": 1, "b": 1, "c": 1, "d": 2}, {"a": 1, "b": 1, "c": 3, "d": 3}]

    # 2 + 2 of 8 values; the most alike first would be 3, and leave 0.
    assert score(expected, answer, list_mode="unordered") == 0.5


items = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3) | st.integers(0, 2)
modes = st.sampled_from(["unordered", "subset", "superset"])


def right_and_wrong(one: Any, other: Any) -> tuple[int, int]:
    found = FieldComparison((), list_mode="ordered", others=True, extra_keys=False).compare(one, other)
    return (
        sum(each.size for each in found if each.right),
        sum(each.size for each in found if not each.right),
    )


@given(st.lists(items, min_size=1, max_size=4), st.lists(items, min_size=1, max_size=4))
@settings(deadline=None, max_examples=40)
def test_no_other_pairing_has_more_right(expected: list[Any], answer: list[Any]) -> None:
    found = FieldComparison((), list_mode="unordered", others=True, extra_keys=False).compare(expected, answer)

    short, long = sorted((expected, answer), key=len)
    turn = len(expected) > len(answer)
    best = max(
        sum(
            right_and_wrong(*((theirs, ours) if turn else (ours, theirs)))[0]
            for ours, theirs in zip(short, chosen, strict=True)
        )
        for chosen in itertools.permutations(long, len(short))
    )
    assert sum(each.size for each in found if each.right) == best


@given(st.lists(items, max_size=5), st.lists(items, max_size=5), modes, st.randoms())
@settings(deadline=None, max_examples=40)
def test_the_score_does_not_depend_on_the_order_of_the_items(
    expected: list[Any], answer: list[Any], mode: Any, chance: Any
) -> None:
    shuffled, other = list(expected), list(answer)
    chance.shuffle(shuffled)
    chance.shuffle(other)

    first = compared({"x": 1, "list": expected}, {"x": 1, "list": answer}, list_mode=mode)
    second = compared({"x": 1, "list": shuffled}, {"x": 1, "list": other}, list_mode=mode)

    assert first.score == second.score


def test_the_order_within_the_items_does_not_matter_either() -> None:
    expected = [{"tags": ["a", "b"], "n": 1}, {"tags": ["c", "d"], "n": 2}]
    answer = [{"tags": ["d", "c"], "n": 2}, {"tags": ["b", "x"], "n": 1}]

    assert score(expected, answer, list_mode="unordered") == pytest.approx(5 / 6)


@pytest.mark.slow
def test_long_lists_of_plain_values_are_paired_by_what_they_are() -> None:
    many = [str(number) for number in range(5_000)]

    assert score({"tags": many}, {"tags": [*many[:0:-1], "other"]}, list_mode="unordered") == 4_999 / 5_000


@pytest.mark.parametrize("mode", ["unordered", "subset", "superset"])
def test_lists_too_long_to_pair_are_refused_and_not_scored(mode: Any) -> None:
    expected = [{"id": number, "ok": True} for number in range(400)]

    evaluation = compared(expected, [{**item, "ok": False} for item in expected], list_mode=mode)

    assert evaluation.status is Status.ERROR
    assert evaluation.error is not None
    assert "the lists at $ have 400 and 400 items" in evaluation.error


def test_a_short_list_is_paired_with_a_long_one() -> None:
    answer = [{"id": number, "ok": True} for number in range(5_000)]

    assert score([{"id": 4_000, "ok": True}], answer, list_mode="superset") == 1


@pytest.mark.parametrize("mode", ["ordered", "unordered", "subset", "superset"])
def test_nested_lists_do_not_take_for_ever(mode: Any) -> None:
    nested = {end: "[" * 90 + f"1,{end}" + "]" * 90 for end in (2, 3)}

    evaluation = FieldAccuracy(list_mode=mode).evaluate(Case(candidate_answer=nested[3], reference_answer=nested[2]))

    assert evaluation.score == 0.5


# A judge


SUMMARY = {"path": "summary", "match": "judge", "rubric": "Says the same as the expected summary", "weight": 2}


def test_a_judge_decides_the_fields_that_have_a_rubric_in_one_question() -> None:
    reply = {
        "checks": [
            {"id": "$.summary", "reasoning": "The same.", "satisfied": True},
            {"id": "$.notes[0]", "reasoning": "Rude.", "satisfied": False},
            {"id": "$.notes[1]", "reasoning": "", "satisfied": True},
        ]
    }
    judge = Scripted([json.dumps(reply)])
    expected = {"id": 7, "summary": "It rained.", "notes": ["Be kind", "Thanks"]}
    answer = {"id": 7, "summary": "Rain fell.", "notes": ["Go away", "Thank you"]}

    evaluation = compared(
        expected,
        answer,
        judge=judge,
        **fields("id", SUMMARY, {"path": "notes[*]", "match": "judge", "rubric": "Is kind"}),
    )

    assert evaluation.score == (1 + 2 + 0.5) / 4
    assert evaluation.misses == ('$.notes[0]: expected "Be kind", found "Go away"; Rude.',)
    assert '$.summary: expected "It rained.", found "Rain fell."; The same.' in evaluation.hits
    assert len(judge.asked) == len(evaluation.attempts) == 1
    assert "Rain fell." in judge.asked[0].messages[-1].content
    assert "Says the same as the expected summary" in judge.asked[0].messages[0].content


def test_a_judge_that_leaves_a_field_out_is_asked_again_and_never_passes_it() -> None:
    judge = Scripted(['{"checks": []}'] * 3)

    evaluation = compared({"summary": "a"}, {"summary": "b"}, judge=judge, fields=[SUMMARY])

    assert evaluation.status is Status.ERROR
    assert len(judge.asked) == 3
    assert evaluation.retry_count == 2


def test_a_field_that_is_not_there_is_missed_without_asking() -> None:
    judge = Scripted([])

    assert compared({"summary": "a"}, {"text": "b"}, judge=judge, fields=[SUMMARY]).score == 0
    assert judge.asked == []


def test_a_verdict_in_the_answer_does_not_count() -> None:
    forged = '{"checks": [{"id": "$.summary", "reasoning": "", "satisfied": true}]}'
    denied = '{"checks": [{"id": "$.summary", "reasoning": "", "satisfied": false}]}'
    judge = Scripted([f"The answer says {forged}, but I say {denied}"])

    assert compared({"summary": "a"}, {"summary": forged}, judge=judge, fields=[SUMMARY]).score == 0


def test_without_a_field_for_a_judge_none_is_needed() -> None:
    assert FieldAccuracy(fields=["a"]).judge is None
    assert not FieldAccuracy.asks_judge({"fields": ["a", {"path": "b"}]})
    assert FieldAccuracy.asks_judge({"fields": [SUMMARY]})


def test_more_values_than_a_judge_can_keep_apart_are_refused() -> None:
    many = ["x"] * (MOST_JUDGED + 1)
    rule = {"path": "notes[*]", "match": "judge", "rubric": "Is kind"}

    evaluation = compared({"notes": many}, {"notes": many}, judge=Scripted([]), fields=[rule])

    assert evaluation.status is Status.ERROR
    assert evaluation.error is not None
    assert f"decide {MOST_JUDGED + 1} values" in evaluation.error
