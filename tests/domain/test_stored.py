from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from evenhand import Attempt, Case, Check, Evaluation, Message, Status, Usage, Verdict
from evenhand.domain.json_codec import answer_from, answer_to, case_from, case_to, evaluation_from, usage_from
from evenhand.domain.run import MadeAnswer

TEXTS = st.text(st.characters(codec="utf-8"))
MAYBE = st.none() | TEXTS
ATTEMPTS = st.builds(
    Attempt,
    kind=st.sampled_from(["reply", "transport"]),
    raw=MAYBE,
    error=MAYBE,
    latency=st.floats(0, 1e3),
    usage=st.none() | st.builds(Usage, input_tokens=st.integers(0, 10**6), output_tokens=st.integers(0, 10**6)),
    cached=st.booleans(),
)
CASES = st.builds(
    Case,
    id=TEXTS,
    question=MAYBE,
    candidate_answer=MAYBE,
    reference_answer=MAYBE,
    expected_outcome=MAYBE,
    input_messages=st.lists(st.builds(Message, role=st.sampled_from(["system", "user"]), content=TEXTS), max_size=2),
    rubrics=st.lists(TEXTS.filter(str.strip), max_size=3),
    metadata=st.dictionaries(TEXTS, st.integers(-(2**53), 2**53) | TEXTS | st.booleans() | st.none(), max_size=3),
    cluster=MAYBE,
    latency=st.none() | st.floats(0, 1e6),
)
EVALUATIONS = st.builds(
    Evaluation,
    evaluator=TEXTS,
    type=TEXTS,
    status=st.just(Status.SCORED),
    score=st.floats(0, 1),
    score_raw=st.none() | st.integers(0, 10) | st.booleans() | TEXTS,
    verdict=st.sampled_from(list(Verdict)),
    hits=st.lists(TEXTS, max_size=2).map(tuple),
    reasoning=TEXTS,
    checks=st.lists(st.builds(Check, id=TEXTS, satisfied=st.booleans(), score=st.none() | st.integers(0, 10)), max_size=2).map(tuple),
    details=st.dictionaries(TEXTS, TEXTS, max_size=2),
    attempts=st.lists(ATTEMPTS, max_size=3).map(tuple),
    retry_count=st.integers(0, 5),
    evaluator_provider_request=st.none() | st.fixed_dictionaries({"userPrompt": TEXTS, "systemPrompt": TEXTS}),
    flags=st.lists(TEXTS, max_size=2).map(tuple),
)  # fmt: skip


@given(CASES)
def test_a_case_survives_being_written_and_read(case: Case) -> None:
    assert case_from(json.loads(json.dumps(case_to(case)))) == case


@given(EVALUATIONS)
def test_an_evaluation_survives_being_written_and_read(evaluation: Evaluation) -> None:
    assert evaluation_from(json.loads(json.dumps(evaluation.as_dict()))) == evaluation


@given(st.builds(MadeAnswer, text=MAYBE, error=MAYBE, attempts=st.lists(ATTEMPTS, max_size=2).map(tuple)))
def test_an_answer_survives_being_written_and_read(answer: MadeAnswer) -> None:
    assert answer_from(json.loads(json.dumps(answer_to(answer)))) == answer


def test_score_bands_of_a_case_survive_being_written_and_read() -> None:
    rubric = {
        "id": "depth",
        "description": "Goes deep",
        "score_ranges": {0: "no", 5: "some", 10: "much"},
        "required_min_score": 5,
    }
    case = Case(id="banded", rubrics=[rubric])

    assert case_from(json.loads(json.dumps(case_to(case)))) == case


@pytest.mark.parametrize("evaluation", [
    Evaluation.without_score(evaluator="e", type="schema", reasoning="There is no schema."),
    Evaluation.with_error(evaluator="e", type="llm_judge", error="timeout: no reply"),
])  # fmt: skip
def test_evaluations_without_a_score_survive_too(evaluation: Evaluation) -> None:
    assert evaluation_from(json.loads(json.dumps(evaluation.as_dict()))) == evaluation


@pytest.mark.parametrize(
    "written",
    [
        {"input_tokens": 10**400, "output_tokens": 1, "cached_tokens": 0},
        {"input_tokens": -1, "output_tokens": 1},
        {"input_tokens": 1.5, "output_tokens": 1},
        {"tokens": 3},
        {},
        [1, 2],
        "many",
        None,
    ],
)
def test_token_counts_that_somebody_else_wrote_are_unknown(written: object) -> None:
    assert usage_from(written) is None


def test_a_case_of_an_earlier_version_can_still_be_read() -> None:
    asked = {"role": "user", "content": "Paris"}

    assert case_from({"id": "a", "expected_messages": [asked]}) == Case(id="a")
