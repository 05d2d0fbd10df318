"""Schemas for small models have bounds, and mean the same otherwise."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from evenhand.domain.contract import Checks, Contract, FieldContract, Score, Text, Texts
from evenhand.domain.rubric import Rubric
from evenhand.domain.scale import Range
from evenhand.domain.verdict import Thresholds
from evenhand.evaluators.pairwise import CONTRACT
from evenhand.models.embedded.client import bounded

ITEMS = (
    Rubric(id="kind", description="Is kind"),
    Rubric(id="true", description="Is true", score_ranges={0: "no", 5: "yes"}),  # type: ignore[arg-type]
)
FREE = FieldContract(name="free", fields=(Text(name="reasoning"), Texts(name="hits", most=4), Score(scale=Range())))


def checks(*items: Rubric) -> Contract:
    return FieldContract(
        name="rubric", fields=(Checks(items=items, thresholds=Thresholds()), Text(name="overall_reasoning"))
    )


def unbounded(schema: Any) -> list[Any]:
    """Return every place at which a model could write without end."""
    if isinstance(schema, list):
        return [found for one in schema for found in unbounded(one)]
    if not isinstance(schema, dict):
        return []
    inner = [found for one in schema.values() for found in unbounded(one)]
    endless = (schema.get("type") == "string" and not {"enum", "maxLength"} & schema.keys()) or (
        schema.get("type") == "array" and "maxItems" not in schema
    )
    return [schema, *inner] if endless else inner


@pytest.mark.parametrize(
    "contract", [FREE, CONTRACT, checks(ITEMS[0]), checks(*ITEMS)], ids=["free", "pairwise", "one", "mixed"]
)
def test_nothing_is_without_an_end_and_the_contract_is_not_touched(contract: Contract) -> None:
    before = json.dumps(contract.schema())

    schema = bounded(contract.schema())

    assert unbounded(contract.schema())
    assert unbounded(schema) == []
    assert json.dumps(contract.schema()) == before
    jsonschema_rs.meta.validate(schema)


def test_there_is_room_for_one_finding_for_each_item_and_no_more() -> None:
    schema = bounded(checks(*ITEMS).schema())

    found = schema["properties"]["checks"]
    assert (found["minItems"], found["maxItems"]) == (2, 2)


def test_a_winner_is_still_one_of_three() -> None:
    valid = jsonschema_rs.validator_for(bounded(CONTRACT.schema())).is_valid

    assert valid({"reasoning": "x" * 400, "winner": "tie"})
    assert not valid({"reasoning": "x" * 401, "winner": "tie"})
    assert not valid({"reasoning": "x", "winner": "C"})
