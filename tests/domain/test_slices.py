"""Keys to slice by, the slice of a case, and gates of slices."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode, exit_code
from evenhand.domain.gates import Gates, slices_of
from evenhand.domain.slices import FEW, SliceCheck, slice_keys, slice_value
from evenhand.domain.summary import Slice, Summary, Tally

WELL = Tally(n=FEW, scored=FEW, mean=0.95, pass_rate=1.0, passed=FEW)
BADLY = Tally(n=12, scored=12, mean=0.5, pass_rate=0.25, passed=3, failed=9)
UNSCORED = Tally(n=2, errors=2)


def summary_of(**values: Tally) -> Summary:
    """Make the numbers of a run by language, with an evaluator that judged as the case came out."""
    slices = {value: Slice(cases=tally, evaluators={"safety": tally}) for value, tally in values.items()}
    return Summary(cases=WELL, evaluators={"safety": WELL}, slices={"lang": slices})


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("de", "de"),
        (True, "true"),
        (False, "false"),
        (3, "3"),
        (0.5, "0.5"),
        (None, "(none)"),
        ("", "(none)"),
        (math.nan, "(none)"),
        (["de"], "(other)"),
        ({"a": 1}, "(other)"),
        (2**70, "(other)"),
    ],
)
def test_a_value_is_text_or_a_number_true_or_false_as_json_has_them(value: Any, name: str) -> None:
    assert slice_value({"lang": value}, "lang") == name


def test_a_case_without_the_key_is_in_a_slice_too() -> None:
    assert slice_value({}, "lang") == "(none)"


@pytest.mark.parametrize("keys", ["lang", {"lang": 1}, [1], [["lang"]], [""], 7])
def test_what_is_no_list_of_texts_is_refused(keys: object) -> None:
    with pytest.raises(ConfigError, match="slices must be a list of keys of the cases' metadata"):
        slice_keys(keys)


def test_more_than_20_keys_are_refused() -> None:
    keys = [f"key {number}" for number in range(21)]

    assert len(slice_keys(keys[:20])) == 20
    with pytest.raises(ConfigError, match="slices has 21 keys; at most 20"):
        slice_keys(keys)
    with pytest.raises(ConfigError, match="gates: slices has 21 keys"):
        Gates.of({"slices": {key: {"min_mean": 0.9} for key in keys}})


def test_a_gate_brings_its_key() -> None:
    of_safety = {"safety": {"slices": {"topic": {"min_mean": 1}, "lang": {"max_failed": 0}}}}
    gates = {"slices": {"lang": {"min_mean": 0.9}}, "evaluators": of_safety}

    assert slices_of({"slices": ["site"], "gates": gates}) == ("site", "lang", "topic")
    assert slices_of({}) == ()


def test_a_key_that_no_case_has_is_named_with_the_nearest_one() -> None:
    check = SliceCheck(["lagn", "lang"])
    problems = [check.problem(metadata) for metadata in ({"lang": "de"}, {"topic": 1}, {})]

    assert problems == ["", "", ""]
    assert list(check.mistakes()) == [("lagn", "no case has 'lagn' in its metadata; did you mean 'lang'?")]


def test_the_keys_that_there_are_are_named_where_none_is_near() -> None:
    check = SliceCheck(["site"])
    check.problem({"lang": "de", "topic": 1})

    assert list(check.mistakes()) == [("site", "no case has 'site' in its metadata; known: lang, topic")]


def test_a_list_in_the_place_of_a_value_is_refused() -> None:
    problem = SliceCheck(["lang"]).problem({"lang": ["de"]})

    assert problem == "metadata: lang must be text, a number, true or false, since the run is sliced by it"


def test_a_gate_needs_a_key_with_few_values_and_a_table_does_not() -> None:
    gated, shown = SliceCheck([], ["id"]), SliceCheck(["id"])
    for number in range(51):
        assert gated.problem({"id": number}) == shown.problem({"id": number}) == ""

    assert list(shown.mistakes()) == []
    assert list(gated.mistakes()) == [("id", "'id' has more than 50 different values; a gate needs a key with fewer")]


# Gates


def test_each_value_of_a_key_must_reach_the_limit_and_the_words_say_which_did_not() -> None:
    gates = Gates.of({"slices": {"lang": {"min_mean": 0.9}}})

    en, de = gates.check(summary_of(en=WELL, de=BADLY))

    assert (en.ok, en.words) == (True, "lang=en.min_mean: wanted at least 0.9, found 0.95 over 20 cases")
    assert (de.ok, de.words) == (
        False,
        "lang=de.min_mean: wanted at least 0.9, found 0.5 over 12 cases, too few to say",
    )
    assert de.as_dict() == {
        "name": "lang=de.min_mean", "wanted": 0.9, "found": 0.5, "ok": False, "kind": "score",
        "slice": {"key": "lang", "value": "de"}, "n": 12,
    }  # fmt: skip


def test_a_gate_of_an_evaluator_may_be_about_slices() -> None:
    gates = Gates.of({"evaluators": {"safety": {"slices": {"lang": {"max_failed": "10%"}}}}})

    (de,) = gates.check(summary_of(de=BADLY))

    assert not de.ok
    assert de.words == "safety.lang=de.max_failed: wanted at most 10 %, found 75 % (9 of 12), too few to say"


@pytest.mark.parametrize("rule", ["min_mean", "min_pass_rate", "min_mean_low", "max_failed"])
def test_a_value_without_a_scored_case_is_unscored_and_not_passed(rule: str) -> None:
    gates = Gates.of({"slices": {"lang": {rule: 0}}})

    (sw,) = gates.check(summary_of(sw=UNSCORED))

    assert (sw.ok, sw.kind, sw.found) == (False, "unscored", None)
    assert sw.words.endswith("found no scored case")
    assert exit_code(summary_of(sw=UNSCORED), gates) is ExitCode.UNSCORED


def test_a_value_that_an_evaluator_never_judged_does_not_pass_its_gate() -> None:
    summary = Summary(
        cases=WELL, evaluators={"safety": WELL}, slices={"lang": {"en": Slice(cases=WELL), "de": Slice(cases=WELL)}}
    )

    results = Gates.of({"evaluators": {"safety": {"slices": {"lang": {"min_mean": 0}}}}}).check(summary)

    assert [(result.ok, result.problem) for result in results] == [(False, "no scored case")] * 2


@pytest.mark.parametrize(
    ("summary", "problem"),
    [
        (
            Summary(cases=WELL, unsliced=("lang",)),
            "lang.min_mean: wanted at least 0, found more than 50 different values",
        ),
        (Summary(cases=WELL), "lang.min_mean: wanted at least 0, found no case"),
    ],
)
def test_a_gate_without_slices_to_check_fails(summary: Summary, problem: str) -> None:
    (result,) = Gates.of({"slices": {"lang": {"min_mean": 0}}}).check(summary)

    assert (result.ok, result.words) == (False, problem)


def test_a_limit_of_unscored_cases_in_slices_does_not_excuse_the_errors_of_all() -> None:
    assert not Gates.of({"slices": {"lang": {"max_unscored": 5}}}).limits_unscored


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ({"slcies": {}}, "gates: no gate 'slcies'; did you mean 'slices'?"),
        ({"slices": ["lang"]}, "gates: slices must be a mapping of keys of metadata to gates, not"),
        ({"slices": {"lang": 0.9}}, "gates: slices: lang must be a mapping such as"),
        ({"slices": {"lang": {"min_maen": 1}}}, "gates: slices: lang: no gate 'min_maen'; did you mean 'min_mean'?"),
        ({"slices": {"lang": {"slices": {}}}}, "gates: slices: lang: no gate 'slices'"),
        ({"slices": {"lang": {"min_mean": 2}}}, "gates: slices: lang: min_mean is 2; it must be a number from 0 to 1"),
        (
            {"evaluators": {"safety": {"slices": {"lang": {"min_maen": 1}}}}},
            "gates: evaluators: safety: slices: lang: no gate 'min_maen'; did you mean 'min_mean'?",
        ),
        ({"evaluators": {"safety": {"evaluators": {}}}}, "gates: evaluators: safety: no gate 'evaluators'"),
    ],
)
def test_a_misspelt_gate_of_a_slice_is_refused(gates: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Gates.of(gates)

    assert str(refused.value).startswith(message)
