"""Any case that is written by somebody else's writer reads back as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings

from evenhand.domain.contract import storable
from evenhand.domain.json_codec import case_to
from evenhand.suites.suite import read_suite
from evenhand.suites.yaml_scalars import SUSPECTS

# Many, and together they take a while.
pytestmark = pytest.mark.slow

# What files of text can hold; lone surrogates and other marks are for the tests of the readers.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ID = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=20).filter(str.strip)
NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": TEXT}),
    min_size=1,
    max_size=3,
)
CASES = st.fixed_dictionaries(
    {"id": ID},
    optional={
        "input": TEXT | MESSAGES,
        "candidate_answer": TEXT,
        "reference_answer": TEXT,
        "expected_outcome": TEXT,
        "output_messages": MESSAGES,
        "rubrics": st.lists(TEXT.filter(str.strip), max_size=3),
        "metadata": st.dictionaries(TEXT, JSON, max_size=3),
        "cluster": TEXT,
        "latency": st.floats(0, 1e6),
        "cost": st.integers(0, 100),
    },
)
SUITES = st.lists(CASES, min_size=1, max_size=4, unique_by=lambda case: str(case["id"]))
EVALUATORS = [{"type": "llm_judge"}]


class WrittenOut(yaml.SafeDumper):
    """Writes everything out, where the usual one would refer to equal things by aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def read(name: str, content: str) -> list[dict[str, Any]]:
    Path(name).write_text(content, encoding="utf-8", newline="")
    return [case_to(planned.case) for planned in read_suite(name).cases()]


def expected(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return read("expected.json", json.dumps({"evaluators": EVALUATORS, "cases": cases}))


relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)


@relaxed
@given(SUITES)
def test_in_json(cases: list[dict[str, Any]]) -> None:
    for one, found in zip(cases, expected(cases), strict=True):
        assert found["id"] == one["id"]
        for key in ("candidate_answer", "reference_answer", "expected_outcome", "cluster", "latency", "cost"):
            assert found.get(key) == one.get(key)
        assert found.get("metadata", {}) == one.get("metadata", {})
        assert found.get("question") == (one.get("input") if isinstance(one.get("input"), str) else None)
        assert found.get("input_messages") == (one.get("input") if isinstance(one.get("input"), list) else None)
        assert [item["description"] for item in found.get("rubrics", [])] == one.get("rubrics", [])


@relaxed
@given(SUITES)
def test_in_lines(cases: list[dict[str, Any]]) -> None:
    Path("lines.yaml").write_text(yaml.safe_dump({"evaluators": EVALUATORS}), encoding="utf-8")

    assert read("lines.jsonl", "\n".join(json.dumps(one, ensure_ascii=False) for one in cases)) == expected(cases)


@relaxed
@given(SUITES, st.booleans())
@example([{"id": "1e3", "input": "no", "metadata": {"yes": "010", "1:30": ".nan", "~": "null"}}], False)
@example([{"id": "a\u2028b".replace("\u2028", "é"), "input": "\x85\u2028\ufeff\x00\t\r\n😀"}], True)
def test_in_yaml_with_everything_in_quotes(cases: list[dict[str, Any]], unicode: bool) -> None:
    suite = {"evaluators": EVALUATORS, "cases": cases}

    content = yaml.dump(suite, Dumper=WrittenOut, default_style='"', allow_unicode=unicode, sort_keys=False)

    assert read("suite.yaml", content) == expected(cases)


def is_plain_to_all(text: str) -> bool:
    """Tell whether no reader of YAML can take a text for anything else: writers leave ``1e3`` and others unquoted."""
    # PyYAML writes the rarer line breaks as they are, and reads them back as blanks.
    return not text or (text[0] not in SUSPECTS and not set(text) & set("\x85\u2028\u2029"))


@relaxed
@given(st.lists(st.fixed_dictionaries({"id": ID.filter(is_plain_to_all), "input": TEXT.filter(is_plain_to_all)}), min_size=1, max_size=3, unique_by=lambda case: case["id"]))  # fmt: skip
def test_in_yaml_as_it_is_usually_written(cases: list[dict[str, Any]]) -> None:
    content = yaml.safe_dump({"evaluators": EVALUATORS, "cases": cases}, allow_unicode=True)

    assert read("suite.yaml", content) == expected(cases)


@relaxed
@given(st.text(max_size=20))
def test_halves_of_surrogate_pairs_are_replaced(text: str) -> None:
    (found,) = expected([{"id": "a", "input": text}])

    assert found["question"] == storable(text)
