"""Contracts: words, schema and check from one object (SPEC-P2, R6; REL-J4)."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from evenhand.domain.contract import Checks, FieldContract, Score, Text, Texts
from evenhand.domain.rubric import rubric_items
from evenhand.domain.scale import Binary, Choices, Range
from evenhand.domain.verdict import Thresholds
from evenhand.evaluators.freeform import freeform_contract

ITEMS = rubric_items(["yes or no", {"id": "tone", "description": "Tone", "score_ranges": {0: "rude", 5: "warm"}}])
GOOD_CHECKS = [
    {"id": "rubric-1", "evidence": "", "reasoning": "", "satisfied": True},
    {"evidence": "", "reasoning": "", "id": "tone", "score": 7},
]
CONTRACTS: list[tuple[FieldContract, dict[str, Any]]] = [
    (freeform_contract(), {"reasoning": "", "hits": ["a"], "misses": [], "score": 0.5}),
    (FieldContract(name="b", fields=(Score(scale=Binary()),)), {"score": True}),
    (FieldContract(name="c", fields=(Score(scale=Choices(values=(0.0, 0.5))),)), {"score": 0.5}),
    (FieldContract(name="r", fields=(Score(scale=Range(low=1, high=5, whole=True)),)), {"score": 3}),
    (
        FieldContract(name="k", fields=(Checks(items=ITEMS, thresholds=Thresholds(), answer="x"), Text(name="o"))),
        {"checks": GOOD_CHECKS, "o": ""},
    ),
]


def keys_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            yield key
            yield from keys_in(value)
    elif isinstance(schema, list):
        for one in schema:
            yield from keys_in(one)


@pytest.mark.parametrize(("contract", "good"), CONTRACTS)
def test_what_satisfies_the_schema_satisfies_the_check(contract: FieldContract, good: dict[str, Any]) -> None:
    assert jsonschema_rs.is_valid(contract.schema(), good)
    assert set(contract.accept(json.loads(json.dumps(good))).values) == set(good)


@pytest.mark.parametrize(("contract", "good"), CONTRACTS)
def test_every_key_is_in_the_words_and_in_the_schema(contract: FieldContract, good: dict[str, Any]) -> None:
    for name in good:
        assert f'- "{name}": ' in contract.instructions()
    assert contract.schema()["required"] == list(contract.schema()["properties"]) == list(good)


@pytest.mark.parametrize(("contract", "good"), CONTRACTS)
def test_no_schema_has_what_strict_decoders_refuse(contract: FieldContract, good: dict[str, Any]) -> None:
    refused = {"minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern", "format", "oneOf"}

    assert refused & set(keys_in(contract.schema())) == set()


def test_findings_of_two_kinds_begin_with_different_keys() -> None:
    schema = Checks(items=ITEMS, thresholds=Thresholds()).schema()

    assert [next(iter(kind["properties"])) for kind in schema["items"]["anyOf"]] == ["id", "reasoning"]


def test_a_list_without_limit_keeps_all() -> None:
    texts, flags = Texts(name="hits").read([str(number) for number in range(50)])

    assert (len(texts), flags) == (50, ())
    assert Texts(name="hits").words() == "a list of short strings"
