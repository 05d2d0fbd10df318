"""What would judge differently has another identity, and nothing else has (SPEC-S3, REL-D3)."""

from __future__ import annotations

import subprocess
import sys
import weakref
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any

import pytest

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.run import PlannedCase
from evenhand.domain.secret import Secret
from evenhand.engine.identity import Fingerprints, canonical, describe, digest_of, evaluation_key, hashed
from evenhand.engine.job import Scope
from evenhand.engine.plan import planned_cases
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.checks.text import Contains
from evenhand.evaluators.composite import CompositeEvaluator
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.providers import ANTHROPIC, OPENAI
from evenhand.store.store import Store


def fingerprint(evaluator: Any) -> str:
    return Fingerprints().of(evaluator)


# Hashes


def test_parts_of_a_hash_do_not_run_into_each_other() -> None:
    parts = [("ab", "c", ""), ("a", "bc", ""), ("abc", "", ""), ("", "abc", ""), ("a", "b", "c"), ("", "ab", "c")]

    assert len({evaluation_key(*three, 0) for three in parts}) == len(parts)
    assert evaluation_key("1,1:a", "", "", 0) != evaluation_key("1", "1:a", "", 0)
    assert evaluation_key("a", "b", "", 11) != evaluation_key("a", "b", "1", 1)


def test_the_identity_of_an_evaluation_stays_what_it_was_in_stored_runs() -> None:
    assert evaluation_key("case", "evaluator", "", 0) == hashed(b"4:case9:evaluator0:1:0").hexdigest()


def test_the_order_of_keys_does_not_matter_and_that_of_items_does() -> None:
    assert digest_of({"a": {"x": 1, "y": 2}, "b": 3}) == digest_of({"b": 3, "a": {"y": 2, "x": 1}})
    assert digest_of([1, 2]) != digest_of([2, 1])


@pytest.mark.parametrize("value", [2**64, -(2**70), "\ud800", {"\udfff": 1}, [[["x" * 9]] * 9], float("nan")])
def test_any_plain_value_has_a_hash(value: object) -> None:
    assert digest_of(value) == digest_of(value)
    assert digest_of(value) != digest_of([value])


def test_long_numbers_and_broken_letters_are_told_apart() -> None:
    values = [2**64, 2**64 + 1, "\ud800", "\ud801", "?", "�", {"a": 2**64, "b": 1}, {"a": 2**64, "b": 2}]

    assert len({digest_of(value) for value in values}) == len(values)
    assert canonical({"b": 2**64, "a": 1}) == canonical({"a": 1, "b": 2**64})


def test_every_part_of_an_evaluation_is_in_its_key() -> None:
    usual = ("case", "evaluator", "target", 0)
    others = [("other", *usual[1:]), ("case", "other", "target", 0), ("case", "evaluator", "other", 0), (*usual[:3], 1)]

    assert len({evaluation_key(*parts) for parts in (usual, *others)}) == 5


# Cases

CASE: dict[str, Any] = {
    "id": "a",
    "question": "q",
    "input_messages": [("user", "q")],
    "candidate_answer": "c",
    "output_messages": [("assistant", "c")],
    "reference_answer": "r",
    "expected_messages": [("assistant", "r")],
    "expected_outcome": "e",
    "evaluation_schema": {"type": "object", "minProperties": 1},
    "rubrics": ["Polite"],
    "metadata": {"a": 1, "b": {"c": 2, "d": 3}},
    "cluster": "k",
    "latency": 0.5,
    "cost": 0.25,
    "context": ["d", {"id": "e", "text": "f"}],
}
CHANGED: dict[str, Any] = {
    "id": "b",
    "question": "q ",
    "input_messages": [{"role": "user", "content": "q", "name": "Ann"}],
    "candidate_answer": "",
    "output_messages": [("system", "c")],
    "reference_answer": "R",
    "expected_messages": [("assistant", "r"), ("assistant", "r")],
    "expected_outcome": "E",
    "evaluation_schema": {"type": "object", "minProperties": 2},
    "rubrics": [{"id": "rubric-1", "description": "Polite", "weight": 2}],
    "metadata": {"a": 1, "b": {"c": 2, "d": 4}},
    "cluster": None,
    "latency": 0.25,
    "cost": None,
    "context": ["d", "f"],
}


def case_hash(store: Store, made: Any, case: Case, evaluators: Any = None) -> str:
    given = PlannedCase(position=7, case=case, evaluators=evaluators)
    job = replace(made.job([], evaluators=[Contains(value="x")]), cases=lambda: [given])
    (planned,) = planned_cases(store, job, Scope())
    return planned.hash


def test_every_field_of_a_case_is_meant() -> None:
    assert {one.name for one in fields(Case)} == CASE.keys() == CHANGED.keys()


@pytest.mark.parametrize("name", CASE)
def test_a_case_with_another_field_is_another_case(store: Store, made: Any, name: str) -> None:
    before = case_hash(store, made, Case(**CASE))

    assert case_hash(store, made, Case(**{**CASE, name: CHANGED[name]})) != before


def test_a_case_that_brings_other_evaluators_is_another_case(store: Store, made: Any) -> None:
    hashes = [
        case_hash(store, made, Case(**CASE), evaluators)
        for evaluators in (None, (), ({"type": "contains"},), ({"type": "contains", "weight": 2},))
    ]

    assert len(set(hashes)) == 4


def test_a_case_written_in_another_order_is_the_same(store: Store, made: Any) -> None:
    turned = {
        **CASE,
        "metadata": {"b": {"d": 3, "c": 2}, "a": 1},
        "evaluation_schema": {"minProperties": 1, "type": "object"},
    }

    assert case_hash(store, made, Case(**turned)) == case_hash(store, made, Case(**CASE))


# Judges

SETTINGS: dict[str, Any] = {
    "base_url": "http://127.0.0.1:1/v2",
    "temperature": 0.1,
    "top_p": 0.5,
    "seed": 7,
    "max_tokens": 10,
    "structured": "none",
    "headers": {"X-Tenant": "b"},
    "extra_body": {"reasoning": {"effort": "low"}},
}


def judge(**settings: Any) -> Any:
    return OPENAI("m", **{"api_key": "sk-canary-1", "base_url": "http://127.0.0.1:1/v1", **settings})


@pytest.mark.parametrize("name", SETTINGS)
def test_a_judge_with_another_setting_is_another_judge(name: str) -> None:
    before = fingerprint(PromptEvaluator(judge=judge()))

    assert fingerprint(PromptEvaluator(judge=judge(**{name: SETTINGS[name]}))) != before


def test_another_model_or_provider_is_another_judge() -> None:
    others = [OPENAI("m", api_key="k"), OPENAI("n", api_key="k"), ANTHROPIC("m", api_key="k")]

    assert len({fingerprint(PromptEvaluator(judge=one)) for one in others}) == 3


@pytest.mark.parametrize(
    "settings", [{"api_key": "sk-canary-2"}, {"timeout": 1}, {"max_transport_attempts": 1}, {"backoff": 0.1}]
)
def test_what_does_not_decide_on_a_reply_does_not_make_another_judge(settings: dict[str, Any]) -> None:
    assert fingerprint(PromptEvaluator(judge=judge(**settings))) == fingerprint(PromptEvaluator(judge=judge()))


def test_no_secret_is_in_a_description() -> None:
    evaluator = PromptEvaluator(judge=judge(headers={"X-Key": "sk-canary-1"}))

    assert "canary" not in str(describe(evaluator))
    assert "canary" not in str(describe({"key": Secret("sk-canary-1")}))


# Evaluators

OPTIONS: dict[str, Any] = {
    "name": "other",
    "weight": 2.0,
    "required": True,
    "thresholds": {"pass": 0.9, "borderline": 0.1},
    "judge": judge(seed=1),
    "template": "Judge {{ candidate_answer }}",
    "prompt": "toxicity",
    "rubrics": ["Polite"],
    "max_attempts": 7,
    "scale": "1-5",
    "choices": {"right": 1, "wrong": 0},
    "score_from": "text",
    "samples": 3,
    "rubric_mode": "separate",
    "shuffle": 1,
    "evidence": True,
    "ambiguous": "last",
    "instructions": "Be strict.",
    "examples": [{"candidate_answer": "Soon.", "verdict": "fail"}],
}


def test_every_option_of_the_prompt_evaluator_is_meant() -> None:
    assert {one.name for one in fields(PromptEvaluator)} == OPTIONS.keys()


@pytest.mark.parametrize("name", OPTIONS)
def test_an_evaluator_with_another_option_is_another_evaluator(name: str) -> None:
    usual: dict[str, Any] = {"judge": judge()}

    assert fingerprint(PromptEvaluator(**{**usual, name: OPTIONS[name]})) != fingerprint(PromptEvaluator(**usual))


def test_evaluators_of_other_kinds_with_equal_options_differ() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Lenient(PromptEvaluator):
        pass

    assert fingerprint(Lenient(judge=judge())) != fingerprint(PromptEvaluator(judge=judge()))


def test_a_member_that_changed_changes_the_whole() -> None:
    several = [CompositeEvaluator(members=[Contains(value="a"), Contains(value=one)]) for one in ("b", "c")]

    assert fingerprint(several[0]) != fingerprint(several[1])


def test_an_evaluator_made_anew_is_the_same() -> None:
    several = [
        PromptEvaluator(judge=judge(headers=headers), rubrics=["Polite", {"description": "Short", "id": "s"}])
        for headers in ({"A": "1", "B": "2"}, {"B": "2", "A": "1"})
    ]

    assert fingerprint(several[0]) == fingerprint(several[1])


class Level(Enum):
    LOW = "low"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Own(BaseEvaluator):
    """An evaluator of somebody's own."""

    type = "own"

    level: Level = Level.LOW
    words: frozenset[str] = frozenset()
    options: dict[str, Any] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list, compare=False)

    def steps(self, case: Case) -> Steps[Evaluation]:
        yield ()
        return self.scored(1.0)


def test_options_of_any_kind_are_told_apart() -> None:
    several = [
        Own(),
        Own(level=Level.HIGH),
        Own(words=frozenset({"a"})),
        Own(options={"a": 1}),
        Own(options={"a": True}),
        Own(options={"a": "1"}),
        Own(options={"a": [1]}),
        Own(options={"call": test_options_of_any_kind_are_told_apart}),
        Own(options={"call": describe}),
    ]

    assert len({fingerprint(one) for one in several}) == len(several)


def test_what_an_evaluator_only_remembers_is_no_part_of_it() -> None:
    assert fingerprint(Own(seen=["a"])) == fingerprint(Own())


class Plain:
    """An evaluator that is no dataclass."""

    type, name, weight, required = "plain", "plain", 1.0, False

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def steps(self, case: Case) -> Steps[Evaluation]:
        yield ()
        return Evaluation.with_score(evaluator="plain", type="plain", score=self.threshold, verdict="pass")  # type: ignore[arg-type]


def test_plain_objects_with_other_attributes_differ() -> None:
    assert fingerprint(Plain(0.5)) == fingerprint(Plain(0.5))
    assert fingerprint(Plain(0.5)) != fingerprint(Plain(0.75))


SETS = """
from evenhand.engine.identity import digest_of, describe
print(digest_of(describe({"words": frozenset("abcdefghij"), "more": {"k", "l", "m"}})))
"""


@pytest.mark.slow
def test_a_set_is_the_same_in_every_process() -> None:
    command = [sys.executable, "-c", SETS]
    told = {
        subprocess.run(command, env={"PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, check=True).stdout
        for seed in range(1, 3)
    }

    assert len(told) == 1


def test_evaluators_that_nobody_uses_any_more_are_let_go() -> None:
    known = Fingerprints()
    kept = Plain(0.5)
    gone = []

    for number in range(4300):
        evaluator = Plain(number)
        gone.append(weakref.ref(evaluator))
        known.of(evaluator)
    assert known.of(kept) == fingerprint(kept)
    del evaluator

    assert sum(one() is not None for one in gone) < 4096


def test_fingerprints_are_worked_out_once_and_never_mixed_up() -> None:
    known = Fingerprints()
    evaluators = [Contains(value=str(number)) for number in range(50)]

    prints = [known.of(one) for one in evaluators]

    assert len(set(prints)) == 50
    assert [known.of(one) for one in evaluators] == prints
    # Objects that are gone would leave their number to others.
    assert len({known.of(Contains(value=f"x{number}")) for number in range(50)}) == 50
