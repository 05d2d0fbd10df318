"""The pages of runs: their list, one by itself, and the form that starts one."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Scripted, evaluate
from evenhand.domain.errors import StoreError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.prompt import PromptText, TestCaseText
from evenhand.domain.run import Judgment, RunRecord, RunStatus
from evenhand.domain.secret import Secret
from evenhand.domain.verdict import Verdict
from evenhand.reports.report import Report
from evenhand.server.app import make_app
from evenhand.server.pages import run_view, runs
from evenhand.server.runs.baseline import pin
from evenhand.server.settings import ServerSettings
from evenhand.store.rows import Batch, evaluation_row
from evenhand.store.store import Store

Post = Callable[..., Any]
Parsed = Callable[[Any], Any]
Judge = Callable[..., RunRecord]

TOKEN = "a-token-of-the-tests"
JUDGE = {"type": "llm_judge", "name": "quality"}


def reply(score: float, said: str = "Because.") -> str:
    return json.dumps({"score": score, "hits": [said], "misses": [said], "reasoning": said})


def case(name: str, said: str = "q", **more: Any) -> Case:
    return Case(id=name, question=said, candidate_answer=said, expected_outcome=said, **more)


@pytest.fixture
def judged(client: TestClient, tmp_path: Path) -> Judge:
    """Judge cases into the server's store, as the library does."""

    def made(*replies: str | Exception, name: str = "refunds", **options: Any) -> RunRecord:
        count = options.pop("count", len(replies))
        cases = options.pop("cases", None) or [case(f"case-{number}") for number in range(count)]
        evaluators = options.pop("evaluators", JUDGE)
        store, judge = str(tmp_path / "evenhand.db"), Scripted(replies)
        return evaluate(cases, evaluators, judge=judge, store=store, name=name, concurrency=1, **options).record

    return made


# The list


def test_there_is_a_page_for_having_no_runs(client: TestClient, parsed: Parsed) -> None:
    page = parsed(client.get("/runs"))

    assert "No runs yet" in page.one("main").text
    assert page.all("a", class_="button primary", href="/runs/new")


def test_the_list_has_each_mean_with_its_interval_and_what_it_is_over(
    client: TestClient, judged: Judge, parsed: Parsed
) -> None:
    run = judged(reply(0.9), reply(0.7), reply(0.2), *["no verdict"] * 3, count=4)

    row = parsed(client.get("/runs")).one("tbody")

    assert "refunds" in row.text
    assert "1 of 3 scored, 4 in all" in row.text
    assert "0.60" in row.text
    assert "[0.08, 0.96]" in row.text
    assert f"/runs/{run.id}/results?status=error" in client.get("/runs").text


def test_the_list_can_be_narrowed_to_a_prompt(client: TestClient, store: Store, judged: Judge, parsed: Parsed) -> None:
    prompt = store.prompts.create(PromptText(name="Haiku"))
    of_prompt = store.runs.create(
        name="Haiku v1",
        source=None,
        definition={"prompt": {"id": prompt.id, "name": "Haiku", "version": 1}},
        options={},
    )
    judged(reply(1.0))

    page = parsed(client.get(f"/runs?prompt={prompt.id}"))

    assert [one.attributes["href"] for one in page.all("a") if one.text == "Haiku v1"] == [f"/runs/{of_prompt.id}"]
    assert "refunds" not in page.one("tbody").text
    assert client.get("/runs?prompt=p-none").status_code == 404


def test_a_long_list_has_pages(client: TestClient, store: Store, parsed: Parsed) -> None:
    for number in range(27):
        run = store.runs.create(name=f"run {number:02}", source=None, definition={}, options={})
        store.runs.mark(run, RunStatus.FINISHED)

    first = parsed(client.get("/runs"))
    last = parsed(client.get("/runs?after=25"))

    assert first.one("button", name="after", value="25").attributes["formaction"] == "/runs"
    assert "run 26" in first.one("tbody").text
    assert "26 to 27 of 27" in last.one("nav", class_="pager").text
    assert "run 00" in last.one("tbody").text
    assert client.get("/runs?after=99999999").status_code == 200


def test_the_two_newest_runs_that_can_be_compared_are_chosen(
    client: TestClient, store: Store, judged: Judge, parsed: Parsed
) -> None:
    alone = parsed(client.get("/runs"))
    first, second = judged(reply(0.9)), judged(reply(0.8))
    judged(reply(0.9), evaluators={**JUDGE, "name": "brief"})
    judged(reply(0.9), name="another suite")
    planned(store, cases=1, judged=0, status=RunStatus.STOPPED)

    page = parsed(client.get("/runs"))

    chosen = {one.attributes["name"]: one.attributes["value"] for one in page.all("input", checked="")}
    assert chosen == {"a": first.id, "b": second.id}
    assert not alone.all("input", checked="")


# One run


def test_a_finished_run_shows_its_numbers_and_what_they_are_over(
    client: TestClient, judged: Judge, parsed: Parsed
) -> None:
    run = judged(
        reply(0.9), reply(0.7), reply(0.2), *["no verdict"] * 3, count=4, gates={"min_mean": 0.5, "max_unscored": 0}
    )

    page = parsed(client.get(f"/runs/{run.id}"))

    told = page.one("main").text
    assert "mean 0.60 [0.08, 0.96] over 3 of 4; 1 judge error; 0.45 if counted as 0" in told
    assert "gate met min_mean: wanted at least 0.5, found 0.6" in " ".join(told.split())
    assert "gate missed max_unscored" in " ".join(told.split())
    assert "Calls to models6" in told
    assert "unparsable" in told
    assert page.one("svg", class_="chart histogram")
    assert page.one("a", href=f"/runs/{run.id}/results?verdict=fail").text.split() == ["✗", "fail", "1"]
    assert [one.text for one in page.all("a", href=f"/runs/{run.id}/results?status=error")] == [
        "Look at them",
        "! error 1",
    ]
    assert not page.all("progress")


def test_models_are_shown_side_by_side_where_there_are_several(
    client: TestClient, judged: Judge, parsed: Parsed
) -> None:
    cases = [case(f"{n}", metadata={"model": f"model/{n % 2}"}) for n in range(4)]
    run = judged(*[reply(0.9)] * 4, cases=cases)

    told = parsed(client.get(f"/runs/{run.id}")).one("figure", class_="models").text

    assert "model/0" in told
    assert "2 of 2" in told


def planned(store: Store, cases: int, judged: int, status: RunStatus) -> RunRecord:
    """Put a run into the store that did not come to its end."""
    run = store.runs.create(name="half", source=None, definition={}, options={})
    store.add_cases(
        [(run.number, number, f"c{number}", "", 1, '{"case": {"question": "q"}}') for number in range(cases)]
    )
    found = Evaluation.with_score(evaluator="quality", type="llm_judge", score=1.0, verdict=Verdict.PASS)
    rows = [evaluation_row(run.number, number, 0, Judgment(evaluation=found)) for number in range(judged)]
    store.commit(Batch(evaluations=rows))
    return store.runs.mark(run, status, "the key was refused" if status is RunStatus.STOPPED else "", cases=cases)


def test_a_run_that_goes_on_is_live_and_has_no_numbers_yet(client: TestClient, store: Store, parsed: Parsed) -> None:
    run = planned(store, cases=4, judged=1, status=RunStatus.RUNNING)

    page = parsed(client.get(f"/runs/{run.id}"))

    bar = page.one("progress")
    assert (bar.attributes["value"], bar.attributes["max"]) == ("1", "4")
    assert page.one("div", data_live_at=f"/live?run={run.id}").attributes["data-state"] == f"{run.id}:running"
    assert page.one("a", href=f"/runs/{run.id}").text == "Reload the page"
    assert "1 of 4 evaluations" in page.one("main").text
    assert not page.all("svg", class_="chart histogram")
    assert page.all("script", src="/static/live_runs.js")


def test_the_first_page_and_the_list_show_how_far_runs_are_and_say_how_to_see_more_only_then(
    client: TestClient, store: Store, parsed: Parsed
) -> None:
    run = planned(store, cases=4, judged=1, status=RunStatus.RUNNING)

    running = {address: parsed(client.get(address)) for address in ("/", "/runs", "/runs?text=running")}
    told = client.get("/live").json()
    of_another = client.get("/live", params={"run": "nobody"}).json()
    store.runs.mark(run, RunStatus.FINISHED)
    ended = {address: parsed(client.get(address)) for address in ("/", "/runs", "/runs?text=running")}

    for page in running.values():
        assert page.one("div", data_live_at="/live").attributes["data-state"] == told["state"] == f"{run.id}:running"
        assert page.one("div", data_run=run.id).text.split()[:4] == ["1", "of", "4", "evaluations"]
        assert page.one("span", data_live="pass").text == told["runs"][run.id]["texts"]["pass"] == "1"
        assert "Reload the page" in page.one("p", data_live_note="").text
    for page in ended.values():
        assert page.one("div", data_live_at="/live").attributes["data-state"] == ""
        assert not page.all("p", data_live_note="")
        assert not page.all("div", data_run=run.id)
    assert of_another == {"state": "", "runs": {}}
    assert "No matches" in ended["/runs?text=running"].one("main").text


def test_a_run_whose_process_is_gone_is_not_found_as_running(client: TestClient, store: Store, parsed: Parsed) -> None:
    run = planned(store, cases=4, judged=1, status=RunStatus.RUNNING)
    store.database.execute("UPDATE runs SET owner = 'somewhere:1:abcd', seen = 1.0", [])

    page = parsed(client.get("/runs?text=running"))

    assert "No matches" in page.one("main").text
    assert parsed(client.get("/runs?text=interrupted")).all("a", href=f"/runs/{run.id}")
    assert client.get("/live").json() == {"state": "", "runs": {}}


def test_a_run_that_was_decided_early_says_so_and_shows_no_interval(
    client: TestClient, judged: Judge, parsed: Parsed
) -> None:
    run = judged(*[reply(0.9)] * 60, gates={"min_mean": 0.3}, until_decided=True)
    after = run.options["until_decided"]["gates"][0]["after"]

    shown = parsed(client.get(f"/runs/{run.id}")).one("main").text

    assert f"decided after {after} of 60: min_mean 0.3 passes" in shown
    assert f"after {after} of 60 cases in random order" in shown
    assert "not finished" not in shown.lower()
    assert "no interval" in shown
    assert "Without intervals, since the run stopped when its gates were decided." in shown


def test_a_judge_of_the_targets_family_is_warned_of(client: TestClient, store: Store, parsed: Parsed) -> None:
    def page_of(target: Any) -> Any:
        definition = {"judge": "openai/gpt-5", "target": target, "prompt": {"id": "p-1", "name": "p", "version": 1}}
        run = store.runs.create(name="kin", source=None, definition=definition, options={})
        return parsed(client.get(f"/runs/{run.id}"))

    several = page_of({"models": ["ollama/qwen2.5:7b", {"model": "azure/gpt-4.1", "temperature": 0}]})
    one, none = page_of("openai/gpt-5-mini"), page_of({"models": ["ollama/qwen2.5:7b"]})

    assert "of the same family, openai: models tend to favour" in several.one("p", class_="notice warn").text
    assert "Judge openai/gpt-5 and target openai/gpt-5-mini" in one.one("p", class_="notice warn").text
    assert not none.all("p", class_="notice warn")


@pytest.mark.parametrize(
    ("rate", "told"), [(0.0, "–"), (None, "–"), (0.04, "2.4 per minute"), (12.34, "12.3 per second")]
)
def test_a_rate_is_told_once_there_is_one(rate: float | None, told: str) -> None:
    unknown = dict.fromkeys(("eta", "retries", "calls", "cached", "cost"))
    none = dict.fromkeys(("done", "passed", "borderline", "failed", "errors", "not_evaluated"), 0)
    still = {"status": "running", "waiting": False, "stopping": False, "paused": "", "latest_error": ""}

    found = run_view.live({"total": 4, "rate": rate, **still, **unknown, **none})

    assert found["texts"]["rate"] == told
    assert found["texts"]["pace"] == ", ".join([*([told] if rate else []), "cost unknown until it ends"])
    assert found["texts"]["cost"] == "unknown until it ends"


def test_what_a_run_will_cost_in_all_is_told_once_enough_cases_are_judged() -> None:
    numbers = dict.fromkeys(("done", "total", "passed", "borderline", "failed", "errors", "not_evaluated", "calls"), 0)
    still = {"status": "running", "waiting": False, "stopping": False, "paused": "", "latest_error": "", "rate": 1.0}
    unknown = dict.fromkeys(("eta", "retries", "cached", "cost", "expected_cost"))
    expected = {"cost": 1.1, "low": 1.05, "high": 1.15, "cases": 50}

    before, after = (run_view.live(numbers | still | unknown | {"expected_cost": each}) for each in (None, expected))

    assert before["texts"]["expected_cost"] == "–"
    assert after["texts"]["expected_cost"] == "about $1.10 [$1.05, $1.15]"


def test_a_run_that_stopped_says_why_and_can_be_resumed(
    client: TestClient, store: Store, parsed: Parsed, post: Post
) -> None:
    run = planned(store, cases=4, judged=1, status=RunStatus.STOPPED)

    page = parsed(client.get(f"/runs/{run.id}"))
    refused = post(f"/runs/{run.id}/resume")

    assert "the key was refused" in page.one("p", class_="notice warn").text
    assert "3 of 4 cases are pending" in page.one("p", class_="notice warn").text
    assert page.one("form", method="post", action=f"/runs/{run.id}/resume")
    assert refused.status_code == 422
    assert "was started by a program" in parsed(refused).one("main").text


def test_nothing_is_cancelled_where_nobody_works(client: TestClient, judged: Judge, post: Post) -> None:
    run = judged(reply(1.0))

    assert post(f"/runs/{run.id}/cancel").status_code == 409


def test_an_address_names_a_run_by_its_whole_id(client: TestClient, judged: Judge) -> None:
    run = judged(reply(1.0))

    assert client.get(f"/runs/{run.id[:-1]}").status_code == 404
    assert client.get("/runs/last").status_code == 404


def test_a_run_is_given_as_a_file(client: TestClient, judged: Judge) -> None:
    run = judged(reply(0.9), reply(0.1))
    client.event_hooks = {}
    begins = {"html": "<!doctype html>", "json": "{", "jsonl": "{", "csv": '"case_id"', "md": "#", "xml": "<?xml"}

    files = {ending: client.get(f"/runs/{run.id}/download.{ending}") for ending in begins}

    assert all(answer.text.startswith(begins[ending]) for ending, answer in files.items())
    assert files["csv"].headers["content-disposition"] == f'attachment; filename="{run.id}.csv"'
    assert client.get(f"/runs/{run.id}/download.exe").status_code == 404


def test_a_report_of_a_damaged_run_is_refused(client: TestClient, judged: Judge, store: Store) -> None:
    run = judged(reply(0.9), reply(0.2))
    store.database.execute("UPDATE evaluations SET content = REPLACE(content, 'Because', 'Despite') WHERE position = 1")

    answers = [client.get(f"/runs/{run.id}/download.{ending}") for ending in ("json", "html", "csv")]

    assert all(answer.status_code >= 500 for answer in answers)
    assert all("is damaged" in answer.text for answer in answers)


def test_a_report_that_fails_halfway_leaves_no_file_open(
    client: TestClient, judged: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def fails(report: Report, text: TextIO) -> None:
        opened.append(text.buffer)
        raise StoreError("the disk is gone")

    run = judged(reply(0.9))
    monkeypatch.setattr(runs, "writer_for_run", lambda definition, ending: fails)

    assert client.get(f"/runs/{run.id}/download.json").status_code >= 500
    assert [file.closed for file in opened] == [True]


def test_a_run_is_deleted_when_somebody_said_so_twice(
    client: TestClient, store: Store, judged: Judge, parsed: Parsed, post: Post
) -> None:
    run = judged(reply(0.9))
    busy = planned(store, cases=1, judged=0, status=RunStatus.RUNNING)

    asked = parsed(client.get(f"/runs/{run.id}/delete"))
    assert [one.id for one in store.runs.newest()] == [busy.id, run.id]
    answer = post(f"/runs/{run.id}/delete")

    assert "1 case with their answers" in asked.one("main").text
    assert answer.headers["location"] == "/runs?done=deleted"
    assert [one.id for one in store.runs.newest()] == [busy.id]
    assert post(f"/runs/{busy.id}/delete").status_code == 409


def test_changes_need_the_token(client: TestClient, judged: Judge) -> None:
    run = judged(reply(0.9))

    answers = [client.post(f"/runs/{run.id}/{what}") for what in ("delete", "cancel", "resume", "label")]

    assert [one.status_code for one in answers] == [401] * 4
    assert client.get(f"/runs/{run.id}").status_code == 200


def test_a_label_is_changed_on_the_page_of_the_run(
    client: TestClient, store: Store, judged: Judge, parsed: Parsed, post: Post
) -> None:
    run = judged(reply(0.9))

    first = post(f"/runs/{run.id}/label", label="  shorter <b>prompt ")
    page = parsed(client.get(f"/runs/{run.id}"))
    refused = post(f"/runs/{run.id}/label", label="x" * 201)

    assert (first.status_code, first.headers["location"]) == (303, f"/runs/{run.id}")
    assert page.one("input", name="label").attributes["value"] == "shorter <b>prompt"
    assert "shorter <b>prompt" in page.one("main").text
    assert refused.status_code == 422
    assert store.runs.find(run.id).label == "shorter <b>prompt"

    post(f"/runs/{run.id}/label", label=" ")
    assert store.runs.find(run.id).label == ""


# The baseline


def test_a_run_is_held_against_the_one_that_was_pinned(
    client: TestClient, judged: Judge, parsed: Parsed, post: Post
) -> None:
    first = judged(*[reply(one) for one in (0.9, 0.9, 0.2, 0.7, 0.9, 0.9, 0.9)])
    before = parsed(client.get(f"/runs/{first.id}"))

    pinned = post(f"/runs/{first.id}/pin")
    second = judged(*[reply(one) for one in (0.2, 0.7, 0.9, 0.7, 0.9, 0.9, 0.9)])
    page = parsed(client.get(f"/runs/{second.id}"))
    worse = parsed(client.get(f"/compare?a={first.id}&b={second.id}&way=worse"))

    assert before.one("form", method="post", action=f"/runs/{first.id}/pin")
    assert not before.all("section", aria_labelledby="against-title")
    assert pinned.headers["location"] == f"/runs/{first.id}"
    told = page.one("section", aria_labelledby="against-title").text
    assert f"Compared with the baseline {first.id}" in told
    assert "2 regressions, 1 improvement." in told
    assert "No difference shown:" in told
    assert page.one("a", href=f"/compare?a={first.id}&b={second.id}&way=worse#changes").text == "2 regressions"
    assert "To a worse verdict: 2 cases." in worse.one("section", id="changes").text
    assert "case-2" not in worse.one("section", id="changes").text
    assert "baseline" in parsed(client.get(f"/runs/{first.id}")).one("div", class_="page-head").text
    assert parsed(client.get("/runs")).one("tbody").text.count("baseline") == 1


def test_the_first_page_tells_of_regressions_in_the_newest_run_of_each_suite(
    client: TestClient, judged: Judge, parsed: Parsed, post: Post
) -> None:
    first = judged(*[reply(one) for one in (0.9, 0.9, 0.2)])
    other = judged(reply(0.9), name="another suite")
    before = parsed(client.get("/"))
    post(f"/runs/{first.id}/pin")
    post(f"/runs/{other.id}/pin")
    judged(*[reply(one) for one in (0.2, 0.2, 0.2)])
    newest = judged(*[reply(one) for one in (0.2, 0.9, 0.9)])

    page = parsed(client.get("/"))

    assert not before.all("section", aria_labelledby="against")
    section = page.one("section", aria_labelledby="against")
    assert [one.text for one in page.all("h3")] == [newest.name]
    assert "Compared with the baseline" in section.text
    assert "1 regression, 1 improvement." in section.text
    assert page.one("a", href=f"/compare?a={first.id}&b={newest.id}&way=worse#changes").text == "1 regression"


def test_there_is_one_baseline_of_a_suite_and_it_can_be_unpinned(
    client: TestClient, store: Store, judged: Judge, post: Post
) -> None:
    first, second, third = judged(reply(0.9)), judged(reply(0.9)), judged(reply(0.9))
    elsewhere = judged(reply(0.9), name="another suite")
    post(f"/runs/{elsewhere.id}/pin")

    post(f"/runs/{first.id}/pin")
    post(f"/runs/{second.id}/pin")
    both = [run.id for run in store.runs.newest() if run.options.get("baseline")]
    listed = {one["id"]: one["baseline"] for one in client.get("/api/runs").json()["items"]}
    exported = client.get(f"/api/runs/{second.id}/export").text
    held = client.get(f"/runs/{third.id}").text
    post(f"/runs/{second.id}/unpin")

    assert both == [elsewhere.id, second.id]
    assert listed == {elsewhere.id: True, third.id: False, second.id: True, first.id: False}
    assert '"baseline"' not in exported
    assert f"/compare?a={second.id}" in held
    assert "Compared with the baseline" not in client.get(f"/runs/{third.id}").text
    assert client.post(f"/runs/{second.id}/pin").status_code == 401


def test_a_run_that_is_not_finished_is_no_baseline_and_one_that_was_judged_otherwise_says_why(
    client: TestClient, store: Store, judged: Judge, parsed: Parsed, post: Post
) -> None:
    busy = planned(store, cases=1, judged=0, status=RunStatus.RUNNING)
    first = judged(reply(0.9))
    post(f"/runs/{first.id}/pin")
    other = judged(reply(0.9), evaluators={**JUDGE, "name": "brief"})

    refused = post(f"/runs/{busy.id}/pin")
    told = parsed(client.get(f"/runs/{other.id}")).one("section", aria_labelledby="against-title").text

    assert refused.status_code == 409
    assert "were not answered or judged by the same definition" in told


# A run to be started


@pytest.fixture
def prompt(store: Store) -> Any:
    made = store.prompts.create(PromptText(name="Refunds", content="Be kind.", evaluation_criteria="Names 30 days"))
    store.prompts.add_cases(made.id, [TestCaseText(input=f"Question {number}?") for number in range(3)])
    return store.prompts.find(made.id)


def form_of(prompt: Any, **fields: Any) -> dict[str, Any]:
    usual = {
        "prompt": prompt.id, "version": str(prompt.version), "models": "openai/gpt-5-mini", "judge": "openai/gpt-5",
        "repeat": "1", "concurrency": "8", "max_calls": "", "max_cost": "", "label": "", "tags": "",
        "do": "estimate",
    }  # fmt: skip
    return usual | fields


def test_first_a_prompt_is_chosen(client: TestClient, parsed: Parsed, prompt: Any) -> None:
    page = parsed(client.get("/runs/new"))

    assert page.one("a", href=f"/runs/new?prompt={prompt.id}").text == "Refunds"


def test_the_form_shows_versions_and_test_cases(client: TestClient, parsed: Parsed, prompt: Any) -> None:
    page = parsed(client.get(f"/runs/new?prompt={prompt.id}"))

    assert [one.text for one in page.all("option")] == ["1 (latest) · llm"]
    assert len(page.all("input", name="test_cases", checked="")) == 3
    assert page.one("input", name="judge")
    assert "openai" in page.one("p", id="models-hint").text


def test_a_prompt_without_test_cases_has_none_to_run(client: TestClient, store: Store, parsed: Parsed) -> None:
    made = store.prompts.create(PromptText(name="Haiku"))

    page = parsed(client.get(f"/runs/new?prompt={made.id}"))

    assert "No test cases yet" in page.one("main").text
    assert not page.all("form", method="post")


def test_an_estimate_tells_calls_and_cost_needs_no_key_and_spends_nothing(
    store: Store, post: Post, parsed: Parsed, prompt: Any
) -> None:
    page = parsed(post("/runs/new", **form_of(prompt, repeat="2")))

    told = page.one("section", class_="estimate").text
    assert "3 cases, 2 times each" in told
    assert "openai/gpt-5-mini" in told
    assert "$" in told
    assert page.value("concurrency") == "8"
    started = parsed(post("/runs/new", **form_of(prompt, do="start")))
    assert "set OPENAI_API_KEY where the server runs" in started.one("p", id="models-error").text
    assert store.runs.newest() == []


def test_a_test_case_that_was_chosen_and_is_gone_is_told_and_no_other_takes_its_place(
    store: Store, post: Post, parsed: Parsed, prompt: Any
) -> None:
    chosen = [case.id for case in store.prompts.cases(prompt.id)]
    store.prompts.delete_case(chosen[0])
    store.prompts.add_cases(prompt.id, [TestCaseText(input="Added meanwhile?")])

    answer = post("/runs/new", **form_of(prompt, models="vllm/a", judge="vllm/b", listed="1", test_cases=chosen))

    assert answer.status_code == 422
    assert f"no test case {chosen[0]!r}" in parsed(answer).one("p", class_="error").text


WRONG = [
    ("models", " \n", "no model"),
    ("models", "opnai/gpt-5", "did you mean"),
    ("models", "recorded/secret.jsonl", "no provider"),
    ("repeat", "0", "from 1 to 100"),
    ("repeat", "many", "from 1 to 100"),
    ("repeat", "0" * 19 + "1" + "0" * 9, "from 1 to 100"),
    ("repeat", "0" * 19 + "1" + "0" * 5000, "from 1 to 100"),
    ("concurrency", "99999999999999999999999", "from 1 to 1,000"),
    ("max_calls", "-1", "from 1 to"),
    ("max_cost", "cheap", "a number of dollars"),
    ("max_cost", "nan", "a number of dollars"),
    ("label", "x" * 201, "200 characters"),
    ("tags", "release, " + "x" * 41, "1 to 40 characters"),
]


def test_what_is_wrong_is_told_at_its_field_and_nothing_is_lost(
    store: Store, post: Post, parsed: Parsed, prompt: Any
) -> None:
    for field, typed, told in WRONG:
        answer = post("/runs/new", **form_of(prompt, **{field: typed, "do": "start"}))
        page = parsed(answer)

        assert answer.status_code == 422
        assert told in page.one("p", id=f"{field}-error").text
        assert page.value("judge") == "openai/gpt-5"
    assert store.runs.newest() == []


def test_a_run_without_test_cases_is_refused(
    post: Post, parsed: Parsed, prompt: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-dummy")

    answer = post("/runs/new", **form_of(prompt, listed="1"))

    assert answer.status_code == 422
    assert "the list is empty" in parsed(answer).one("fieldset").text


def test_a_run_is_started_and_comes_to_its_end(tmp_path: Path) -> None:
    silent = tmp_path / "silent.jsonl"
    silent.write_text('{"model": "silent"}\n', encoding="utf-8")
    model = f"recorded/{silent}"
    settings = ServerSettings(
        db=str(tmp_path / "own.db"), token=Secret("a-token-of-the-tests"), models=(model,), page_wait_seconds=60.0
    )
    with TestClient(make_app(settings), base_url="http://localhost:8642", follow_redirects=False) as client:
        app: Any = client.app
        store: Store = app.state.store
        prompt = store.prompts.create(PromptText(name="Refunds", evaluation_mode="schema"))  # type: ignore[arg-type]
        store.prompts.add_cases(prompt.id, [TestCaseText(input="x", evaluation_schema="{}")] * 2)
        sent = form_of(prompt, models=model, judge="", do="start", form="one", token="a-token-of-the-tests")

        answer = client.post("/runs/new", data=sent)
        again = client.post("/runs/new", data=sent)
        for _ in range(1200):
            (run,) = store.runs.newest()
            if run.status is RunStatus.FINISHED:
                break
            time.sleep(0.05)

        assert answer.headers["location"] == again.headers["location"] == f"/runs/{run.id}"
        assert run.status is RunStatus.FINISHED
        assert run.definition["prompt"]["id"] == prompt.id
        assert "no mean: none of 2 cases was scored; 2 target errors" in client.get(f"/runs/{run.id}").text


def test_a_run_that_is_started_with_a_label_and_tags_has_them_on_every_page_and_over_http(
    client: TestClient,
    post: Post,
    parsed: Parsed,
    prompt: Any,
    models: Any,
    ended: Callable[[str], dict[str, Any]],
) -> None:
    label = "shorter <b>prompt</b>"
    typed = form_of(prompt, models="vllm/a", judge="vllm/judge", label=f" {label} ", tags="release, <i>,,")

    estimate = parsed(post("/runs/new", **typed))
    runs = [
        post("/runs/new", **(typed | {"do": "start", "label": given})).headers["location"].removeprefix("/runs/")
        for given in (typed["label"], "")
    ]
    labelled, other = (ended(run) for run in runs)

    def main_of(address: str) -> str:
        return str(parsed(client.get(address)).one("main").text)

    assert (estimate.value("label"), estimate.value("tags")) == (typed["label"], typed["tags"])
    assert (labelled["label"], other["label"]) == (label, "")
    assert labelled["tags"] == ["<i>", "release"]
    assert [each["label"] for each in client.get("/api/runs").json()["items"]] == ["", label]
    for address in ("/runs", f"/runs?prompt={prompt.id}", f"/runs/{runs[0]}", f"/compare?a={runs[0]}&b={runs[1]}"):
        assert label in main_of(address), address
    choices = parsed(client.get(f"/compare?a={runs[0]}&b={runs[1]}")).all("option", value=runs[0])
    assert {each.text for each in choices} == {f"Refunds v1 · {label} · {runs[0]}"}
    assert label not in main_of(f"/runs/{runs[1]}")


def test_runs_are_found_by_the_words_that_tell_them_apart(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    runs = {
        "refunds": judged(reply(0.9), label="shorter prompt"),
        "returns": judged(reply(0.3), name="returns"),
        "again": judged(reply(0.6), reply(0.6)),
    }

    def listed(query: str) -> list[str]:
        page = parsed(client.get(f"/runs?{query}"))
        known = {f"/runs/{run.id}": name for name, run in runs.items()}
        return [known[one.attributes["href"]] for one in page.all("a") if one.attributes["href"] in known]

    assert listed("") == ["again", "returns", "refunds"]
    assert listed("text=SHORTER") == ["refunds"]
    assert listed(f"text={runs['again'].id}") == ["again"]
    assert listed("text=refunds+scripted") == ["again", "refunds"]
    assert listed("text=nothing") == []
    assert listed("sort=oldest") == ["refunds", "returns", "again"]
    assert listed("sort=mean") == listed("sort=pass_rate&text=") == ["refunds", "again", "returns"]
    assert listed("sort=name")[-1] == "returns"
    assert "No matches" in client.get("/runs?text=nothing").text
    assert [client.get(f"/runs?{wrong}").status_code for wrong in ("sort=colour", f"text={'x' * 201}")] == [422, 422]


def test_a_run_in_which_everything_failed_says_so_and_what_went_wrong_and_is_pinned_only_when_asked_twice(
    client: TestClient, judged: Judge, parsed: Parsed, post: Post
) -> None:
    run = judged(*["no verdict"] * 6, count=2)

    shown, listed = (parsed(client.get(address)).one("main").text for address in (f"/runs/{run.id}", "/runs"))
    refused = post(f"/runs/{run.id}/pin")
    by_rest = client.put(f"/api/runs/{run.id}/baseline", headers={"authorization": f"Bearer {TOKEN}"})
    pinned = post(f"/runs/{run.id}/pin", anyway="1")

    assert "nothing scored" in shown
    assert "nothing scored" in listed
    assert "Nothing was scored: every case ended in an error" in shown
    assert re.search(r"2\s+unparsable: \S", shown)
    assert (refused.status_code, by_rest.status_code, pinned.status_code) == (409, 409, 303)
    assert "Pin anyway" in refused.text
    assert "anyway" in by_rest.text


def test_errors_are_retried_and_a_run_is_started_again_with_a_click(
    client: TestClient, post: Post, parsed: Parsed, prompt: Any, models: Any, ended: Callable[[str], dict[str, Any]]
) -> None:
    models.says = lambda model, _text: "no verdict" if model == "judge" else ""
    started = post("/runs/new", **(form_of(prompt, models="vllm/a", judge="vllm/judge") | {"do": "start"}))
    first = started.headers["location"].removeprefix("/runs/")
    failed = ended(first)
    models.says = lambda _model, _text: ""

    retried = post(f"/runs/{first}/resume", retry_errors="1")
    mended = ended(first)
    page = parsed(client.get(f"/runs/{first}"))
    form = page.all("input", name="form")[0].attributes["value"]
    again = [post(f"/runs/{first}/again", form=form).headers["location"] for _ in range(2)]
    second = ended(again[0].removeprefix("/runs/"))
    asked = len(models.asked)
    third = ended(post(f"/runs/{first}/again", form=form, no_cache="1").headers["location"].removeprefix("/runs/"))

    assert failed["summary"]["errors"] == failed["summary"]["n"] > 0
    assert retried.status_code == 303
    assert mended["summary"]["errors"] == 0
    assert again[0] == again[1] != f"/runs/{first}"
    assert (second["summary"]["cached"], third["summary"]["cached"]) == (second["summary"]["n"] * 2, 0)
    assert len(models.asked) - asked == third["summary"]["n"] * 2
    assert (second["models"], second["judge"]) == (mended["models"], mended["judge"])
    assert "Compare with previous run" in client.get(again[0]).text


# Texts of others


def test_hostile_texts_are_shown_as_text_on_every_page(
    elements: Callable[[str], set[str]],
    client: TestClient,
    store: Store,
    judged: Judge,
    parsed: Parsed,
    hostile: list[str],
) -> None:
    usable = [said for said in hostile if "\ud800" not in said]
    everything = "\n".join(usable)
    cases = [case(f"{n} {said}".replace("\0", ""), said) for n, said in enumerate(usable)]
    evaluator = {**JUDGE, "name": usable[0]}
    replies = [reply(0.5, said) for said in usable[:-1]]
    run = judged(*replies, *[usable[-1]] * 3, name=everything, label=usable[0], cases=cases, evaluators=evaluator)
    prompt = store.prompts.create(PromptText(name=usable[0], content=everything.replace("\0", "")))
    store.prompts.add_cases(prompt.id, [TestCaseText(input=said.replace("\0", "")) for said in usable])
    named = {
        "judge": everything,
        "target": {"models": [everything, usable[0]]},
        "prompt": {"id": usable[0], "name": usable[0]},
    }
    kin = store.runs.create(name=usable[0], source=usable[0].replace("\0", ""), definition=named, options={})
    pin(store, run)
    held = judged(*replies, *[usable[-1]] * 3, name=everything, label=usable[0], cases=cases, evaluators=evaluator)

    pages = [
        parsed(client.get(address))
        for address in (
            "/runs",
            f"/runs/{run.id}",
            f"/runs/{run.id}/delete",
            "/runs/new",
            f"/runs/new?prompt={prompt.id}",
            f"/runs/{kin.id}",
            f"/runs/{held.id}",
        )
    ]

    for page in pages:
        assert {one.name for one in page.elements} <= elements(
            "caption circle code datalist defs desc details fieldset figcaption figure g h3 legend line option pattern pre progress rect section select strong summary table tbody td text textarea th thead time tr"
        )
        assert not [one for one in page.all("a") if not one.attributes["href"].startswith(("/", "#"))]
    assert usable[0] in pages[1].one("h1").text
    assert "are the same model" in pages[5].one("p", class_="notice warn").text
    assert "0 regressions" in pages[6].one("section", aria_labelledby="against-title").text


def test_the_numbers_of_a_finished_run_are_counted_once(client: TestClient, store: Store, judged: Judge) -> None:
    app: Any = client.app
    counted = app.state.summary_cache
    run = judged(reply(0.9))
    when_it_ended = counted.has(store, run)

    client.get(f"/runs/{run.id}")

    assert when_it_ended
    assert counted.of(store, run) is counted.of(store, run)
    assert counted.of(store, run) is not counted.of(store, store.runs.mark(run, RunStatus.STOPPED))


def test_a_run_whose_numbers_take_long_is_shown_without_them_until_they_are_there(
    client: TestClient, store: Store, parsed: Parsed, wait_seconds: Callable[[float], None], may_end: threading.Event
) -> None:
    run = planned(store, cases=1200, judged=1200, status=RunStatus.FINISHED)
    wait_seconds(0.0)

    first = parsed(client.get(f"/runs/{run.id}"))
    wait_seconds(60.0)
    may_end.set()
    then = parsed(client.get(f"/runs/{run.id}"))

    assert "The summary of 1,200 cases is being computed." in first.one("main").text
    assert first.all("script", src="/static/live_runs.js")
    assert "mean 1.00" in then.one("main").text
