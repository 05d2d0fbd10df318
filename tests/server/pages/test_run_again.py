"""From a case of a run to its test case, and from there to the next run: each is one step away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand.domain.prompt import Prompt, PromptText, TestCaseText
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.job import Scope
from evenhand.engine.plan import plan
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import Trial

Post = Callable[..., Any]
Parsed = Callable[[Any], Any]


@pytest.fixture
def prompt(store: Store) -> Prompt:
    made = store.prompts.create(PromptText(name="capitals", evaluation_criteria="Names the city"))
    store.prompts.add_cases(made.id, [TestCaseText(input="Capital of Spain?"), TestCaseText(input="Of Peru?")])
    return made


def planned(store: Store, prompt: Prompt, model: str) -> RunRecord:
    return plan(store, Trial(prompt=prompt, models=[model], judge="vllm/judge").job(store), Scope())


def finished(store: Store, prompt: Prompt, model: str) -> RunRecord:
    return store.runs.mark(planned(store, prompt, model), RunStatus.FINISHED)


def again_at(page: Any) -> list[str]:
    """Return where the buttons that run the prompt again send their forms."""
    return [
        form.attributes["action"]
        for form in page.all("form", method="post")
        if form.attributes["action"].endswith("/again")
    ]


def test_a_case_leads_to_its_test_case_and_back_and_to_a_run_like_its_own(
    client: TestClient, store: Store, prompt: Prompt, models: Any, post: Post, parsed: Parsed
) -> None:
    run = finished(store, prompt, "vllm/a")
    finished(store, prompt, "vllm/b")
    _, case = store.prompts.cases(prompt.id)

    link = parsed(client.get(f"/runs/{run.id}/results/1")).one("a", data_key="e").attributes["href"]
    saved = post(link, seen="1", input="Capital of Peru?")
    page = parsed(client.get(saved.headers["location"]))

    assert link == f"/cases/{case.id}?run={run.id}&position=1"
    assert saved.headers["location"] == f"{link}&said=saved"
    assert page.one("a", data_key="b").attributes["href"] == f"/runs/{run.id}/results/1"
    assert page.one("p", role="status").text == "Saved."
    assert again_at(page) == [f"/runs/{run.id}/again"]
    assert store.prompts.find_case(case.id).text.input == "Capital of Peru?"


def test_a_mistake_on_the_way_loses_neither_text_nor_way_back(
    store: Store, prompt: Prompt, models: Any, post: Post, parsed: Parsed
) -> None:
    run = finished(store, prompt, "vllm/a")
    case, _ = store.prompts.cases(prompt.id)

    page = parsed(post(f"/cases/{case.id}?run={run.id}&position=0", seen="1", input=""))

    assert page.one("a", data_key="b").attributes["href"] == f"/runs/{run.id}/results/0"
    assert f"/cases/{case.id}?run={run.id}&position=0" in [
        form.attributes["action"] for form in page.all("form", method="post")
    ]


def test_the_pages_of_a_prompt_run_it_again_like_the_last_time(
    client: TestClient, store: Store, prompt: Prompt, models: Any, parsed: Parsed
) -> None:
    case, _ = store.prompts.cases(prompt.id)
    pages = [f"/prompts/{prompt.id}", f"/prompts/{prompt.id}/cases", f"/cases/{case.id}"]
    before = [again_at(parsed(client.get(page))) for page in pages]
    finished(store, prompt, "vllm/a")
    last = finished(store, prompt, "vllm/b")
    planned(store, prompt, "vllm/c")  # in progress

    after = [parsed(client.get(page)) for page in pages]

    assert before == [[], [], []]
    assert [again_at(page) for page in after] == [[f"/runs/{last.id}/again"]] * 3
    button = after[0].one("button", data_key="R")
    assert button.attributes["title"].startswith("All test cases on vllm/b, judged by vllm/judge")


def test_a_run_that_is_gone_is_no_way_back(client: TestClient, store: Store, prompt: Prompt, parsed: Parsed) -> None:
    case, _ = store.prompts.cases(prompt.id)

    page = parsed(client.get(f"/cases/{case.id}?run=gone&position=0"))

    assert page.all("a", data_key="b") == []
    assert client.get(f"/cases/{case.id}?run=gone&position=x").status_code == 422
