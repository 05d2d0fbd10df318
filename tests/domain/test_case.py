"""What a case can be."""

from typing import Any

import pytest

from evenhand import Case, ConfigError, Message, Rubric


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidate_answer": 5}, "case 'c': candidate_answer must be text or None, not int"),
        ({"question": ["x"]}, "question must be text or None, not list"),
        ({"metadata": 5}, "metadata must be a mapping, not int"),
        ({"evaluation_schema": 5}, "evaluation_schema must be JSON text or an object, not int"),
        ({"latency": "x"}, "latency is 'x'; it must be a number, 0 or more, or None"),
        ({"cost": float("nan")}, "cost is nan"),
        ({"cost": -1}, "cost is -1"),
        ({"input_messages": 0}, "input_messages must be a list of messages, not int"),
        ({"input_messages": "hi"}, "input_messages must be a list of messages, not str"),
        ({"input_messages": [{"content": "x"}]}, "case 'c': input_messages: a message needs a role and content"),
        ({"rubrics": 0}, "case 'c': rubrics must be a list of items, not int"),
        ({"rubrics": [""]}, "case 'c': rubrics: item 1"),
    ],
)
def test_a_case_that_makes_no_sense_is_refused_by_its_id(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Case(id="c", **options)

    assert message in str(refused.value)


def test_lists_are_settled_so_that_later_changes_do_not_reach_the_case() -> None:
    rubrics: list[Any] = []
    messages: list[Any] = []
    case = Case(candidate_answer="x", rubrics=rubrics, input_messages=messages)

    rubrics.append("later")
    messages.append("later")

    assert (case.rubrics, case.input_messages) == ((), ())


def test_messages_come_in_every_usual_form() -> None:
    class Spoken:
        type = "human"
        content = (("text", "Hi"),)

    case = Case(
        input_messages=[
            ("developer", "Be brief."),
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            Message("assistant", "c"),
        ]
    )

    assert case.input_messages == (Message("system", "Be brief."), Message("user", "ab"), Message("assistant", "c"))
    assert case.question_text == "system: Be brief.\n\nuser: ab\n\nassistant: c"


def test_a_message_keeps_its_tool_calls() -> None:
    call = {"id": "1", "function": {"name": "search"}}
    case = Case(output_messages=[{"role": "assistant", "content": None, "tool_calls": [call]}])

    (message,) = case.output_messages
    assert isinstance(message, Message)
    assert message.as_dict() == {"role": "assistant", "content": "", "tool_calls": [call]}


def test_rubrics_are_items_afterwards() -> None:
    assert Case(rubrics=["Names it"]).items == (Rubric(id="rubric-1", description="Names it"),)


def test_the_last_assistant_message_with_something_to_say_is_the_reference() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    said: list[Any] = [("user", "Capital of France?"), call, ("tool", "{}"), ("ai", "Paris"), call, ("user", "Thanks")]

    assert Case(expected_messages=said).reference_answer == "Paris"
    assert Case(expected_messages=[("assistant", "")]).reference_answer == ""
    assert Case(expected_messages=[call]).reference_answer is None
    assert Case(expected_messages=said, reference_answer="Lyon").reference_answer == "Lyon"


def test_the_reference_is_read_with_the_conversation_that_it_ends() -> None:
    said = [("user", "Capital of France?"), ("assistant", "Paris")]

    assert Case(expected_messages=said).reference_text == "user: Capital of France?\n\nassistant: Paris"
    assert Case(expected_messages=said, reference_answer="Lyon").reference_text == "Lyon"
    assert Case(expected_messages=said[1:]).reference_text == "Paris"
    assert Case(reference_answer="Paris").reference_text == "Paris"
    assert (
        Case(expected_messages=[said[0], ("assistant", "")]).reference_text == "user: Capital of France?\n\nassistant: "
    )
    assert Case(expected_messages=[said[0], {"role": "assistant", "tool_calls": [{"id": "1"}]}]).reference_text is None


def test_messages_without_an_assistant_are_no_reference() -> None:
    with pytest.raises(ConfigError) as refused:
        Case(id="capital", expected_messages=[("user", "Paris")])

    assert str(refused.value) == (
        "case 'capital': expected_messages: none of these messages is from the assistant, so there is no answer to "
        "compare with; write {'role': 'assistant', 'content': '…'}, or give the answer as reference_answer"
    )


def test_messages_as_the_reference_answer_itself_are_refused_with_their_name() -> None:
    with pytest.raises(ConfigError, match=r"not list: .*; messages are given as expected_messages"):
        Case(reference_answer=[("assistant", "Paris")])  # type: ignore[arg-type]
