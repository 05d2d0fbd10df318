"""The page that compares two runs."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Scripted, evaluate
from evenhand.domain.prompt import PromptText, TestCaseText
from evenhand.domain.run import RunRecord
from evenhand.engine.job import Pace
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import Trial

Parsed = Callable[[Any], Any]
Judge = Callable[..., RunRecord]

JUDGE = {"type": "llm_judge", "name": "quality"}


@pytest.fixture
def judged(client: TestClient, tmp_path: Path) -> Judge:
    def made(*scores: float | None, said: str = "q", evaluators: Any = JUDGE, **options: Any) -> RunRecord:
        cases = [
            Case(id=f"case-{number}", question=said, candidate_answer="a", expected_outcome="x")
            for number in range(options.pop("count", len(scores)))
        ]
        replies = [text for score in scores for text in ([reply(score)] if score is not None else ["no"] * 3)]
        judge, store = Scripted(replies), str(tmp_path / "evenhand.db")
        return evaluate(cases, evaluators, judge=judge, store=store, concurrency=1, **options).record

    return made


def reply(score: float) -> str:
    return json.dumps({"score": score, "hits": [], "misses": [], "reasoning": "Because."})


def told(page: Any) -> str:
    return " ".join(page.one("main").text.split())


def test_without_two_runs_it_says_what_is_needed(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    empty = told(parsed(client.get("/compare")))
    first, second = judged(0.9), judged(0.9)
    judged(0.9, evaluators={**JUDGE, "name": "brief"})
    chosen = parsed(client.get("/compare"))

    assert "You need two runs" in empty
    assert [one.attributes["value"] for one in chosen.all("option", selected="")] == [first.id, second.id]
    assert "Choose two runs" in told(chosen)


def test_a_difference_comes_with_interval_test_p_effect_and_counts(
    client: TestClient, judged: Judge, parsed: Parsed
) -> None:
    a = judged(0.2, 0.3, 0.1, 0.5, 0.4, 0.3, 0.6, None)
    b = judged(0.9, 0.8, 0.9, 0.9, 0.9, 0.9, 0.6, 0.5)

    page = parsed(client.get(f"/compare?a={a.id}&b={b.id}"))

    assert "B is better than A: +0.500 [" in told(page)
    assert "over 7 cases" in told(page)
    assert "Test paired t" in told(page).replace("Testpaired", "Test paired")
    assert "6 wins for B" in told(page)
    assert "1 tie" in told(page)
    assert "0 losses" in told(page)
    assert "8 cases in both runs. Left out: 1 without a score in A." in told(page)
    assert page.one("svg", class_="chart verdict-bar")


def test_the_cells_of_the_matrix_lead_to_the_cases(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    a = judged(0.9, 0.9, 0.9, 0.9, 0.9, 0.9, None)
    b = judged(0.9, 0.9, 0.9, 0.9, 0.1, 0.2, 0.9)
    address = f"/compare?a={a.id}&b={b.id}"

    page = parsed(client.get(address))
    turned = parsed(client.get(f"{address}&before=pass&after=fail"))
    none = parsed(client.get(f"{address}&before=fail&after=pass"))

    cells = {one.attributes["href"]: one.text for one in page.all("a") if one.text.isdecimal()}
    assert cells == {
        f"/runs/{b.id}/results?verdict=pass": "4",
        f"{address}&before=pass&after=fail#changes": "2",
        f"/runs/{a.id}/results?status=error": "1",
    }
    assert "From pass to fail: 2 cases." in told(turned)
    assert page.one("a", href=f"/runs/{b.id}/results/4").text == "case-4"
    assert page.one("a", href=f"/runs/{a.id}/results/4").text == "0.900"
    assert "From fail to pass: 0 cases." in told(none)
    assert all(client.get(one.partition("#")[0]).status_code == 200 for one in cells)


def test_too_little_data_is_said_plainly(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    a, b = judged(0.2, 0.3), judged(0.9, 0.8)

    page = told(parsed(client.get(f"/compare?a={a.id}&b={b.id}")))

    assert "Not enough data: " in page
    assert "not enough data" in page


def test_runs_that_were_judged_differently_are_refused_unless_told(
    client: TestClient, judged: Judge, parsed: Parsed
) -> None:
    a = judged(*[0.2] * 6)
    b = judged(*[0.9] * 6, thresholds={"pass": 0.5})

    refused = parsed(client.get(f"/compare?a={a.id}&b={b.id}"))
    anyway = parsed(client.get(refused.one("a", class_="button").attributes["href"]))

    assert "Not comparable" in told(refused)
    assert "thresholds.pass: 0.8 in A, 0.5 in B" in told(refused)
    assert "--anyway" not in told(refused)
    assert "Judged differently." in told(anyway)
    assert "B is better than A" in told(anyway)


def test_a_run_is_not_compared_with_itself_or_with_other_cases(
    client: TestClient, judged: Judge, parsed: Parsed
) -> None:
    a = judged(0.2)

    itself = parsed(client.get(f"/compare?a={a.id}&b={a.id}"))

    assert "cannot be compared with itself" in told(itself)
    assert not itself.all("a", class_="button")
    assert client.get(f"/compare?a={a.id}&b=none").status_code == 404


def test_where_a_run_is_of_several_models_one_can_be_chosen(client: TestClient, store: Store, parsed: Parsed) -> None:
    prompt = store.prompts.create(PromptText(name="p", evaluation_criteria="Is brief"))
    store.prompts.add_cases(prompt.id, [TestCaseText(input=f"Question {number}") for number in range(3)])

    def tried(**scores: float) -> str:
        models = [{"model": Scripted(["Yes."] * 3, name=f"model/{name}")} for name in scores]
        trial = Trial(prompt=prompt, models=models, judge=Scripted([*map(reply, scores.values())] * 3, name="judge"))
        job = trial.job(store)
        return asyncio.run(Runner(store, plan(store, job, trial.scope), job, Pace(concurrency=1)).run()).id

    one, several = tried(bad=0.1), tried(good=0.9, other=0.5)
    # Judges that were made in Python are two.
    unclear = parsed(client.get(f"/compare?a={one}&b={several}&anyway=yes"))
    choice = next(link for link in unclear.all("a", class_="button") if link.text == "model/good")
    chosen = parsed(client.get(choice.attributes["href"]))

    assert "has the answers of several models" in told(unclear)
    assert choice.attributes["href"] == f"/compare?a={one}&b={several}&anyway=yes&model_b=model%2Fgood"
    assert "3 cases in both runs." in told(chosen)
    assert "of B, only the answers of model/good are compared" in told(chosen)
    assert chosen.all("a", href=f"/runs/{one}/results/1")
    assert chosen.all("a", href=f"/runs/{several}/results/2")


def test_an_evaluator_can_be_looked_at_by_itself(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    two = [JUDGE, {**JUDGE, "name": "brief"}]
    a = judged(*[0.2, 0.9] * 6, count=6, evaluators=two)
    b = judged(*[0.9, 0.9] * 6, count=6, evaluators=two)

    whole = parsed(client.get(f"/compare?a={a.id}&b={b.id}"))
    one = parsed(client.get(whole.one("a", href=f"/compare?a={a.id}&b={b.id}&evaluator=brief").attributes["href"]))

    assert "p, Holm" in told(whole)
    assert "By evaluator brief." in told(one)
    assert "No difference shown: +0.000" in told(one)
    assert "no evaluator of these runs is named 'none'" in told(
        parsed(client.get(f"/compare?a={a.id}&b={b.id}&evaluator=none"))
    )


def test_large_runs_are_compared_while_the_page_says_so(
    client: TestClient, judged: Judge, parsed: Parsed, wait_seconds: Callable[[float], None], may_end: threading.Event
) -> None:
    a, b = judged(*[0.2] * 120), judged(*[0.9] * 120)
    wait_seconds(0.0)

    first = parsed(client.get(f"/compare?a={a.id}&b={b.id}"))
    wait_seconds(60.0)
    may_end.set()
    then = parsed(client.get(f"/compare?a={a.id}&b={b.id}"))

    assert "are being compared" in told(first)
    assert first.one("a", href=f"/compare?a={a.id}&b={b.id}")
    assert "B is better than A: +0.700" in told(then)


def test_hostile_texts_are_shown_as_text(
    elements: Callable[[str], set[str]], client: TestClient, judged: Judge, parsed: Parsed, hostile: list[str]
) -> None:
    said = "\n".join(one for one in hostile if "\ud800" not in one and "\0" not in one)
    evaluators = {**JUDGE, "name": said}
    a = judged(*[0.2] * 6, evaluators=evaluators, name=said)
    b = judged(*[0.9] * 6, evaluators=evaluators, name=said)
    other = judged(*[0.9] * 6, evaluators={**JUDGE, "name": said[:20]}, name=said)

    pages = [
        parsed(client.get(f"/compare?a={one}&b={two}&before={mark}"))
        for one, two, mark in ((a.id, b.id, ""), (a.id, other.id, ""), (a.id, b.id, "%3Cscript%3E"))
    ]

    for page in pages:
        assert {one.name for one in page.elements} <= elements(
            "abbr circle desc line option rect section select strong table tbody td th thead tr"
        )


def test_the_labels_of_a_judge_are_shown_from_a_to_b(client: TestClient, tmp_path: Path, parsed: Parsed) -> None:
    evaluator = {"type": "llm_judge", "name": "grade", "choices": {"right": 1, "wrong": 0}}
    cases = [Case(id=str(number), candidate_answer="a", expected_outcome="x") for number in range(3)]
    first, second = (
        evaluate(
            cases,
            evaluator,
            judge=Scripted([json.dumps({"label": label}) for label in labels]),
            store=str(tmp_path / "evenhand.db"),
            concurrency=1,
            cache=False,
        ).record
        for labels in (["right", "wrong", "wrong"], ["right", "right", "wrong"])
    )

    page = parsed(client.get(f"/compare?a={first.id}&b={second.id}"))

    assert "Labels of grade, from A to B A ↓ B →rightwrong right1·wrong11 " in told(page)
