"""The playground beside the editor of a prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand.domain.prompt import EvaluationMode, Prompt, PromptText, TestCaseText
from evenhand.engine.job import Scope
from evenhand.engine.plan import plan
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import Trial

Post = Callable[..., Any]
Parsed = Callable[[Any], Any]
USED = {"model": "vllm/a", "judge": "vllm/judge"}


@pytest.fixture
def prompt(store: Store) -> Prompt:
    made = store.prompts.create(PromptText(name="capitals", content="Be brief.", evaluation_criteria="Names the city"))
    store.prompts.add_cases(made.id, [TestCaseText(input="Capital of Spain?", reference="Madrid")])
    return made


@pytest.fixture
def address(prompt: Prompt) -> str:
    return f"/prompts/{prompt.id}/try"


def test_the_model_and_the_judge_are_those_of_the_last_run(
    client: TestClient, store: Store, prompt: Prompt, models: Any, parsed: Parsed
) -> None:
    before = parsed(client.get(f"/prompts/{prompt.id}"))
    plan(store, Trial(prompt=prompt, models=["vllm/b"], judge="vllm/judge").job(store), Scope())

    page = parsed(client.get(f"/prompts/{prompt.id}"))

    assert (before.value("model"), before.value("judge")) == ("", "")
    assert (page.value("model"), page.value("judge")) == ("vllm/b", "vllm/judge")
    assert parsed(client.get("/prompts/new")).all("section", id="try") == []


def test_a_try_shows_answer_and_judgment_and_keeps_nothing(
    client: TestClient, store: Store, prompt: Prompt, address: str, models: Any, post: Post, parsed: Parsed
) -> None:
    response = post(address, action="try", input="Capital of France?", **USED)

    page = parsed(response)
    told = page.one("div", class_="tried").text
    assert response.status_code == 200
    assert "pass" in told
    assert "0.900" in told
    assert "Paris" in told
    assert "Right." in told
    assert page.value("input") == "Capital of France?"
    assert (page.value("model"), page.value("judge")) == ("vllm/a", "vllm/judge")
    assert store.runs.newest() == []
    assert store.prompts.find(prompt.id).latest == 1
    assert store.prompts.find(prompt.id).test_cases == 1


def test_the_text_of_the_editor_is_tried_though_it_is_not_saved(
    store: Store, prompt: Prompt, address: str, models: Any, post: Post, parsed: Parsed
) -> None:
    editor = {"name": "capitals", "content": "Be kind.", "evaluation_mode": "llm", "evaluation_criteria": "Is kind"}

    page = parsed(post(address, action="try", input="Hi", **USED, **editor))

    assert "Is kind" in models.asked[-1]
    assert page.value("content") == "Be kind."
    assert store.prompts.find(prompt.id).text.content == "Be brief."


def test_a_test_case_is_chosen_or_comes_with_the_address(
    client: TestClient, store: Store, prompt: Prompt, address: str, models: Any, post: Post, parsed: Parsed
) -> None:
    (case,) = store.prompts.cases(prompt.id)

    page = parsed(client.get(f"/prompts/{prompt.id}?try={case.id}"))
    tried = parsed(post(address, action="try", input="", case=case.id, **USED))
    other = parsed(post(address, action="try", input="Mine", case=case.id, **USED))

    assert (page.value("input"), page.value("reference")) == ("Capital of Spain?", "Madrid")
    assert tried.value("input") == "Capital of Spain?"
    assert "Madrid" in models.asked[1]
    assert other.value("input") == "Mine"
    assert client.get(f"/prompts/{prompt.id}?try=t-gone").status_code == 404
    assert f"/prompts/{prompt.id}?try={case.id}#try" in client.get(f"/cases/{case.id}").text


def test_what_was_tried_is_kept_once(store: Store, prompt: Prompt, address: str, post: Post, parsed: Parsed) -> None:
    fields = {"input": "Capital of Peru?", "reference": "Lima"}

    first = parsed(post(address, action="keep", **fields))
    second = parsed(post(address, action="keep", **fields))

    *_, made = store.prompts.cases(prompt.id)
    assert made.text == TestCaseText(input="Capital of Peru?", reference="Lima")
    assert f"Kept as test case {made.id}." in first.one("p", role="status").text
    assert f"The prompt has it already: test case {made.id}." in second.one("p", role="status").text
    assert store.prompts.find(prompt.id).test_cases == 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"input": ""}, "Input: it is empty"),
        ({"input": "a", "model": ""}, "Model: no model"),
        (
            {"input": "a", "model": "openai/x"},
            "Model: openai/x needs an API key: set OPENAI_API_KEY where the server runs",
        ),
        ({"input": "a", "judge": "nobody/x"}, "Judge: no provider 'nobody'"),
        ({"input": "a", "evaluation_schema": "{"}, "Evaluation schema: "),
        ({"input": "a", "content": "x", "expected_schema": "{", "name": "p"}, "Expected schema: "),
    ],
)
def test_what_is_wrong_is_told_in_words_and_what_was_typed_is_kept(
    address: str, models: Any, post: Post, parsed: Parsed, fields: dict[str, str], said: str
) -> None:
    response = post(address, action="try", **(USED | fields))

    page = parsed(response)
    assert response.status_code == 422
    assert said in page.one("p", role="alert").text
    assert page.value("input") == fields["input"]
    assert models.asked == []


def test_an_answer_that_does_not_match_its_schema_shows_the_errors(
    store: Store, models: Any, post: Post, parsed: Parsed
) -> None:
    made = store.prompts.create(PromptText(name="orders", evaluation_mode=EvaluationMode.SCHEMA))
    models.says = lambda *_: '{"pens": "two"}'
    schema = '{"properties": {"pens": {"type": "integer"}}}'

    page = parsed(post(f"/prompts/{made.id}/try", action="try", input="a", evaluation_schema=schema, model="vllm/a"))

    assert "1 schema error" in page.one("caption").text
    assert "fail" in page.one("div", class_="tried").text
