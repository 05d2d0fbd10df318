"""All about one case: on its own page, from which the drawer takes it too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Scripted, evaluate
from evenhand.domain.reply import Reply, TokenChoice
from evenhand.domain.run import RunRecord

Parsed = Callable[[Any], Any]
Judge = Callable[..., RunRecord]

JUDGE = {"type": "llm_judge", "name": "quality"}
SCHEMA = '{"type": "object", "properties": {"lines": {"type": "array", "items": {"required": ["sku"]}}}}'


@pytest.fixture
def judged(client: TestClient, tmp_path: Path) -> Judge:
    def made(*cases: Case, replies: Any = (), evaluators: Any = JUDGE, **options: Any) -> RunRecord:
        judge, store = Scripted(replies), str(tmp_path / "evenhand.db")
        return evaluate(list(cases), evaluators, judge=judge, store=store, concurrency=1, **options).record

    return made


def case(name: str = "window", **more: Any) -> Case:
    known: dict[str, Any] = {
        "question": "May I return it?",
        "candidate_answer": "Yes.",
        "expected_outcome": "Names 30 days",
    }
    return Case(id=name, **(known | more))


def reply(score: float, **more: Any) -> str:
    return json.dumps({"score": score, "hits": [], "misses": [], "reasoning": "Because."} | more)


def told(page: Any, kind: str = "article", **attributes: str) -> str:
    return " ".join(page.one(kind, **attributes).text.split())


def test_a_judgment_is_shown_with_verdict_score_points_and_reasoning(
    client: TestClient, judged: Judge, parsed: Parsed
) -> None:
    run = judged(
        case(), replies=[reply(0.4, hits=["is kind"], misses=["does not name the days"], reasoning="Too short.")]
    )

    page = parsed(client.get(f"/runs/{run.id}/results/0"))

    judgment = told(page, "section", class_="judgment")
    assert "quality ✗ fail 0.400 llm_judge · scripted" in judgment
    assert "Too short." in judgment
    assert "✓is kind" in judgment
    assert "✗does not name the days" in judgment


def test_the_context_is_shown_and_the_api_has_it(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    documents = [{"id": "faq", "text": "Returns: 30 days."}, "Shoes."]
    run = judged(case(context=documents), replies=[reply(0.9)])

    page = parsed(client.get(f"/runs/{run.id}/results/0"))
    answered = client.get(f"/api/runs/{run.id}/cases/window").json()

    answer = told(page, "section", class_="material")
    assert "Context, document 1: faq Returns: 30 days. Context, document 2 Shoes." in answer
    assert (answered["context"], answered["case"]["context"]) == (documents, documents)


def test_question_and_answer_come_first_beside_the_reference_and_prompts_and_attempts_are_folded(
    client: TestClient, judged: Judge, parsed: Parsed
) -> None:
    run = judged(case(reference_answer="Within 30 days"), replies=["no verdict", reply(0.9)])

    page = parsed(client.get(f"/runs/{run.id}/results/0"))

    assert page.one("h1").text == "May I return it?"
    shown = told(page, "section", class_="material")
    assert shown.startswith("Answer Yes. Reference Within 30 days Expected outcome Names 30 days")
    assert page.one("div", class_="pair")
    judgment = told(page, "section", class_="judgment")
    assert "asked 2 times" in judgment
    folds = [" ".join(one.text.split()) for one in page.all("details", class_="fold")]
    attempts, prompts = next(fold for fold in folds if "attempts" in fold), next(f for f in folds if "Prompts" in f)
    assert "1. reply" in attempts
    assert "no verdict" in attempts
    assert '"score": 0.9' in attempts
    assert "System prompt" in prompts
    assert "May I return it?" in prompts


def test_a_long_question_is_shown_in_full_below_its_title(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    question = "Why? " * 100
    run = judged(case(question=question), replies=[reply(0.9)])

    page = parsed(client.get(f"/runs/{run.id}/results/0"))

    assert page.one("h1").text.endswith("…")
    assert f"Question {question.strip()}" in told(page, "section", class_="material")


def test_json_is_indented_and_errors_of_a_schema_stand_where_they_are(
    client: TestClient, judged: Judge, parsed: Parsed
) -> None:
    answer = '{"lines": [{"sku": 1}, {}], "total": 1.50}'
    run = judged(case(candidate_answer=answer, evaluation_schema=SCHEMA), evaluators={"type": "schema"})

    page = parsed(client.get(f"/runs/{run.id}/results/0"))

    lines = page.all("pre")[0].text.strip().splitlines()
    assert lines[:3] == ["{", '  "lines": [', "    {"]
    assert lines[5].strip() == "{}"
    assert lines[6].strip().startswith("✗")
    assert "sku" in lines[6]
    assert '  "total": 1.50' in lines


def test_items_of_a_rubric_are_shown_once_with_what_they_ask(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    rubric = {"type": "rubric", "rubrics": [{"id": "period", "description": "Names the period"}], "name": "quality"}
    checks = {"checks": [{"id": "period", "satisfied": False, "reasoning": "Nowhere."}]}
    run = judged(case(), replies=[json.dumps(checks)], evaluators=rubric)

    judgment = told(parsed(client.get(f"/runs/{run.id}/results/0")), "section", class_="judgment")

    assert "period Names the period✗ noNowhere." in judgment
    assert "[period]" not in judgment


def test_a_case_shows_how_it_came_out_in_other_runs(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    first = judged(case(), replies=[reply(0.4)])
    judged(case("another"), replies=[reply(0.4)])
    second = judged(case(), replies=[reply(0.9)])

    page = parsed(client.get(f"/runs/{second.id}/results/0"))

    history = told(page, "section", class_="history")
    assert "✗ fail0.40" in history
    links = [one.attributes["href"] for one in page.all("a") if "/results/" in one.attributes["href"]]
    assert f"/runs/{first.id}/results/0" in links


def test_a_broken_judge_is_an_error_and_never_a_zero(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    run = judged(case(), replies=["no verdict"] * 3)

    page = told(parsed(client.get(f"/runs/{run.id}/results/0")))

    assert "! error" in page
    assert "The judge failed: no score; left out of all means. unparsable:" in page
    assert "0.000" not in page


def test_what_was_not_evaluated_says_why_and_has_no_score(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    run = judged(case(expected_outcome=None))

    page = parsed(client.get(f"/runs/{run.id}/results/0"))

    assert "– not evaluated" in told(page)
    assert "0.000" not in told(page)
    assert "Prompts" not in told(page, "section", class_="judgments")


def test_errors_of_a_schema_are_shown_with_their_paths(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    run = judged(
        case(candidate_answer='{"lines": [{"sku": 1}, {}]}', evaluation_schema=SCHEMA), evaluators={"type": "schema"}
    )

    page = parsed(client.get(f"/runs/{run.id}/results/0"))

    table = told(page, "table", class_="schema-errors")
    assert "$.lines[1]" in table
    assert '"sku" is a required property' in table


def test_checks_are_shown_with_probability_and_evidence(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    said = json.dumps(
        {"checks": [{"id": "kind", "satisfied": True, "reasoning": "It says yes.", "evidence": "Yes."},
                    {"id": "days", "satisfied": False, "reasoning": "None named.", "evidence": ""}]}
    )  # fmt: skip
    rubrics = [{"id": "kind", "description": "Is kind"}, {"id": "days", "description": "Names the days"}]
    likely = Reply.said(
        "yes", first_token=(TokenChoice(token="yes", logprob=-0.1), TokenChoice(token="no", logprob=-2.4))
    )

    by_words = judged(case(), replies=[said], evaluators={"type": "rubric", "rubrics": rubrics, "evidence": True})
    by_tokens = judged(
        case(), replies=[likely, likely], evaluators={"type": "rubric", "rubrics": rubrics, "score_from": "logprobs"}
    )

    words = told(parsed(client.get(f"/runs/{by_words.id}/results/0")), "table", class_="checks")
    tokens = told(parsed(client.get(f"/runs/{by_tokens.id}/results/0")), "table", class_="checks")
    assert "2 checks, 1 satisfied" in words
    assert "kind✓ yesIt says yes.Yes." in words
    assert "P(yes)" in tokens
    assert "0.909" in tokens


def test_every_evaluator_and_sample_is_there(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    two = [JUDGE, {**JUDGE, "name": "brief"}]
    run = judged(case(), replies=[reply(0.1), reply(0.2), reply(0.3), reply(0.4)], evaluators=two, repeat=2)

    page = parsed(client.get(f"/runs/{run.id}/results/0"))

    titles = [one.attributes["aria-label"] for one in page.all("section", class_="judgment")]
    assert titles == ["quality, sample 1", "brief, sample 1", "quality, sample 2", "brief, sample 2"]
    assert "2 samples: ✗ 0.15, ✗ 0.35" in told(page)


def test_neighbours_are_a_link_away(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    run = judged(*(case(f"c{number}") for number in range(3)), replies=[reply(1.0)] * 3)

    pages = [parsed(client.get(f"/runs/{run.id}/results/{number}")) for number in range(3)]

    assert [[one.attributes["href"][-1] for one in page.all("a", class_="button") if "rel" in one.attributes] for page in pages] == [
        ["1"], ["0", "2"], ["1"],
    ]  # fmt: skip
    assert [
        client.get(f"/runs/{run.id}/results/{wrong}").status_code for wrong in ("3", "-1", "99999999999999999999")
    ] == [404] * 3


def test_a_case_is_given_as_json_whatever_its_id(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    run = judged(case("t-1 openai/gpt-5 100 %?#"), replies=[reply(0.9)])
    page = parsed(client.get(f"/runs/{run.id}/results/0"))

    found = client.get(page.one("button", class_="button", hidden="").attributes["data-copy-from"]).json()

    assert found["case_id"] == "t-1 openai/gpt-5 100 %?#"
    assert found["evaluations"][0]["attempts"][0]["raw"] == reply(0.9)
    assert found["case"]["expected_outcome"] == "Names 30 days"


def test_hostile_texts_are_shown_as_text(
    elements: Callable[[str], set[str]], client: TestClient, judged: Judge, parsed: Parsed, hostile: list[str]
) -> None:
    usable = [said for said in hostile if "\ud800" not in said]
    cases = [
        Case(
            id=f"{n} {said}".replace("\0", ""), question=said, candidate_answer=said, reference_answer=said,
            expected_outcome=said, metadata={said: said, "model": said}, cluster=said,
            output_messages=[("assistant", said)], input_messages=[("user", said)],
        )
        for n, said in enumerate(usable)
    ]  # fmt: skip
    replies = [text for said in usable for text in (said, reply(0.5, hits=[said], misses=[said], reasoning=said))]
    run = judged(*cases, replies=replies, evaluators={**JUDGE, "name": usable[0]}, name=usable[1])

    escape = usable.index(next(said for said in usable if "\x1b" in said))
    pages = {
        number: parsed(client.get(f"/runs/{run.id}/results/{number}")) for number in (escape, *range(0, len(usable), 5))
    }

    for page in pages.values():
        assert {one.name for one in page.elements} <= elements(
            "abbr article details fieldset h3 legend pre section strong summary"
        )
    assert usable[0] in pages[0].one("h1").text
    assert "␛" in pages[escape].one("article").text
