"""The labelled set for small judges has the shape that its page promises, and length gives nothing away."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

ITEMS: list[dict[str, str]] = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "bench/embedded/labelled.jsonl").read_text(encoding="utf-8").splitlines()
]
KEYS = ["id", "kind", "question", "check", "met", "unmet"]
KINDS = {
    "fact",
    "arithmetic",
    "completeness",
    "tone",
    "instruction",
    "safety",
    "groundedness",
    "code",
    "refusal",
    "reasoning",
    "negation",
    "near-miss",
}


def test_each_item_has_all_keys_and_none_is_empty() -> None:
    flawed = [item for item in ITEMS if list(item) != KEYS or not all(text.strip() for text in item.values())]

    assert flawed == []


def test_there_are_five_items_of_each_kind_and_their_ids_say_so() -> None:
    expected = [f"{kind}-{number:02}" for kind in KINDS for number in range(1, 6)]

    assert Counter(item["kind"] for item in ITEMS) == dict.fromkeys(KINDS, 5)
    assert sorted(item["id"] for item in ITEMS) == sorted(expected)
    assert [item["id"] for item in ITEMS if not item["id"].startswith(f"{item['kind']}-")] == []


def test_no_question_and_no_answer_stands_twice() -> None:
    questions = [item["question"] for item in ITEMS]
    answers = [item[label] for item in ITEMS for label in ("met", "unmet")]

    assert len(set(questions)) == len(questions)
    assert len(set(answers)) == len(answers)


def test_items_are_short() -> None:
    words = {
        item["id"]: len(item["question"].split()) + len(max(item["met"].split(), item["unmet"].split(), key=len))
        for item in ITEMS
    }

    assert {name: count for name, count in words.items() if count > 45} == {}
    assert [item["id"] for item in ITEMS if len(item["check"].split()) > 15] == []


def test_the_two_answers_are_about_equally_long() -> None:
    ratios = {item["id"]: len(item["met"]) / len(item["unmet"]) for item in ITEMS}

    assert {name: ratio for name, ratio in ratios.items() if not 0.7 <= ratio <= 1.4} == {}


def test_taking_the_longer_answer_is_right_no_more_often_than_a_coin() -> None:
    differences = [len(item["met"]) - len(item["unmet"]) for item in ITEMS]

    longer = sum(difference > 0 for difference in differences)
    even = sum(difference == 0 for difference in differences)

    assert 0.42 <= (longer + even / 2) / len(ITEMS) <= 0.58
