"""A cascade takes its confidence from a judge card: of its own judge, and only if the card has one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from evenhand import Case, ConfigError, evaluate
from evenhand.evaluators.cascade import Cascade
from evenhand.suites.suite import examine, read_suite

CHEAP = {"name": "cheap", "type": "levenshtein", "value": "Paris is the capital"}
STRONG = {"name": "strong", "type": "equals", "value": "Paris"}
CARD: dict[str, Any] = {"alone": {"confidence": 0.25}, "pass_mark": 0.8, "definition": CHEAP}
JUDGE = {"type": "llm_judge", "judge": "openai/gpt-5-nano"}


def suite(folder: Path, confident: Any, *stages: Any, card: Any = CARD, **more: Any) -> Path:
    """Write a suite with a cascade, and a card beside it."""
    (folder / "card.json").write_text(card if isinstance(card, str) else json.dumps(card), encoding="utf-8")
    path = folder / "suite.yaml"
    cascade = {"name": "way", "type": "cascade", "stages": list(stages or (CHEAP, STRONG)), "confident": confident}
    cases = [{"id": "a", "candidate_answer": "Paris"}]
    path.write_text(yaml.safe_dump({"evaluators": [cascade | more], "cases": cases}), encoding="utf-8")
    return path


def test_a_run_keeps_what_the_card_said_when_it_began(tmp_path: Path) -> None:
    read = read_suite(suite(tmp_path, {"from": "card.json"}))
    (tmp_path / "card.json").unlink()

    (planned,) = read.cases()
    (evaluator,) = read.evaluators_for(planned)

    assert read.definition["evaluators"][0]["confident"] == [{"from": "card.json", "confidence": 0.25}]
    assert isinstance(evaluator, Cascade)
    assert evaluator.needed == (0.25, None)


def test_a_stage_that_hands_nothing_on_is_noted(tmp_path: Path) -> None:
    graded = read_suite(suite(tmp_path, 0.5))
    binary = read_suite(suite(tmp_path, 0.5, JUDGE | {"scale": "binary"}, STRONG))
    last = read_suite(suite(tmp_path, 0.5, then="people"))

    said = ["the scores of stage 1 are 0 or 1" in " ".join(read.notes) for read in (graded, binary, last)]
    assert said == [False, True, False]
    assert "the scores of stage 2 are 0 or 1, so its confidence is always 1" in " ".join(last.notes)


def test_each_stage_may_have_its_own(tmp_path: Path) -> None:
    read = read_suite(suite(tmp_path, [{"from": "card.json"}, 0.9], then="people"))

    assert read.definition["evaluators"][0]["confident"] == [{"from": "card.json", "confidence": 0.25}, 0.9]


def test_the_card_of_a_run_can_be_taken(tmp_path: Path) -> None:
    run = evaluate([Case(id="a", candidate_answer="Paris")], [CHEAP], store=None)
    card = run.calibrate(evaluator="cheap").as_dict()

    assert card["definition"] == CHEAP
    _, (mistake,) = examine(suite(tmp_path, {"from": "card.json"}, card=card))

    assert "card.json has no confidence from which on the judge may decide alone: there are no labels" in mistake


@pytest.mark.parametrize(
    ("confident", "options", "problem"),
    [
        ({"from": "none.json"}, {}, "none.json cannot be read: No such file"),
        ({"from": "card.json"}, {"card": "{"}, "card.json is no JSON"),
        ({"from": "card.json"}, {"card": "[]"}, "card.json is no judge card; write one with: evenhand calibrate"),
        ({"from": "card.json"}, {"card": CARD | {"alone": {"refused": "too few"}}}, "may decide alone: too few"),
        ({"from": "card.json"}, {"card": CARD | {"alone": {"confidence": 7}}}, "has the confidence 7, which is no"),
        ({"from": "card.json"}, {"card": CARD | {"definition": None}}, "is not the card of one evaluator"),
        (
            {"from": "card.json"},
            {"card": CARD | {"definition": STRONG}},
            "its type is 'equals', and that of the stage 'lev",
        ),
        ({"from": "card.json"}, {"card": CARD | {"definition": CHEAP | {"value": "P"}}}, "its value is 'P', and that"),
        (
            {"from": "card.json"},
            {"card": CARD | {"pass_mark": 0.7}},
            "is for the pass mark 0.7, and that of the stage is 0.8",
        ),
        (
            {"from": "card.json"},
            {"then": "people"},
            "is of one judge, and 2 stages need a confidence; list one for each",
        ),
        ({"form": "card.json"}, {}, "write a number from 0 to 1, or {from: card.json}"),
    ],
)
def test_other_cards_are_refused(tmp_path: Path, confident: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_suite(suite(tmp_path, confident, **options))

    assert problem in str(refused.value)
    assert str(refused.value).startswith(f"{tmp_path / 'suite.yaml'}:")


def test_a_card_of_another_judge_is_refused_whoever_names_the_judge(tmp_path: Path) -> None:
    path = suite(
        tmp_path,
        {"from": "card.json"},
        {"type": "llm_judge"},
        STRONG,
        card=CARD | {"definition": JUDGE | {"name": "x"}},
    )

    with pytest.raises(ConfigError, match="its judge is 'openai/gpt-5-nano', and that of the stage 'openai/gpt-5'"):
        read_suite(path, judge="openai/gpt-5")
    assert read_suite(path, judge="openai/gpt-5-nano").definition["evaluators"][0]["confident"][0]["confidence"] == 0.25
