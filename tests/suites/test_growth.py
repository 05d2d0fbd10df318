"""Looking through a suite takes work in proportion to its size, whatever stands in it.

What Python does is counted, call by call. What its regular expressions do is not to be seen from outside; another test
looks at each of them (``tests/growth/test_patterns.py``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.suites.suite import check

SCHEMA = json.loads(
    (Path(sys.modules[check.__module__].__file__ or "").parent / "suite.schema.json").read_text("utf-8")
)
HOSTILE = ["a://:", "https://a.", "((", "{{a", "${", "@", " ", "\\", "9", "1_", "[", "\u0301"]
# What all evaluators have is looked at in one of them.
COMMON = frozenset({"name", "type", "weight", "required", "thresholds", "negate"})
SMALL = 2_000


def suite(**given: Any) -> dict[str, Any]:
    case = {"id": "a", "input": "Capital of France?", "candidate_answer": "Paris", "expected_outcome": "Names Paris"}
    return {"judge": "openai/m", "evaluators": [{"name": "quality", "type": "llm_judge"}], "cases": [case], **given}


def suites_with(key: str, value: Any) -> dict[str, Any]:
    """Return a suite with a value at one of the keys of ``places``."""
    owner, _, name = key.rpartition(".")
    match owner:
        case "":
            return suite(**{name: value})
        case "case":
            return suite(cases=[{**suite()["cases"][0], name: value}])
        case "model_mapping":
            return suite(judge={"model": "openai/m", name: value})
        case "rubric":
            return suite(evaluators=[{"type": "llm_judge", "rubrics": [{"description": "x", name: value}]}])
        case _:
            return suite(evaluators=[{"name": "x", "type": owner.removeprefix("evaluator_"), name: value}])


def places() -> Iterator[str]:
    """Yield the keys of the published schema, each with its owner."""
    yield from SCHEMA["properties"]
    for owner, definition in SCHEMA["definitions"].items():
        if owner in ("case", "model_mapping", "rubric") or owner.startswith("evaluator_"):
            known = frozenset() if owner in ("case", "rubric", "evaluator_llm_judge") else COMMON
            yield from (f"{owner}.{key}" for key in definition.get("properties", {}) if key not in known)


def calls_for(path: Path, content: dict[str, Any]) -> int:
    """Count the calls, of Python's own functions too, that it takes to look through a suite."""
    path.write_text(json.dumps(content), encoding="utf-8")
    calls = 0

    def count(_frame: object, event: str, _: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        check(path)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.slow
@pytest.mark.parametrize(
    "quarters",
    [
        pytest.param([0], id="a quarter of the words"),
        pytest.param([1, 2, 3], id="all others", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize(("number", "key"), list(enumerate(places())), ids=list(places()))
def test_a_value_twice_as_long_takes_at_most_twice_the_work(
    number: int, key: str, quarters: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "suite.json"
    calls_for(path, suites_with(key, "x"))  # what is loaded at the first time is not counted

    for word in (word for quarter in quarters for word in HOSTILE[(number + quarter) % 4 :: 4]):
        once, twice = (calls_for(path, suites_with(key, word * (times * SMALL // len(word)))) for times in (1, 2))
        assert twice <= 2.2 * once, word


@pytest.mark.slow
@pytest.mark.parametrize("word", HOSTILE)
def test_yaml_twice_as_long_takes_at_most_twice_the_work(word: str, tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    calls_for(path, suite(description="x"))

    once, twice = (calls_for(path, suite(description=word * (times * SMALL // len(word)))) for times in (1, 2))

    assert twice <= 2.2 * once


@pytest.mark.slow
@pytest.mark.parametrize("owner", ["model_mapping", "evaluator_llm_judge", "case", ""])
def test_twice_as_many_unknown_keys_take_at_most_twice_the_work(owner: str, tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    calls_for(path, suites_with("description", "x"))

    def with_keys(count: int) -> dict[str, Any]:
        unknown = {f"unknown_{number}": 1 for number in range(count)}
        match owner:
            case "model_mapping":
                return suite(judge={"model": "openai/m", **unknown})
            case "evaluator_llm_judge":
                return suite(evaluators=[{"name": "x", "type": "llm_judge", **unknown}])
            case "case":
                return suite(cases=[{**suite()["cases"][0], **unknown}])
            case _:
                return suite(**unknown)

    once, twice = calls_for(path, with_keys(300)), calls_for(path, with_keys(600))

    assert twice <= 2.2 * once


@pytest.mark.slow
def test_twice_as_many_equal_cases_take_at_most_twice_the_work(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    calls_for(path, suite())

    once, twice = (calls_for(path, suite(cases=[{"input": "x"}] * count)) for count in (300, 600))

    assert twice <= 2.2 * once


TABLES: dict[str, Callable[[int], str]] = {
    "rows": lambda count: "input,topic\n" + "a,b\n" * count,
    "cells of many lines": lambda count: 'input,topic\n"' + "a\n" * count + '",b\n',
    "doubled quotes": lambda count: 'input,topic\n"' + '""' * count + '",b\n',
    "columns": lambda count: "input," + ",".join(f"further {number}" for number in range(count)) + "\n",
    "cells too many": lambda count: "input,topic\na" + ",b" * count + "\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_a_table_twice_as_long_takes_at_most_twice_the_work(kind: str, tmp_path: Path) -> None:
    path, table = tmp_path / "suite.json", tmp_path / "table.csv"

    def calls(count: int) -> int:
        table.write_text(TABLES[kind](count), encoding="utf-8")
        return calls_for(path, suite(cases="table.csv"))

    calls(1)
    once, twice = calls(400), calls(800)

    assert twice <= 2.2 * once
