"""The pages of test cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand.domain.prompt import EvaluationMode, Prompt, PromptText, TestCaseText
from evenhand.store.store import Store

Post = Callable[..., Any]
Parsed = Callable[[Any], Any]

SCHEMA = '{"type": "object", "required": ["city"]}'


@pytest.fixture
def by_schema(store: Store) -> Prompt:
    """Return a prompt in schema mode."""
    return store.prompts.create(PromptText(name="Orders", evaluation_mode=EvaluationMode.SCHEMA))


@pytest.fixture
def by_judge(store: Store) -> Prompt:
    """Return a prompt in llm mode."""
    return store.prompts.create(PromptText(name="Refunds", evaluation_criteria="Is kind."))


def test_a_prompt_without_test_cases_says_what_they_are(client: TestClient, by_schema: Prompt, parsed: Parsed) -> None:
    page = parsed(client.get(f"/prompts/{by_schema.id}/cases"))

    assert "No test cases yet" in page.one("main").text
    assert "Evaluation Schema" in page.one("main").text


def test_the_list_tells_which_test_cases_are_not_evaluated(
    client: TestClient, store: Store, by_schema: Prompt, parsed: Parsed
) -> None:
    store.prompts.add_cases(by_schema.id, [TestCaseText(input="a", evaluation_schema=SCHEMA), TestCaseText(input="b")])

    first, second = (one.text for one in parsed(client.get(f"/prompts/{by_schema.id}/cases")).all("tr")[1:])

    assert "its schema" in first
    assert "not evaluated" in second


def test_a_long_list_of_test_cases_has_pages(
    client: TestClient, store: Store, by_judge: Prompt, parsed: Parsed
) -> None:
    store.prompts.add_cases(by_judge.id, [TestCaseText(input=f"input {number}") for number in range(250)])

    page = parsed(client.get(f"/prompts/{by_judge.id}/cases?start=200"))

    assert "201 to 250 of 250" in page.one("nav", class_="pager").text
    assert "input 249" in page.one("tbody").text
    assert page.one("a", rel="prev").attributes["href"].endswith("start=100")


def test_the_schema_has_a_field_in_schema_mode_only(
    client: TestClient, by_schema: Prompt, by_judge: Prompt, parsed: Parsed
) -> None:
    with_field, without = (parsed(client.get(f"/prompts/{prompt.id}/cases/new")) for prompt in (by_schema, by_judge))

    assert with_field.one("label", for_="evaluation_schema").text == "Evaluation Schema optional"
    assert "Leave empty for no evaluation" in with_field.one("p", id="evaluation_schema-hint").text
    assert without.all("textarea", name="evaluation_schema") == []
    assert without.one("textarea", name="reference")


def test_the_field_of_a_schema_is_ready_for_the_live_check(
    client: TestClient, by_schema: Prompt, parsed: Parsed
) -> None:
    page = parsed(client.get(f"/prompts/{by_schema.id}/cases/new"))

    assert page.one("script", src="/static/schema.js").attributes["type"] == "module"
    assert page.one("meta", name="evenhand-token").attributes["content"]
    assert len(page.all("div", data_schema="")) == 1
    assert page.one("div", data_schema_result="").attributes["role"] == "status"
    assert page.one("div", data_output_result="").attributes["role"] == "status"
    assert len(page.all("button", data_check="", name="action", value="check")) == 2
    assert len(page.all("button", data_format="")) == 1


def test_a_test_case_is_added_and_the_next_one_asked_for(store: Store, by_schema: Prompt, post: Post) -> None:
    one = post(f"/prompts/{by_schema.id}/cases/new", input="a\r\nb", reference="", evaluation_schema=SCHEMA)
    two = post(f"/prompts/{by_schema.id}/cases/new", input="c", reference="d", evaluation_schema="", action="another")

    first, second = store.prompts.cases(by_schema.id)
    assert one.headers["location"] == f"/cases/{first.id}?said=created"
    assert two.headers["location"] == f"/prompts/{by_schema.id}/cases/new?said=another"
    assert first.text == TestCaseText(input="a\nb", evaluation_schema=SCHEMA)
    assert second.text == TestCaseText(input="c", reference="d")


def test_a_schema_that_is_none_is_told_at_its_field_and_the_draft_is_kept(
    store: Store, by_schema: Prompt, post: Post, parsed: Parsed
) -> None:
    broken = '{\n  "type": "object",\n}'

    response = post(f"/prompts/{by_schema.id}/cases/new", input="a", reference="b", evaluation_schema=broken)

    page = parsed(response)
    assert response.status_code == 422
    assert "line 3 column 1" in page.one("p", id="evaluation_schema-error").text
    assert [page.value(name) for name in ("input", "reference", "evaluation_schema")] == ["a", "b", broken]
    assert list(store.prompts.cases(by_schema.id)) == []


def test_an_empty_input_is_told_at_its_field(by_judge: Prompt, post: Post, parsed: Parsed) -> None:
    response = post(f"/prompts/{by_judge.id}/cases/new", input=" ", reference="kept")

    assert response.status_code == 422
    assert "write what the model is asked" in parsed(response).one("p", id="input-error").text
    assert parsed(response).value("reference") == "kept"


@pytest.mark.parametrize(
    ("schema", "output", "of_schema", "of_output"),
    [
        (SCHEMA, "", "The schema is valid.", ""),
        (SCHEMA, '{"city": "Oslo"}', "The schema is valid.", "it would score 1"),
        (SCHEMA, "{}", "The schema is valid.", "it would score 0"),
        (SCHEMA, "{nonsense}", "The schema is valid.", "line 1, column"),
        ('{\n "a": 1,\n}', "{}", "line 3, column 1", ""),
        ('{"type": "objekt"}', "{}", "$.type", ""),
        ("  ", "{}", "not evaluated", ""),
    ],
)
def test_without_javascript_a_button_checks_and_saves_nothing(
    store: Store,
    by_schema: Prompt,
    post: Post,
    parsed: Parsed,
    schema: str,
    output: str,
    of_schema: str,
    of_output: str,
) -> None:
    response = post(
        f"/prompts/{by_schema.id}/cases/new", input="", evaluation_schema=schema, output=output, action="check"
    )

    page = parsed(response)
    told, told_of_output = page.one("div", data_schema_result="").text, page.one("div", data_output_result="").text
    assert response.status_code == 200
    assert of_schema in told
    assert of_output in told_of_output
    assert bool(of_output) == bool(told_of_output.strip())
    assert page.value("evaluation_schema") == schema
    assert page.value("output") == output
    assert list(store.prompts.cases(by_schema.id)) == []


def test_in_llm_mode_the_schema_is_kept_and_said_to_be(
    client: TestClient, store: Store, by_judge: Prompt, post: Post, parsed: Parsed
) -> None:
    (case,) = store.prompts.add_cases(by_judge.id, [TestCaseText(input="a", evaluation_schema=SCHEMA)])

    page = parsed(client.get(f"/cases/{case.id}"))
    post(f"/cases/{case.id}", input="b", reference="", seen="1")

    assert "which is used when the prompt is in schema mode" in page.one("form", class_="form").text
    assert store.prompts.find_case(case.id).text == TestCaseText(input="b", evaluation_schema=SCHEMA)


def test_saving_over_somebody_elses_text_shows_both(
    store: Store, by_schema: Prompt, post: Post, parsed: Parsed
) -> None:
    (case,) = store.prompts.add_cases(by_schema.id, [TestCaseText(input="a")])
    store.prompts.edit_case(case.id, TestCaseText(input="theirs <b>", reference="theirs too"), seen=1)

    response = post(f"/cases/{case.id}", input="mine <i>", reference="", evaluation_schema="", seen="1")

    page = parsed(response)
    assert response.status_code == 409
    assert "theirs <b>" in page.one("section", class_="theirs").text
    assert "theirs too" in page.one("section", class_="theirs").text
    assert page.value("input") == "mine <i>"
    assert store.prompts.find_case(case.id).text.input == "theirs <b>"
    assert post(f"/cases/{case.id}", input="mine <i>", seen=page.value("seen")).status_code == 303


def test_what_was_typed_outlives_the_test_case_and_the_prompt(
    store: Store, by_schema: Prompt, post: Post, parsed: Parsed
) -> None:
    (case,) = store.prompts.add_cases(by_schema.id, [TestCaseText(input="a")])
    store.prompts.delete_case(case.id)
    fields = {"input": "typed <b>", "reference": "", "evaluation_schema": SCHEMA, "prompt": by_schema.id}

    without_case = post(f"/cases/{case.id}", **fields, seen="1")
    store.prompts.delete(by_schema.id)
    without_prompt = post(f"/cases/{case.id}", **fields, seen="1")
    never_made = post(f"/prompts/{by_schema.id}/cases/new", **fields)

    assert [one.status_code for one in (without_case, without_prompt, never_made)] == [404] * 3
    assert parsed(without_case).value("input") == "typed <b>"
    assert parsed(without_case).one("form", class_="form").attributes["action"].endswith("/cases/new")
    for response in (without_prompt, never_made):
        assert [one.text for one in parsed(response).all("pre")] == ["typed <b>", SCHEMA]


def test_deleting_a_test_case_asks_first(
    client: TestClient, store: Store, by_judge: Prompt, post: Post, parsed: Parsed
) -> None:
    (case,) = store.prompts.add_cases(by_judge.id, [TestCaseText(input="a")])

    question = parsed(client.get(f"/cases/{case.id}/delete"))
    late = post(f"/cases/{case.id}/delete", seen="7").status_code
    response = post(f"/cases/{case.id}/delete", seen=question.value("seen"))

    assert late == 409
    assert response.headers["location"] == f"/prompts/{by_judge.id}/cases?said=deleted"
    assert list(store.prompts.cases(by_judge.id)) == []


def test_test_cases_do_not_change_without_the_token(client: TestClient, store: Store, by_judge: Prompt) -> None:
    (case,) = store.prompts.add_cases(by_judge.id, [TestCaseText(input="a")])

    answers = [
        client.post(f"/prompts/{by_judge.id}/cases/new", data={"input": "b"}),
        client.post(f"/cases/{case.id}", data={"input": "b", "seen": "1"}),
        client.post(f"/cases/{case.id}/delete", data={"seen": "1", "token": "wrong"}),
    ]

    assert [one.status_code for one in answers] == [401] * 3
    assert list(store.prompts.cases(by_judge.id)) == [case]


def test_hostile_texts_of_test_cases_are_shown_as_they_are(
    client: TestClient, store: Store, by_schema: Prompt, post: Post, parsed: Parsed, hostile: list[str]
) -> None:
    usable = [text for text in hostile if text.isprintable() and text.strip()]
    usable.append(" ".join(usable))
    cases = store.prompts.add_cases(by_schema.id, [TestCaseText(input=text, reference=text) for text in usable])

    listed = parsed(client.get(f"/prompts/{by_schema.id}/cases"))

    assert [one.text for one in listed.all("th", class_="clip")] == [text[:300] for text in usable][:100]
    assert parsed(client.get(f"/cases/{cases[0].id}/delete")).one("pre").text == usable[0]
    for text, case in list(zip(usable, cases, strict=True))[::-5]:
        page = parsed(client.get(f"/cases/{case.id}"))
        checked = parsed(post(f"/cases/{case.id}", evaluation_schema=text, output=text, action="check", seen="1"))
        assert page.value("input") == page.value("reference") == text
        assert checked.value("evaluation_schema") == checked.value("output") == text
