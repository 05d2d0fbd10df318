"""Test cases in a text: its columns, which of them is which field, and every row that is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenhand.convert import case_table
from evenhand.convert.case_import import add_cases, plan_cases
from evenhand.convert.case_table import fields_guessed, read_cases
from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import FieldError, Prompt, PromptText, TestCaseText
from evenhand.store.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'evenhand.db'}")
    yield opened
    opened.close()


@pytest.fixture
def prompt(store: Store) -> Prompt:
    return store.prompts.create(PromptText(name="capitals"))


def texts(store: Store, prompt: Prompt) -> list[TestCaseText]:
    return [case.text for case in store.prompts.cases(prompt.id)]


@pytest.mark.parametrize(
    ("content", "form"),
    [
        ("question,answer\nCapital of France?,Paris\n", "csv"),
        ("\ufeffquestion;answer\r\nCapital of France?;Paris\r\n", "csv"),
        ("question\tanswer\nCapital of France?\tParis", "csv"),
        ('{"question": "Capital of France?", "answer": "Paris"}\n', "jsonl"),
        ('[{"question": "Capital of France?",\n"answer": "Paris"}]', "json"),
        ('{"inputs": {"question": "Capital of France?"}, "outputs": {"answer": "Paris"}}', "jsonl"),
        ('{"vars": {"country": "Capital of France?"}, "expected": "Paris"}', "jsonl"),
        ('{"input": [{"role": "user", "content": "Capital of France?"}], "ideal": "Paris"}', "jsonl"),
    ],
)
def test_a_text_becomes_test_cases_whatever_wrote_it(store: Store, prompt: Prompt, content: str, form: str) -> None:
    table = read_cases(content.encode())

    done = add_cases(store, prompt, table)

    assert table.format == form
    assert done.mistakes == ()
    assert texts(store, prompt) == [TestCaseText(input="Capital of France?", reference="Paris")]


@pytest.mark.parametrize(
    ("columns", "fields"),
    [
        (("id", "User Input", "expectedOutput"), {"input": "User Input", "reference": "expectedOutput"}),
        (("query", "response", "ground_truth"), {"input": "query", "reference": "ground_truth"}),
        (("input", "output"), {"input": "input"}),
        (("anything",), {"input": "anything"}),
        (("one", "two"), {}),
        (("inputs.topic", "metadata"), {"input": "inputs.topic"}),
        (("prompt", "question", "json_schema"), {"input": "question", "evaluation_schema": "json_schema"}),
    ],
)
def test_columns_are_told_by_the_names_that_tools_give_them(columns: tuple[str, ...], fields: dict[str, str]) -> None:
    assert fields_guessed(columns) == fields


def test_every_row_that_is_wrong_is_told_with_its_line_and_hides_no_other(store: Store, prompt: Prompt) -> None:
    content = 'input,schema\na,{}\n,{}\nb,"{""type"": 1}"\nc\nd,\n'

    plan = plan_cases(store, prompt, read_cases(content.encode()))

    assert [(line, text.input) for line, text in plan.new] == [(2, "a"), (6, "d")]
    assert [fault.line for fault in plan.mistakes] == [3, 4, 5]
    assert "input: it is empty" in plan.mistakes[0].text
    assert "evaluation_schema, from 'schema'" in plan.mistakes[1].text
    assert "1 cell," in plan.mistakes[2].text


def test_with_a_mistake_nothing_is_added_unless_such_rows_are_to_be_left_out(store: Store, prompt: Prompt) -> None:
    table = read_cases(b'{"input": "a"}\n{"input": 1, "input": 2}\nnonsense\n[]\n{"input": "b"}')

    with pytest.raises(ConfigError, match=r"nothing was added because of 3 mistakes.*line 2: duplicate key"):
        add_cases(store, prompt, table)
    before = texts(store, prompt)
    done = add_cases(store, prompt, table, skip_mistakes=True)

    assert before == []
    assert [text.input for text in texts(store, prompt)] == ["a", "b"]
    assert len(done.mistakes) == 3


def test_what_is_there_already_is_said_and_not_doubled(store: Store, prompt: Prompt) -> None:
    (there,) = store.prompts.add_cases(prompt.id, [TestCaseText(input="a", reference="A")])
    table = read_cases(b"input,expected\na,A\na,other\nb,B\nb,B\n")

    done = add_cases(store, prompt, table)
    again = add_cases(store, prompt, table)

    assert [(each.line, each.same_as) for each in done.duplicates] == [(2, there.id), (5, "line 4")]
    assert done.near == 1
    assert len(again.new) == 0
    assert [(text.input, text.reference) for text in texts(store, prompt)] == [("a", "A"), ("a", "other"), ("b", "B")]


def test_values_that_are_no_text_are_written_as_json(store: Store, prompt: Prompt) -> None:
    rows = [{"input": 7, "expected": {"città": [1]}, "schema": {"type": "object"}}, {"input": True, "schema": True}]

    done = add_cases(store, prompt, read_cases(json.dumps(rows).encode()))

    first, second = texts(store, prompt)
    assert done.mistakes == ()
    assert (first.input, first.reference) == ("7", '{"città": [1]}')
    assert json.loads(first.evaluation_schema or "") == {"type": "object"}
    assert second == TestCaseText(input="true", evaluation_schema="true")


def test_several_messages_are_no_input_and_nothing_of_them_is_dropped(store: Store, prompt: Prompt) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]

    plan = plan_cases(store, prompt, read_cases(json.dumps([{"input": messages}]).encode()))

    assert plan.new == ()
    assert "list of messages (system, user)" in plan.mistakes[0].text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "no column is the input; say which column it is: one, two"),
        ({"inptu": "one"}, "no field 'inptu'; did you mean 'input'"),
        ({"input": "tow"}, "no column 'tow' for input; did you mean 'two'"),
        ({"input": "one", "reference": "one"}, "'one' is given for input and for reference"),
    ],
)
def test_columns_that_cannot_be_meant_are_refused(
    store: Store, prompt: Prompt, fields: dict[str, str], said: str
) -> None:
    with pytest.raises(FieldError, match=said):
        plan_cases(store, prompt, read_cases(b"one,two\n1,2"), fields)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b" \n", "there are no test cases"),
        (b"PK\x03\x04....", "Excel workbook"),
        (b"a,a\n1,2", "the text:1: columns 1 and 2 have the same name"),
        (b'[{"input": "a"}', "the text:1"),
        (b'{"input": "a"', "the text:1: column 14: not JSON"),
        (b"[]", "the text:1: there are no test cases in it"),
        (b"input\nna\xefve", "the text:2: the byte 0xef is not UTF-8"),
        (",".join(f"c{number}" for number in range(101)).encode() + b"\n" + b"," * 100 + b"x", "more than 100 columns"),
    ],
)
def test_a_text_that_cannot_be_read_says_where(content: bytes, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_cases(content)


def test_an_export_of_prompts_is_recognized(store: Store, prompt: Prompt) -> None:
    table = read_cases(b'{"format": "evenhand-prompts", "prompts": []}')

    with pytest.raises(FieldError, match="looks like an export of prompts"):
        plan_cases(store, prompt, table)


def test_more_rows_than_anybody_looks_over_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_table, "MOST_ROWS", 2)

    with pytest.raises(ConfigError, match="the text:4: more than 2 test cases"):
        read_cases(b"input\na\nb\nc\n")
