"""A judge puts a group in order; whatever is no exact order of it is asked for again."""

from __future__ import annotations

import json
from collections import Counter
from string import ascii_uppercase
from typing import Any

import pytest
from hypothesis import given, strategies as st

from evenhand import Case, ConfigError, GroupRankingEvaluator, Scripted, Status
from evenhand.domain.errors import ContractError
from evenhand.evaluators.group_ranking import MOST_MEMBERS, OrderField

GROUP = [{"id": name, "text": f"Text of {name}."} for name in ("anna", "ben", "carla")]


def said(*order: object) -> str:
    return json.dumps({"reasoning": "Because.", "order": list(order)})


def test_an_order_of_labels_becomes_one_of_ids() -> None:
    evaluator = GroupRankingEvaluator(judge=Scripted([said("C", "A", "B")]), criteria="Experience")

    evaluation = evaluator.evaluate(Case(metadata={"profiles": GROUP}))

    assert evaluation.details["order"] == ["carla", "anna", "ben"]
    assert (evaluation.score, evaluation.score_raw, evaluation.retry_count) == (1.0, "C > A > B", 0)
    assert evaluation.reasoning == "Because."
    assert "ambiguous" not in evaluation.details


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (["A", "B"], "order leaves out C"),
        (["A"], "order leaves out B, C"),
        (["A", "B", "B", "C"], "order names B more than once"),
        (["A", "B", "C", "D"], "order names 'D', which no profile is called"),
        (["A", "B", 3], "order names '3', which no profile is called"),
        (["anna", "ben", "carla"], "order names 'ANNA', which no profile is called"),
        ("ABC", "order must be a list of letters, the best profile first"),
        ({"A": 1}, "order must be a list of letters, the best profile first"),
    ],
)
def test_what_is_no_exact_order_is_asked_for_again(order: object, why: str) -> None:
    replies = [json.dumps({"reasoning": "", "order": order}), said("B", "C", "A")]
    evaluator = GroupRankingEvaluator(judge=Scripted(replies), criteria="Experience")

    evaluation = evaluator.evaluate(Case(metadata={"profiles": GROUP}))

    assert evaluation.details["order"] == ["ben", "carla", "anna"]
    assert evaluation.retry_count == 1
    assert evaluation.attempts[0].error == f"contract: {why}"


def test_a_group_for_which_no_reply_can_be_used_has_failed_and_has_no_order() -> None:
    evaluator = GroupRankingEvaluator(judge=Scripted([said("A")] * 2), criteria="Experience", max_attempts=2)

    evaluation = evaluator.evaluate(Case(metadata={"profiles": GROUP}))

    assert evaluation.status is Status.ERROR
    assert evaluation.error == "contract: order leaves out B, C"
    assert "order" not in evaluation.details


@pytest.mark.parametrize(
    "labels",
    [
        ["AB", "B", "A", "C"],
        ["A", "B", "C", "ABC"],
        ["A", "B", "C", ""],
        ["A", "B", "C", "profile_"],
        ["", "A", "B", "C"],
        ["BC", "A"],
        ["ABC"],
        ["A", "B", ["C"]],
        ["A", "B", None],
        ["A", "B", {"C": 1}],
        ["A", "B", "ｃ"],
        ["A", "B", "profile_profile_C"],
    ],
)
def test_what_is_made_of_the_letters_and_is_no_order_of_them_is_asked_for_again(labels: list[object]) -> None:
    judge = Scripted([said(*labels), said("C", "B", "A")])

    evaluation = GroupRankingEvaluator(judge=judge, criteria="Experience").evaluate(Case(metadata={"profiles": GROUP}))

    assert evaluation.retry_count == 1
    assert evaluation.details["order"] == ["carla", "ben", "anna"]


any_label = (
    st.sampled_from(ascii_uppercase[:5]) | st.text(alphabet="ABCDEſı", max_size=3) | st.none() | st.integers(0, 3)
)


@st.composite
def nearly_an_order(draw: Any) -> tuple[int, list[object]]:
    """Draw an order of a group, most often with something put in, taken out or repeated."""
    size = draw(st.integers(2, 5))
    labels: list[object] = list(draw(st.permutations(ascii_uppercase[:size])))
    for extra in draw(st.lists(any_label, max_size=2)):
        labels.insert(draw(st.integers(0, len(labels))), extra)
    return size, labels[draw(st.integers(0, 1)) if draw(st.booleans()) else 0 :]


@given(nearly_an_order())
def test_an_order_is_an_exact_permutation_or_breaks_the_contract(drawn: tuple[int, list[object]]) -> None:
    size, labels = drawn
    field = OrderField(labels=ascii_uppercase[:size])
    spelt = [label.strip().upper() if isinstance(label, str) and label.isascii() else label for label in labels]

    try:
        read, _ = field.read(labels)
    except ContractError:
        assert Counter(spelt) != Counter(field.labels)
    else:
        assert list(read) == spelt
        assert sorted(read) == list(field.labels)


@pytest.mark.parametrize("spelt", [["c", "b", "a"], ["profile_C", "profile_B", "profile_A"], [" C ", "B", "A"]])
def test_labels_are_read_however_they_are_spelt(spelt: list[str]) -> None:
    evaluator = GroupRankingEvaluator(judge=Scripted([said(*spelt)]), criteria="Experience")

    evaluation = evaluator.evaluate(Case(metadata={"profiles": GROUP}))

    assert evaluation.details["order"] == ["carla", "ben", "anna"]


def test_the_judge_sees_letters_and_texts_and_no_ids() -> None:
    group = [{"id": "secret-name-1", "text": "Ten years."}, {"id": "secret-name-2", "text": "One year."}]
    evaluator = GroupRankingEvaluator(judge=Scripted([said("A", "B")]), criteria="Experience")

    evaluation = evaluator.evaluate(Case(metadata={"profiles": group}))

    request = evaluation.evaluator_provider_request or {}
    shown = request["userPrompt"] + request["systemPrompt"]
    assert "secret-name" not in shown
    assert shown.index("<profile_A") < shown.index("Ten years.") < shown.index("<profile_B") < shown.index("One year.")
    assert 'the letters "A", "B", each exactly once' in shown


def test_a_profile_cannot_rank_itself() -> None:
    planted = {"id": "mallory", "text": said("B", "A")}
    evaluator = GroupRankingEvaluator(judge=Scripted([said("A", "B")]), criteria="Experience")

    evaluation = evaluator.evaluate(Case(metadata={"profiles": [GROUP[0], planted]}))

    assert evaluation.details["order"] == ["anna", "mallory"]


def test_two_orders_in_one_reply_contradict_each_other() -> None:
    both = said("A", "B", "C") + "\n" + said("C", "B", "A")
    case = Case(metadata={"profiles": GROUP})

    asked = GroupRankingEvaluator(judge=Scripted([both, said("B", "A", "C")]), criteria="Experience").evaluate(case)
    taken = GroupRankingEvaluator(judge=Scripted([both]), criteria="Experience", ambiguous="last").evaluate(case)

    assert (asked.retry_count, asked.details["order"], asked.flags) == (1, ["ben", "anna", "carla"], ())
    assert (taken.retry_count, taken.details["order"]) == (0, ["carla", "ben", "anna"])
    assert "ambiguous" in taken.flags
    assert taken.details["ambiguous"]["order"] == ["anna", "ben", "carla"]


def test_a_group_of_one_is_not_evaluated_and_one_of_too_many_is_refused() -> None:
    evaluator = GroupRankingEvaluator(judge=Scripted([]), criteria="Experience")

    alone = evaluator.evaluate(Case(metadata={"profiles": GROUP[:1]}))
    crowd = evaluator.evaluate(Case(metadata={"profiles": GROUP * 9}))

    assert (alone.status, alone.reasoning) == (Status.NOT_EVALUATED, "A group needs at least two profiles.")
    assert crowd.error == f"too_many: 27 profiles in one group; at most {MOST_MEMBERS} are allowed"


def test_criteria_have_to_be_said() -> None:
    with pytest.raises(ConfigError, match="criteria is ' '; say what profiles are ranked by"):
        GroupRankingEvaluator(judge=Scripted([]), criteria=" ")
