"""The pairs that come with the package: the good answer is right, the bad one is not, and only that sets them apart."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import chain, combinations, permutations, product
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from evenhand.doctor.pairs import TASKS, Pair, shipped_pairs
from evenhand.domain.errors import ConfigError

FOLDER = Path(__file__).resolve().parents[2] / "src" / "evenhand" / "doctor" / "pairs"

# What proves the truth of a pair, by task; no part of what a judge sees.
PROOFS = {"reasoning": {"value", "says"}, "instruction": {"rule"}, "code": {"checks"}}
WITH_CONTEXT = {"summary", "extraction"}


def rows(task: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("task", TASKS)
def test_a_task_has_enough_pairs_and_half_of_them_are_subtle(task: str) -> None:
    pairs = shipped_pairs([task])

    assert 24 <= len(pairs) <= 26
    assert [pair.id for pair in pairs] == [f"{task}-{number:02}" for number in range(1, len(pairs) + 1)]
    assert {pair.task for pair in pairs} == {task}
    assert 0.4 <= mean(pair.difficulty == "subtle" for pair in pairs) <= 0.6
    assert {pair.difficulty for pair in pairs} == {"easy", "subtle"}


@pytest.mark.parametrize("task", TASKS)
def test_a_file_has_the_fields_of_its_task_and_no_others(task: str) -> None:
    expected = {field.name for field in fields(Pair)} - {"task"} | PROOFS.get(task, set())
    if task not in WITH_CONTEXT:
        expected -= {"context"}

    for row in rows(task):
        assert row.keys() == expected, row["id"]
        assert all(
            isinstance(row[name], str) and row[name] == row[name].strip() != ""
            for name in expected - {"rule", "checks"}
        )


def test_all_tasks_come_in_their_order_and_some_can_be_chosen() -> None:
    everything = shipped_pairs()

    assert list(dict.fromkeys(pair.task for pair in everything)) == list(TASKS)
    assert len(everything) >= 144
    assert shipped_pairs(["code", "factual", "code"]) == shipped_pairs(["factual"]) + shipped_pairs(["code"])
    assert shipped_pairs([]) == ()


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (
            ["factual", "poetry"],
            "no task 'poetry'; the tasks are factual, reasoning, summary, extraction, instruction, code",
        ),
        ("factual", "tasks is 'factual'; it must be a list, such as ['factual']"),
    ],
)
def test_an_unknown_task_is_refused(tasks: Sequence[str], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)) as refused:
        shipped_pairs(tasks)

    assert refused.value.key == "tasks"


def test_no_text_is_there_twice() -> None:
    pairs = shipped_pairs()

    asked = Counter((pair.question, pair.context) for pair in pairs)
    answers = Counter(chain.from_iterable((pair.good, pair.bad) for pair in pairs))

    assert [text for text, times in (asked + answers).items() if times > 1] == []


def test_texts_are_plain_and_say_nothing_to_a_judge() -> None:
    forbidden = re.compile(r"\b(judge|score|grade|verdict|rating|evaluat\w*|ignore|instructions?)\b", re.IGNORECASE)

    for pair in shipped_pairs():
        for text in (pair.question, pair.context or "", pair.reference, pair.good, pair.bad, pair.why):
            assert text.isascii(), pair.id
            assert text.replace("\n", "").isprintable(), pair.id
        assert not forbidden.search(pair.good + pair.bad), pair.id


def test_answers_are_short() -> None:
    for pair in shipped_pairs():
        for answer in (pair.good, pair.bad):
            if pair.task == "code":
                assert len(answer.splitlines()) <= 12, pair.id
            else:
                assert len(re.findall(r"[.!?](?=\s|$)", answer)) <= 4, pair.id
                assert len(answer) <= 200, pair.id


# Truth


@pytest.mark.parametrize("row", rows("reasoning"), ids=lambda row: row["id"])
def test_the_good_answer_says_what_is_computed_and_the_bad_one_does_not(row: dict[str, Any]) -> None:
    names = {
        "date": date, "datetime": datetime, "timedelta": timedelta, "Fraction": Fraction,
        "combinations": combinations, "permutations": permutations, "product": product,
    }  # fmt: skip

    value = str(eval(row["value"], names))

    assert says(row["says"], value)
    assert says(row["good"], row["says"])
    assert not says(row["bad"], row["says"])
    assert says(row["reference"], value)
    assert all(equation_holds(*found) for found in equations(row["good"]))


def says(text: str, part: str) -> bool:
    """Tell whether the part is in the text, and not within a longer number or word."""
    return re.search(rf"(?<![\w.]){re.escape(part)}(?!\w|\.\d)", text) is not None


def equations(text: str) -> list[tuple[str, ...]]:
    return re.findall(r"(\d+) ([-+/]) (\d+) = (\d+)", text)


def equation_holds(left: str, sign: str, right: str, result: str) -> bool:
    return bool(eval(f"{left} {sign} {right} == {result}"))


@pytest.mark.parametrize("row", rows("summary"), ids=lambda row: row["id"])
def test_a_good_summary_has_no_number_that_the_text_has_not(row: dict[str, Any]) -> None:
    numbers = re.compile(r"\d[\d,.]*\d|\d")

    for text in (row["good"], row["reference"]):
        assert set(numbers.findall(text)) <= set(numbers.findall(row["context"]))


@pytest.mark.parametrize("row", rows("extraction"), ids=lambda row: row["id"])
def test_good_values_stand_in_the_text_and_a_bad_one_is_another(row: dict[str, Any]) -> None:
    good, bad = json.loads(row["good"]), json.loads(row["bad"])

    assert list(good) == list(bad)
    assert all(f"({key})" in row["question"] for key in good)
    assert all(says(row["context"], value) and says(row["reference"], value) for value in values(good))
    assert ("null" in row["question"]) == (None in good.values())
    assert {key for key in good if good[key] != bad[key]}
    if sorted(values(good)) != sorted(values(bad)):
        assert any(not says(row["reference"], value) for value in values(bad))


def values(extracted: dict[str, Any]) -> list[str]:
    lists = (value if isinstance(value, list) else [value] for value in extracted.values() if value is not None)
    return list(chain.from_iterable(lists))


@pytest.mark.parametrize("row", rows("instruction"), ids=lambda row: row["id"])
def test_the_good_answer_follows_the_rule_and_the_bad_one_does_not(row: dict[str, Any]) -> None:
    rule = dict(row["rule"])
    follows = RULES[rule.pop("kind")]

    assert follows(row["good"], **rule)
    assert follows(row["reference"], **rule)
    assert not follows(row["bad"], **rule)


def lines(text: str, pattern: str, count: int) -> bool:
    return len(text.split("\n")) == count and all(re.fullmatch(pattern, line) for line in text.split("\n"))


def in_order(text: str, separator: str, count: int) -> bool:
    items = text.split(separator)
    return len(items) == count and items == sorted(items)


RULES: dict[str, Callable[..., bool]] = {
    "words": lambda text, count: len(text.split()) == count,
    "sentences": lambda text, count: len(re.findall(r"[.!?](?=\s|$)", text)) == count,
    "characters": lambda text, most: len(text) <= most,
    "lines": lines,
    "numbered": lambda text, count: (
        [line.split(" ")[0] for line in text.split("\n")] == [f"{n}." for n in range(1, count + 1)]
    ),
    "sorted": in_order,
    "numbers": lambda text, order: text == ", ".join(map(str, order)),
    "keys": lambda text, keys: list(json.loads(text)) == keys,
    "acrostic": lambda text, word: "".join(line[0] for line in text.split("\n")) == word,
    "initials": lambda text, letter: all(word.lower().startswith(letter) for word in text.split()),
    "title": lambda text: all(word[0].isupper() for word in text.split()),
    "lower": lambda text: text == text.lower(),
    "upper": lambda text: text == text.upper(),
    "without": lambda answer, text: text not in answer.lower(),
    "times": lambda answer, text, count: len(re.findall(rf"\b{text}\b", answer.lower())) == count,
    "starts": lambda answer, text: answer.startswith(text),
    "ends": lambda answer, text: answer.endswith(text),
}


@pytest.mark.parametrize("row", rows("code"), ids=lambda row: row["id"])
def test_good_code_passes_its_checks_and_bad_code_fails_one(row: dict[str, Any]) -> None:
    assert failures(row["good"], row["checks"]) == []
    assert failures(row["bad"], row["checks"]) != []


def failures(code: str, checks: list[str]) -> list[str]:
    names: dict[str, Any] = {}
    exec(code, names)
    return [check for check in checks if not holds(check, names)]


def holds(check: str, names: dict[str, Any]) -> bool:
    with contextlib.suppress(Exception):
        exec(check, names)
        return True
    return False


# Nothing on the surface


@pytest.mark.parametrize("task", TASKS)
def test_both_answers_of_a_pair_are_about_as_long(task: str) -> None:
    pairs = shipped_pairs([task])
    differences = {pair.id: len(pair.bad) / len(pair.good) - 1 for pair in pairs}

    assert {name: difference for name, difference in differences.items() if abs(difference) > 0.12} == {}
    assert abs(mean(differences.values())) <= 0.02


WORD = re.compile(r"\w+")
FEATURES: dict[str, Callable[[str], float]] = {
    "characters": len,
    "words": lambda text: len(text.split()),
    "lines": lambda text: text.count("\n"),
    "sentences": lambda text: len(re.findall(r"[.!?](?=\s|$)", text)),
    "digits": lambda text: sum(map(str.isdigit, text)),
    "punctuation": lambda text: sum(not character.isalnum() and not character.isspace() for character in text),
    "capital letters": lambda text: sum(map(str.isupper, text)),
    "length of words": lambda text: len(text) / len(text.split()),
    "different words": lambda text: len(set(WORD.findall(text.lower()))) / len(WORD.findall(text)),
    "negations": lambda text: len(
        re.findall(r"\b(no|not|nothing|nobody|never|none|but|without|cannot)\b", text.lower())
    ),
}


@pytest.mark.parametrize("feature", FEATURES)
def test_no_feature_of_the_surface_tells_good_from_bad(feature: str) -> None:
    """A judge who scores by one feature, or prefers the answer that has more of it, is no better than chance."""
    measure = FEATURES[feature]

    for task in TASKS:
        of_task = [(measure(pair.good), measure(pair.bad)) for pair in shipped_pairs([task])]
        assert 0.4 <= scored(of_task) <= 0.6, task
        assert 0.4 <= preferred(of_task) <= 0.6, task

    of_all = [(measure(pair.good), measure(pair.bad)) for pair in shipped_pairs()]
    assert 0.45 <= scored(of_all) <= 0.55
    assert 0.45 <= preferred(of_all) <= 0.55


def test_a_feature_that_tells_is_noticed() -> None:
    padded = [(float(len(pair.good) + 30), float(len(pair.bad))) for pair in shipped_pairs()]

    assert scored(padded) > 0.6
    assert preferred(padded) == 1.0


def test_words_shared_with_the_question_do_not_tell_good_from_bad() -> None:
    """A judge who looks for the words of the question and of its text would be misled as often as helped."""
    for task in TASKS:
        shares = [(share(pair, pair.good), share(pair, pair.bad)) for pair in shipped_pairs([task])]
        assert 0.35 <= preferred(shares) <= 0.65, task


def test_words_learnt_from_the_other_pairs_do_not_tell_good_from_bad() -> None:
    """Naive Bayes, trained on all pairs but one and asked about that one, is no better than chance."""
    pairs = shipped_pairs()
    in_good = Counter(chain.from_iterable(tokens(pair.good) for pair in pairs))
    in_bad = Counter(chain.from_iterable(tokens(pair.bad) for pair in pairs))

    def odds(answer: str, pair: Pair) -> float:
        good, bad = tokens(pair.good), tokens(pair.bad)
        return sum(math.log((in_good[w] - (w in good) + 1) / (in_bad[w] - (w in bad) + 1)) for w in tokens(answer))

    assert preferred([(odds(pair.good, pair), odds(pair.bad, pair)) for pair in pairs]) <= 0.6


def scored(measured: list[tuple[float, float]]) -> float:
    """Return the AUC: how often any good answer has more than any bad one, ties being half."""
    return mean(more(good, bad) for good, _ in measured for _, bad in measured)


def preferred(measured: list[tuple[float, float]]) -> float:
    """Return how often the good answer has more than the bad one of its pair, ties being half."""
    return mean(more(good, bad) for good, bad in measured)


def more(good: float, bad: float) -> float:
    return 0.5 if math.isclose(good, bad) else float(good > bad)


def share(pair: Pair, answer: str) -> float:
    known = set(WORD.findall(f"{pair.question} {pair.context or ''}".lower()))
    return mean(word in known for word in WORD.findall(answer.lower()))


def tokens(text: str) -> set[str]:
    return set(re.findall(r"\w+|[^\w\s]", text.lower()))
