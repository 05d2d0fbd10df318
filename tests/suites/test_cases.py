"""A case in a file becomes a case, under whichever names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from evenhand.domain.case import Case
from evenhand.domain.message import Message
from evenhand.domain.rubric import Rubric
from evenhand.suites.suite import Suite

Cases: TypeAlias = Callable[..., list[Case]]

HEAD = "evaluators: [{type: llm_judge}]\ncases:\n"


def test_every_key_finds_its_field(cases: Cases) -> None:
    (case,) = cases(
        f"{HEAD}"
        "- id: refund-3\n"
        "  input: Can I return them?\n"
        "  candidate_answer: 'Yes'\n"
        "  reference_answer: For 30 days.\n"
        "  expected_outcome: States the period\n"
        "  evaluation_schema: {type: object}\n"
        "  rubrics: [Is kind]\n"
        "  metadata: {language: en, tags: [a, 1, 2.5, true, null]}\n"
        "  cluster: shoes\n"
        "  latency: 1.5\n"
        "  cost: 0\n"
        "  output_messages: [{role: ai, content: Hm}]\n"
        "  context: [30 days., {id: faq, text: Shoes.}]\n"
    )

    assert case == Case(
        id="refund-3",
        question="Can I return them?",
        candidate_answer="Yes",
        reference_answer="For 30 days.",
        expected_outcome="States the period",
        evaluation_schema={"type": "object"},
        rubrics=[Rubric(id="rubric-1", description="Is kind")],
        metadata={"language": "en", "tags": ["a", 1, 2.5, True, None]},
        cluster="shoes",
        latency=1.5,
        cost=0,
        output_messages=[Message("assistant", "Hm")],
        context=["30 days.", {"id": "faq", "text": "Shoes."}],
    )
    assert type(case.metadata) is dict
    assert type(case.metadata["tags"]) is list


def test_other_names_mean_the_same(cases: Cases) -> None:
    ours = cases(f"{HEAD}- {{id: a, input: q, candidate_answer: c, reference_answer: r, expected_outcome: o}}\n")
    theirs = cases(f"{HEAD}- {{id: a, question: q, output: c, expected_output: r, criteria: o}}\n")

    assert ours == theirs


def test_messages_are_messages(cases: Cases) -> None:
    messages = "[{role: human, content: Hi}, {role: assistant, content: '', tool_calls: [{name: x}]}]"

    (case,) = cases(f"{HEAD}- {{id: a, input: {messages}, expected_output: {messages}}}\n")

    expected = (Message("user", "Hi"), Message("assistant", "", (("tool_calls", [{"name": "x"}]),)))
    assert case.input_messages == case.expected_messages == expected
    assert case.question is None
    assert case.reference_answer is None


def test_an_empty_text_is_an_answer_and_null_is_none(cases: Cases) -> None:
    empty, null, absent = cases(f"{HEAD}- {{id: a, output: ''}}\n- {{id: b, output: null}}\n- {{id: c}}\n")

    assert (empty.candidate_answer, null.candidate_answer, absent.candidate_answer) == ("", None, None)


@pytest.mark.parametrize("schema", ["''", "' '", "'{}'", "{}", "'true'", "null"])
def test_a_schema_may_be_text_or_blank(cases: Cases, schema: str) -> None:
    assert len(cases(f"{HEAD}- {{id: a, evaluation_schema: {schema}}}\n")) == 1


def test_a_case_without_an_id_is_called_by_its_content_wherever_it_stands(cases: Cases) -> None:
    first = cases(f"{HEAD}- {{input: a}}\n- {{input: b}}\n")
    second = cases(f"{HEAD}- {{input: c}}\n- {{question: b}}\n- {{input: a}}\n")

    assert [len(case.id or "") for case in first] == [len("case-") + 8] * 2
    assert first[0].id == second[2].id
    assert first[1].id == second[1].id
    assert first[0].id != first[1].id


def test_equal_cases_without_an_id_are_numbered(cases: Cases) -> None:
    one, two, three = cases(f"{HEAD}- {{input: a}}\n- {{input: a}}\n- {{input: a}}\n")

    assert [two.id, three.id] == [f"{one.id}-2", f"{one.id}-3"]


def test_ids_may_be_anything_that_can_be_shown(cases: Cases) -> None:
    ids = ["a b", "ünï", "日本", "a/b:c#d", "x" * 200, "'quoted'", "-", "case-1"]

    found = cases(HEAD + "".join(f'- {{id: "{one}"}}\n' for one in ids))

    assert [case.id for case in found] == ids


def test_a_suite_is_called_by_its_name_or_like_its_file(suite: Callable[..., Suite]) -> None:
    text = f"{HEAD}- {{id: a}}\n"

    assert suite(f"name: mine\n{text}").name == "mine"
    assert suite(text, "shoes.yaml").name == "shoes"
