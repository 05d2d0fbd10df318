"""The page that shows what a judge would be sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.testclient import TestClient

from evenhand.domain.case import Case
from evenhand.domain.prompt import PromptText, TestCaseText
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.replay import Scripted
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import Trial

Post = Callable[..., Any]
Parsed = Callable[[Any], Any]

REPLY = '{"reasoning": "", "hits": [], "misses": [], "score": 1}'
FIELDS = {"mode": "freeform", "criteria": "Is kind.", "question": "Why?", "answer": "So.", "reference": ""}


def test_the_page_begins_with_an_example(client: TestClient, parsed: Parsed) -> None:
    page = parsed(client.get("/judges"))

    assert [one.attributes["aria-label"] for one in page.all("pre", role="region")][:2] == [
        "System prompt",
        "User prompt",
    ]
    assert "1 request to" in page.one("section", class_="sent").text


def test_what_is_shown_is_word_for_word_what_a_judge_gets(post: Post, parsed: Parsed) -> None:
    judge = Scripted([REPLY])
    PromptEvaluator(judge=judge).evaluate(Case(question="Why?", candidate_answer="So.", expected_outcome="Is kind."))

    page = parsed(post("/judges", **FIELDS))

    shown = [one.text for one in page.all("pre", role="region")][:2]
    assert shown == [message.content for message in judge.asked[0].messages]


def test_a_test_case_of_a_prompt_is_shown_as_its_run_would_put_it(
    client: TestClient, store: Store, parsed: Parsed
) -> None:
    prompt = store.prompts.create(PromptText(name="p", content="Be brief.", evaluation_criteria="Is brief."))
    (case,) = store.prompts.add_cases(prompt.id, [TestCaseText(input="Why?", reference="Since.")])
    trial = Trial(prompt=store.prompts.find(prompt.id), models=["ollama/a"], judge="ollama/b")
    planned = next(iter(trial.job(store).cases()))

    page = parsed(client.get(f"/judges?case={case.id}"))

    assert page.value("question") == planned.case.question_text
    assert page.value("criteria") == planned.case.expected_outcome
    assert page.value("reference") == planned.case.reference_answer
    assert client.get("/judges?case=t-gone").status_code == 404


def test_rubric_items_are_asked_at_once_or_each_by_itself(post: Post, parsed: Parsed) -> None:
    fields = FIELDS | {"mode": "rubric", "rubrics": "Names the city\n\nIs kind"}

    joint = parsed(post("/judges", **fields, rubric_mode="joint"))
    separate = parsed(post("/judges", **fields, rubric_mode="separate"))
    as_json = parsed(post("/judges", **fields | {"rubrics": '[{"id": "own-id", "description": "Is kind"}]'}))

    assert len(joint.all("details", class_="fold request")) == 0
    assert len(separate.all("details", class_="fold request")) == 2
    assert "own-id" in as_json.one("section", class_="sent").text


def test_two_answers_are_compared_in_both_orders(post: Post, parsed: Parsed) -> None:
    with_one = parsed(post("/judges", **FIELDS | {"mode": "pairwise"}))
    with_two = parsed(post("/judges", **FIELDS | {"mode": "pairwise", "reference": "Since."}))

    assert "No judge would be asked" in with_one.one("section", class_="sent").text
    assert len(with_two.all("details", class_="fold request")) == 2


def test_a_model_of_this_machine_is_asked_for_one_token(post: Post, parsed: Parsed) -> None:
    page = parsed(post("/judges", **FIELDS | {"mode": "rubric", "rubrics": "Is kind", "model": "embedded/small"}))

    assert "a single token" in page.one("section", class_="sent").text


def test_a_case_with_nothing_to_judge_by_is_said_to_be_not_evaluated(post: Post, parsed: Parsed) -> None:
    page = parsed(post("/judges", **FIELDS | {"criteria": ""}))

    assert "not evaluated" in page.one("section", class_="sent").text


def test_what_is_wrong_stands_at_its_field_and_the_draft_is_kept(post: Post, parsed: Parsed) -> None:
    wrong = {
        "template": {"template": "Rate {{ answer }}"},
        "rubrics": {"mode": "rubric", "rubrics": "[1,]"},
        "scale": {"scale": "five"},
    }

    for name, fields in wrong.items():
        response = post("/judges", **FIELDS | fields)
        page = parsed(response)
        assert response.status_code == 422
        assert page.one("p", id=f"{name}-error").text.strip("! ")
        assert page.value(name) == fields[name]
    assert post("/judges", **FIELDS | {"mode": "wild"}).status_code == 422
    assert post("/judges", **FIELDS | {"mode": "rubric", "rubrics": " "}).status_code == 422
    assert post("/judges", **FIELDS | {"score_from": "dice"}).status_code == 422


def test_hostile_texts_are_part_of_the_prompt_and_not_of_the_page(
    post: Post, parsed: Parsed, hostile: list[str]
) -> None:
    usable = [one for one in hostile if one.isprintable()]

    for text in (" ".join(usable), *usable[::4]):
        page = parsed(post("/judges", **FIELDS | {"answer": text, "question": text, "model": text[:100]}))
        assert page.value("answer") == page.value("question") == text
        assert page.value("model") == text[:100]
        assert text in page.all("pre", role="region")[1].text


def test_a_preview_needs_the_token(client: TestClient) -> None:
    assert client.post("/judges", data=FIELDS).status_code == 401
