"""The trend of a prompt or a suite: a point for each finished run, and what was changed for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Contains, Scripted, evaluate
from evenhand.domain.prompt import Prompt, PromptText, TestCaseText
from evenhand.engine.job import Pace
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.server.runs import trend
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import Trial

Parsed = Callable[[Any], Any]
GRADE = json.dumps({"score": 0.9, "hits": [], "misses": [], "reasoning": ""})


def tried(store: Store, prompt: Prompt, *, model: str = "model/a", judge: str = "judge/a") -> str:
    count = store.prompts.find(prompt.id).test_cases
    answering = Scripted(["Yes."] * count, name=model)
    judging = Scripted([GRADE] * count, name=judge)
    trial = Trial(prompt=prompt, models=[{"model": answering}], judge=judging)
    job = trial.job(store)
    job = replace(job, definition={**job.definition, "target": {"models": [model]}, "judge": judge})
    return asyncio.run(Runner(store, plan(store, job, trial.scope), job, Pace(concurrency=1)).run()).id


@pytest.fixture
def prompt(store: Store) -> Prompt:
    made = store.prompts.create(PromptText(name="Refunds", content="Be brief.", evaluation_criteria="Is brief"))
    store.prompts.add_cases(made.id, [TestCaseText(input=f"Question {number}") for number in range(3)])
    return made


def test_every_finished_run_is_a_point_that_opens_it_and_says_what_was_changed(
    client: TestClient, store: Store, prompt: Prompt, parsed: Parsed
) -> None:
    runs = [tried(store, prompt)]
    newer = store.prompts.edit(prompt.id, replace(prompt.text, content="Be very brief."), seen=1)
    runs += [tried(store, newer), tried(store, newer, judge="judge/b")]
    store.prompts.add_cases(prompt.id, [TestCaseText(input="One more")])
    runs += [tried(store, newer, judge="judge/b", model="model/b")]

    page = parsed(client.get(f"/trend?prompt={prompt.id}"))
    found = client.get(f"/api/trend?prompt={prompt.id}").json()

    points = [one.attributes["href"] for one in page.all("a") if one.attributes["href"].startswith("/runs/2")]
    assert points == [f"/runs/{run}" for run in (*runs, *reversed(runs))]
    assert [(one["run"], one["changed"]) for one in found["items"]] == [
        (runs[3], ["target", "cases"]),
        (runs[2], ["judge"]),
        (runs[1], ["prompt"]),
        (runs[0], []),
    ]
    assert (found["total"], found["unfinished"], found["next"]) == (4, 0, None)
    assert found["items"][0]["pass_rate"] == 1.0
    assert found["items"][0]["pass_rate_interval"]["method"] == "wilson"
    assert found["items"][0]["mean"] == pytest.approx(0.9)
    assert "prompt version 2" in page.one("main").text
    assert page.one("a", href=f"/trend?prompt={prompt.id}&metric=mean").text == "Mean score"
    assert page.one("a", href=f"/trend?prompt={prompt.id}").attributes["aria-current"] == "page"


def test_a_suite_has_a_trend_by_any_of_its_runs_and_runs_of_others_are_not_in_it(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    def judged(name: str) -> str:
        cases = [Case(id=f"case-{number}", candidate_answer="Paris") for number in range(2)]
        return evaluate(cases, Contains(value="Paris"), name=name, store=str(tmp_path / "evenhand.db")).id

    one, _, other = judged("capitals"), judged("rivers"), judged("capitals")

    page = parsed(client.get(f"/runs/{one}"))
    address = next(link.attributes["href"] for link in page.all("a") if link.text == "Trend")
    found = client.get(f"/api/trend?run={one}&limit=1").json()
    rest = client.get(f"/api/trend?run={one}&limit=1&cursor={found['next']}").json()

    assert address == f"/trend?run={one}"
    assert "Trend of capitals" in parsed(client.get(address)).one("main").text
    assert [each["run"] for each in (*found["items"], *rest["items"])] == [other, one]
    assert found["total"] == 2
    assert rest["next"] is None


def test_what_is_not_finished_or_not_read_yet_is_counted_and_said(
    client: TestClient, store: Store, prompt: Prompt, parsed: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = client.get(f"/trend?prompt={prompt.id}").text
    tried(store, prompt)
    store.runs.create(name="Refunds v1", source=None, definition={"prompt": {"id": prompt.id}}, options={})
    monkeypatch.setattr(trend, "MOST_CASES_IN_LIST", 1)

    page = parsed(client.get(f"/trend?prompt={prompt.id}")).one("main").text

    assert "No finished runs yet" in empty
    assert "1 run not finished: left out." in page
    assert "Of 1 run, only the number of cases is compared so far." in page


def test_many_runs_are_shown_page_by_page_and_the_first_of_a_page_knows_the_run_before(
    client: TestClient, store: Store, prompt: Prompt, parsed: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.server.pages.trend.MOST_POINTS", 2)
    runs = [tried(store, prompt), tried(store, prompt, model="model/b"), tried(store, prompt, model="model/b")]

    newest = parsed(client.get(f"/trend?prompt={prompt.id}"))
    oldest = parsed(client.get(newest.one("a", rel="next").attributes["href"]))

    assert "1 to 2 of 3 finished runs" in newest.one("main").text
    assert "target model/b" in newest.one("main").text
    assert oldest.all("a", href=f"/runs/{runs[0]}")
    assert not oldest.all("a", href=f"/runs/{runs[1]}")


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/trend", 422, "name a prompt, or a run of the suite"),
        ("/trend?prompt=p-none", 404, "no such prompt, and no run of it"),
        ("/trend?run=nobody", 404, "no run"),
        ("/trend?prompt=p-none&metric=luck", 422, "metric: it must be one of pass_rate, mean"),
        ("/api/trend", 422, "name a prompt, or a run of the suite"),
        ("/api/trend?prompt=p-none", 404, "p-none"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_what_would_be_right(
    client: TestClient, address: str, status: int, said: str
) -> None:
    response = client.get(address)

    assert response.status_code == status
    assert said in response.text
