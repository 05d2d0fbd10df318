from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from evenhand import (
    Case,
    Contains,
    Cost,
    EndsWith,
    Equals,
    Evaluation,
    IContains,
    IsJson,
    Latency,
    Levenshtein,
    Numeric,
    Regex,
    StartsWith,
    Status,
    Verdict,
)
from evenhand.domain.errors import ConfigError
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.checks.numeric import find_number
from evenhand.registry import evaluator

ALL: list[BaseEvaluator] = [
    Equals(value="x"),
    Contains(value="x"),
    IContains(value="x"),
    StartsWith(value="x"),
    EndsWith(value="x"),
    Regex(value="x"),
    IsJson(),
    Levenshtein(value="x"),
    Numeric(value=1),
]

every_check_of_the_answer = pytest.mark.parametrize("check", ALL, ids=lambda check: check.type)


def judged(check: BaseEvaluator, answer: str | None, **case: Any) -> Evaluation:
    return check.evaluate(Case(candidate_answer=answer, **case))


# What all have in common


@every_check_of_the_answer
def test_without_an_answer_nothing_is_evaluated(check: BaseEvaluator) -> None:
    evaluation = judged(check, None)

    assert evaluation.status is Status.NOT_EVALUATED
    assert evaluation.reasoning == "There is no candidate answer."


@pytest.mark.parametrize(
    "check", [Equals(), Contains(), IContains(), StartsWith(), EndsWith(), Levenshtein(), Numeric()]
)
def test_without_anything_to_compare_with_nothing_is_evaluated(check: BaseEvaluator) -> None:
    evaluation = judged(check, "x")

    assert evaluation.status is Status.NOT_EVALUATED
    assert evaluation.reasoning == "There is neither a value nor a reference answer to compare with."


@pytest.mark.parametrize(
    "check", [Equals(), Contains(), IContains(), StartsWith(), EndsWith(), Levenshtein(), Numeric()]
)
def test_without_a_value_the_reference_answer_is_what_is_expected(check: BaseEvaluator) -> None:
    assert judged(check, "42", reference_answer="42").score == 1
    assert judged(check, "0", reference_answer="42").score == 0


@every_check_of_the_answer
def test_an_empty_answer_is_an_answer(check: BaseEvaluator) -> None:
    evaluation = judged(check, "")

    assert (evaluation.status, evaluation.score, evaluation.verdict) == (Status.SCORED, 0.0, Verdict.FAIL)


@pytest.mark.parametrize(
    ("right", "options"),
    [
        ("Paris", {"type": "equals", "value": "Paris"}),
        ("In Paris", {"type": "contains", "value": "Paris"}),
        ("IN PARIS", {"type": "icontains", "value": "paris"}),
        ("Paris!", {"type": "starts_with", "value": "Paris"}),
        ("In Paris", {"type": "ends_with", "value": "Paris"}),
        ("Paris", {"type": "regex", "value": "^P.*s$"}),
        ("[]", {"type": "is_json"}),
        ("Paris", {"type": "levenshtein", "value": "Paris"}),
        ("42", {"type": "numeric", "value": 42}),
    ],
    ids=lambda given: given.get("type") if isinstance(given, dict) else None,
)
def test_a_negated_check_is_turned_around(right: str, options: dict[str, Any]) -> None:
    case = Case(candidate_answer=right)
    plain, negated = (evaluator({**options, "negate": negate}) for negate in (False, True))
    assert isinstance(plain, BaseEvaluator)
    assert isinstance(negated, BaseEvaluator)

    found, turned = plain.evaluate(case), negated.evaluate(case)

    assert (found.score, found.verdict, found.type) == (1.0, Verdict.PASS, options["type"])
    assert (turned.score, turned.verdict) == (0.0, Verdict.FAIL)
    assert turned.misses == found.hits != ()
    assert turned.reasoning == f"Negated: {found.reasoning}"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"type": "equals", "value": 42}, "equals: value is 42; it must be text, so put it in quotes"),
        ({"type": "equals", "negate": "yes"}, "equals: negate is 'yes'; it must be true or false"),
        ({"type": "equals", "strip": 1}, "equals: strip is 1; it must be true or false"),
        ({"type": "equals", "name": "same", "value": []}, "equals 'same': value is"),
        ({"type": "equals", "vlaue": "x"}, "vlaue"),
        ({"type": "contains", "value": []}, "contains: value is .*; it must be text or a list of texts"),
        ({"type": "contains", "value": {"a": 1}}, "contains: value is"),
        ({"type": "contains", "value": ["a", ""]}, "value has ''; it must be text that is not empty"),
        ({"type": "icontains", "value": ["a", 1]}, "icontains: value has 1"),
        ({"type": "contains", "value": "a", "mode": "most"}, "mode is 'most'; it must be 'all' or 'any'"),
        ({"type": "starts_with", "value": 1}, "starts_with: value is 1"),
        ({"type": "ends_with", "value": 1}, "ends_with: value is 1"),
        ({"type": "regex"}, "value"),
        ({"type": "regex", "value": ""}, "it must be a regular expression"),
        ({"type": "regex", "value": "("}, r'regex: "\(" is not a regular expression'),
        ({"type": "regex", "value": "(a{1000}){1000}"}, "or is too large"),
        ({"type": "regex", "value": "a" * 10_001}, "value has 10001 characters; at most 10000 are allowed"),
        ({"type": "regex", "value": "(?=a)b"}, "looks around or refers back"),
        ({"type": "regex", "value": "(?<!a)b"}, "looks around or refers back"),
        ({"type": "regex", "value": r"(a)\1"}, "looks around or refers back"),
        ({"type": "is_json", "schema": "{"}, "is_json: schema: not JSON"),
        ({"type": "is_json", "schema": {"type": "strin"}}, r"is_json: schema: \$\.type"),
        ({"type": "levenshtein", "value": 1}, "levenshtein: value is 1"),
        ({"type": "levenshtein", "min": 1.1}, r"levenshtein: min is 1\.1; it must be a number from 0 to 1"),
        ({"type": "levenshtein", "min": True}, "min is True"),
        ({"type": "numeric", "value": "many"}, "numeric: value is 'many'; it must be a finite number"),
        ({"type": "numeric", "value": math.nan}, "it must be a finite number"),
        ({"type": "numeric", "value": math.inf}, "it must be a finite number"),
        ({"type": "numeric", "value": True}, "it must be a finite number"),
        ({"type": "numeric", "value": [1]}, "it must be a finite number"),
        ({"type": "numeric", "value": 1, "tolerance": -1}, "tolerance is -1; it must be a number, 0 or more"),
        ({"type": "numeric", "value": 1, "relative": math.nan}, "relative is nan"),
        ({"type": "numeric", "value": 1, "extract": "all"}, "extract is 'all'; it must be 'whole', 'first' or 'last'"),
        ({"type": "latency"}, "max"),
        ({"type": "latency", "max": -1}, "latency: max is -1; it must be a number, 0 or more"),
        ({"type": "cost", "max": "1 dollar"}, "cost: max is '1 dollar'"),
    ],
)
def test_a_wrong_option_is_refused_and_said_what_would_be_right(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        evaluator(options)


# Text


def test_equals_is_exact_unless_told() -> None:
    assert judged(Equals(value="Paris"), "Paris").score == 1
    assert judged(Equals(value="Paris"), "Paris\n").score == 0
    assert judged(Equals(value="Paris"), "paris").score == 0
    assert judged(Equals(value="Paris", strip=True), " Paris\n").score == 1
    assert judged(Equals(value="Paris", ignore_case=True), "PARIS").score == 1
    assert judged(Equals(value=""), "").score == 1


def test_equals_says_what_was_found_and_expected() -> None:
    evaluation = judged(Equals(value="Paris"), "Lyon " * 100)

    assert evaluation.misses[0].startswith('The answer is "Lyon Lyon')
    assert evaluation.misses[0].endswith('", not "Paris".')
    assert len(evaluation.misses[0]) < 200
    assert evaluation.reasoning == evaluation.misses[0]


def test_all_values_must_be_contained_or_any() -> None:
    answer = "The Seine flows through Paris."

    both = judged(Contains(value=["Seine", "Paris"]), answer)
    one_of_two = judged(Contains(value=["Seine", "Loire"]), answer)
    any_of_two = judged(Contains(value=["Seine", "Loire"], mode="any"), answer)
    none_of_two = judged(Contains(value=["Rhône", "Loire"], mode="any"), answer)

    assert (both.score, both.misses) == (1, ())
    assert (one_of_two.score, one_of_two.misses) == (0, ('The answer does not contain "Loire".',))
    assert one_of_two.hits == ('The answer contains "Seine".',)
    assert (any_of_two.score, any_of_two.misses) == (1, ())
    assert (none_of_two.score, len(none_of_two.misses)) == (0, 2)


def test_contains_minds_case_and_icontains_does_not() -> None:
    assert judged(Contains(value="paris"), "Paris").score == 0
    assert judged(IContains(value="STRASSE"), "Friedrichstraße").score == 1


def test_an_empty_reference_answer_is_contained_in_everything_and_so_not_evaluated() -> None:
    assert judged(Contains(), "x", reference_answer="").status is Status.NOT_EVALUATED
    assert judged(StartsWith(), "x", reference_answer="").status is Status.NOT_EVALUATED
    assert judged(EndsWith(), "x", reference_answer="").status is Status.NOT_EVALUATED


def test_starts_with_says_how_the_answer_begins() -> None:
    assert judged(StartsWith(value="Yes"), "Yes, it is.").score == 1
    assert judged(StartsWith(value="Yes"), "No, it is not.").misses == ('The answer begins with "No,", not "Yes".',)


def test_ends_with_says_how_the_answer_ends() -> None:
    assert judged(EndsWith(value="30 days."), "You have 30 days.").score == 1
    assert judged(EndsWith(value="Yes"), "Is it? No").misses == ('The answer ends with " No", not "Yes".',)


@pytest.mark.parametrize(
    ("pattern", "answer", "score"),
    [
        ("aris", "Paris", 1),
        ("^aris", "Paris", 0),
        ("(?i)PARIS", "paris", 1),
        (r"^\d+$", "42", 1),
        (r"^\d+$", "٤٢", 0),
        (r"^\w+$", "é", 0),
        (r"^\p{L}+$", "é", 1),
        (r"\bcat\b", "the cat sat", 1),
        ("^a.c$", "a\nc", 0),
        ("(?s)^a.c$", "a\nc", 1),
        ("^b$", "a\nb", 0),
        ("(?m)^b$", "a\nb", 1),
        ("a$", "a\n", 0),
        ("^$", "", 1),
        ("a", "\ud800a", 1),
    ],
)
def test_a_regex_matches_anywhere_in_ecmascripts_way(pattern: str, answer: str, score: float) -> None:
    assert judged(Regex(value=pattern), answer).score == score


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(a|a)*$", r"^(.*a){12}$", r"(x+x+)+y", r"^(\w+\s?)*$"])
def test_a_regex_that_would_backtrack_for_ever_does_not(pattern: str) -> None:
    assert judged(Regex(value=pattern), "ax" * 20_000 + "!").status is Status.SCORED


@pytest.mark.slow
def test_a_regex_that_takes_too_long_is_an_error() -> None:
    evaluation = judged(Regex(value="(?:[a-z]{1,500}){1,20}x"), "a" * 50_000)

    assert evaluation.status is Status.ERROR
    assert "took more than 1 s" in str(evaluation.error)


# JSON


def test_json_is_all_of_the_answer_or_not_json() -> None:
    assert judged(IsJson(), '{"a": [1, null]}').hits == ("The answer is JSON.",)
    assert judged(IsJson(), '"text"').score == 1
    assert judged(IsJson(), '{"a": 1} and more').score == 0
    assert judged(IsJson(), "{'a': 1}").misses[0].startswith("The answer is not JSON: not JSON at column 2")


def test_json_may_have_to_be_valid_too() -> None:
    check = IsJson(schema={"required": ["a", "b"]})

    assert judged(check, '{"a": 1, "b": 2}').score == 1
    assert judged(check, "{}").misses == ('$: "a" is a required property', '$: "b" is a required property')
    assert judged(IsJson(schema=" "), "{}").score == 1
    assert judged(IsJson(schema=False), "{}").score == 0


def test_what_cannot_be_settled_is_an_error_also_when_negated() -> None:
    schema = {"items": {"not": {"pattern": r"(.*)(.*)(.*)\1\2!"}}}

    evaluation = judged(IsJson(schema=schema, negate=True), json.dumps(["x" * 300]))

    assert evaluation.status is Status.ERROR
    assert str(evaluation.error).startswith("schema: the pattern")


# Likeness


def test_levenshtein_passes_by_thresholds_or_by_its_own_mark() -> None:
    answer, value = "abcdefghiX", "abcdefghij"

    assert judged(Levenshtein(value=value), answer).score == pytest.approx(0.9)
    assert judged(Levenshtein(value=value), answer).verdict is Verdict.PASS
    assert judged(Levenshtein(value=value, thresholds={"pass": 0.95}), answer).verdict is Verdict.BORDERLINE
    assert judged(Levenshtein(value=value, min=0.95), answer).verdict is Verdict.FAIL
    assert judged(Levenshtein(value=value, min=0.9), answer).verdict is Verdict.PASS
    assert judged(Levenshtein(value=value, min=0.9, negate=True), answer).verdict is Verdict.FAIL
    assert judged(Levenshtein(value=value, min=0.95, negate=True), answer).verdict is Verdict.PASS
    assert judged(Levenshtein(value=value, negate=True), answer).score == pytest.approx(0.1)


def test_texts_too_long_to_compare_are_an_error() -> None:
    evaluation = judged(Levenshtein(value="a" * 40_000), "b" * 40_000)

    assert evaluation.status is Status.ERROR
    assert str(evaluation.error).startswith("too_long: ")


# Numbers


@pytest.mark.parametrize(
    ("text", "extract", "number"),
    [
        ("42", "whole", 42),
        (" -1.5e3\n", "whole", -1500),
        ("−7", "whole", -7),
        (".5", "whole", Fraction(1, 2)),
        ("1,234,567.5", "whole", Fraction(2469135, 2)),
        ("1,23", "whole", None),
        ("1,2345", "whole", None),
        ("12,345,67", "whole", None),
        ("42 km", "whole", None),
        ("$42", "whole", None),
        ("NaN", "whole", None),
        ("Infinity", "whole", None),
        ("1e9999", "whole", None),
        ("", "whole", None),
        ("٤٢", "whole", None),
        ("Between 3 and 4.", "first", 3),
        ("Between 3 and 4.", "last", 4),
        ("It costs $1,299.99, or 45% less.", "first", Fraction(129999, 100)),
        ("It costs $1,299.99, or 45% less.", "last", 45),
        ("The answer is 42.", "last", 42),
        ("x=-3", "last", -3),
        ("5-3", "last", 3),
        ("version 1.2.3 of v2", "first", None),
        ("3,14 in other countries", "first", None),
        ("1e9999 is no number here", "first", None),
        ("no number", "last", None),
        ("2024-01-15", "last", 15),
        ("9" * 2_000 + " and 7", "first", 7),
    ],
)
def test_which_numbers_are_found(text: str, extract: Any, number: Fraction | int | None) -> None:
    found = find_number(text, extract)

    assert (found and found.exact) == number


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9))
def test_a_number_is_found_as_it_is_written(number: Any) -> None:
    written = f"{number:,}"

    found = find_number(f"It is {written}!", "last")

    assert found is not None
    assert (found.exact, found.written) == (Fraction(number), written)


@given(st.text("0123456789.,eE+-− x", max_size=40), st.sampled_from(["whole", "first", "last"]))
def test_whatever_is_found_stands_in_the_text(text: str, extract: Any) -> None:
    found = find_number(text, extract)

    assert found is None or found.written in text


def test_a_tolerance_is_exact_at_its_edge() -> None:
    assert judged(Numeric(value=0.3, tolerance=0.1), "0.4").score == 1
    assert judged(Numeric(value=0.1, tolerance=0.2), "0.3").score == 1
    assert judged(Numeric(value=0.3, tolerance=0.1), "0.40000000000000001").score == 0
    assert judged(Numeric(value=200, relative=0.01), "202").score == 1
    assert judged(Numeric(value=-200, relative=0.01), "-202.1").score == 0
    assert judged(Numeric(value=1, tolerance=5, relative=0.01), "6").score == 1
    assert judged(Numeric(value="1,000"), "1e3").score == 1


def test_numeric_says_what_was_expected_and_found() -> None:
    wrong = judged(Numeric(value=42, tolerance=0.5, relative=0.05, extract="last"), "It is 41 or 39.")
    none = judged(Numeric(value=42), "forty-two")

    assert wrong.misses == ("The answer is 39, not 42 ± 0.5 or 5 %.",)
    assert wrong.details == {"found": "39", "expected": "42"}
    assert none.misses == ('The answer is not a number: "forty-two"; expected 42.',)


def test_the_reference_answer_is_read_like_the_answer() -> None:
    assert judged(Numeric(extract="last"), "so 7", reference_answer="3 + 4 = 7").score == 1
    assert judged(Numeric(), "7", reference_answer="3 + 4 = 7").status is Status.NOT_EVALUATED


# What it took


@pytest.mark.parametrize(("took", "score"), [(1.5, 1), (2.0, 1), (2.1, 0), (0.0, 1)])
def test_latency_and_cost_have_a_limit(took: float, score: float) -> None:
    assert Latency(max=2).evaluate(Case(latency=took)).score == score
    assert Cost(max=2).evaluate(Case(cost=took)).score == score


def test_an_unknown_latency_or_cost_is_no_zero() -> None:
    latency = Latency(max=2).evaluate(Case(cost=1))
    cost = Cost(max=2).evaluate(Case(latency=1))

    assert (latency.status, latency.reasoning) == (Status.NOT_EVALUATED, "The latency is unknown.")
    assert (cost.status, cost.reasoning) == (Status.NOT_EVALUATED, "The cost is unknown.")


def test_latency_and_cost_say_what_they_compared() -> None:
    assert Latency(max=2).evaluate(Case(latency=2.5)).misses == ("The latency is 2.5 s, above 2 s.",)
    assert Cost(max=0.01).evaluate(Case(cost=0.002)).hits == ("The cost is 0.002 dollars, within 0.01 dollars.",)


def test_a_pattern_is_told_as_it_was_written() -> None:
    case = Case(candidate_answer=r'see \cite{one} and "two"')

    evaluation = Regex(value=r"\[\d\]").evaluate(case)

    assert evaluation.misses == (r"""The answer has no match of "\[\d\]": 'see \cite{one} and "two"'.""",)


def test_a_bad_pattern_is_told_as_it_was_written() -> None:
    with pytest.raises(ConfigError, match=re.escape(r'"\d(" is not a regular expression')):
        Regex(value=r"\d(")


@pytest.mark.parametrize("text", ["one\ntwo", "a\x1b[2Jb", "a\u2028b", "\x85"])
def test_a_text_is_told_on_one_line(text: str) -> None:
    (miss,) = Equals(value="x").evaluate(Case(candidate_answer=text)).misses

    assert len(miss.splitlines()) == 1
    assert "\x1b" not in miss
