"""The page that compares two runs."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Contains, Scripted, evaluate
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
    same = parsed(client.get(f"{address}&before=pass&after=pass"))
    mended = parsed(client.get(f"{address}&before=error&after=pass"))
    broken = parsed(client.get(f"/compare?a={b.id}&b={a.id}&way=broken"))

    def listed(shown: Any) -> list[str]:
        return [one.attributes.get("title", "") for one in shown.all("a") if "/compare/case?" in one.attributes["href"]]

    assert cells == {
        f"{address}&before=pass&after=pass#changes": "4",
        f"{address}&before=pass&after=fail#changes": "2",
        f"{address}&before=error&after=pass#changes": "1",
    }
    assert "From pass to pass: 4 cases." in told(same)
    assert listed(same) == [f"case-{number}" for number in range(4)]
    assert "From error to pass: 1 case." in told(mended)
    assert listed(mended) == ["case-6"]
    assert "No longer scored: 1 case." in told(broken)
    assert listed(broken) == ["case-6"]
    assert "From nonsense" not in told(parsed(client.get(f"{address}&before=nonsense&after=pass")))
    assert "From pass to fail: 2 cases." in told(turned)
    assert page.one("a", href=f"/runs/{b.id}/results/4").text == "In B"
    assert page.one("a", href=f"/runs/{a.id}/results/4").text == "In A"
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
    prompt = store.prompts.create(PromptText(name="p", content="Be terse.", evaluation_criteria="Is brief"))
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
    each_other = parsed(client.get(f"/compare?a={several}"))
    as_json = client.get(f"/api/compare?a={several}")
    (case, *_) = [one for one in each_other.all("a") if one.attributes.get("href", "").startswith("/compare/case")]
    side_by_side = parsed(client.get(case.attributes["href"]))

    assert "Compared with model/good, case by case" in told(each_other)
    assert case.text == "Question 0"
    assert [one.text.split("Question")[0].strip() for one in chosen.all("summary") if "Question" in one.text] == [
        ""
    ] * 3
    assert "model/good" in told(side_by_side)
    assert each_other.one("select", id="b").text.strip().startswith("no other run")
    assert (as_json.status_code, list(as_json.json()["others"])) == (200, ["model/other"])
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
    a, b = judged(*[0.2] * 30), judged(*[0.9] * 30)
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
            "abbr circle del desc details h3 ins line option pre rect section select strong summary table tbody td th thead time tr"
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


def answering(client: TestClient, tmp_path: Path, *answers: str, **rest: Any) -> str:
    cases = [Case(id=f"case {n}", question="Which city?", candidate_answer=text) for n, text in enumerate(answers)]
    evaluators = [Contains(name="right", value="Paris"), Contains(name="polite", value="please")]
    return evaluate(cases, evaluators, store=str(tmp_path / "evenhand.db"), **rest).id


def test_the_head_says_what_a_and_b_are(client: TestClient, tmp_path: Path, parsed: Parsed) -> None:
    a = answering(client, tmp_path, *["Rome"] * 6, label="first try", name="capitals")
    b = answering(client, tmp_path, *["Paris"] * 6, label="second try", name="capitals")

    page = parsed(client.get(f"/compare?a={a}&b={b}"))

    sides = [" ".join(page.one("section", aria_label=f"Run {letter}").text.split()) for letter in "AB"]
    assert f"capitals · {a}" in sides[0]
    assert "first try" in sides[0]
    assert "second try" in sides[1]
    assert "none; the cases have answers" in sides[1]
    assert page.one("a", href=f"/runs/{a}").text == f"capitals · {a}"


def test_a_changed_case_opens_to_both_answers_with_the_words_marked(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    a, b = (answering(client, tmp_path, *[f"It is {city}, I think."] * 6) for city in ("Rome", "Paris"))

    page = parsed(client.get(f"/compare?a={a}&b={b}"))

    assert len(page.all("details", class_="change")) == 6
    assert {each.text for each in page.all("del")} == {"Rome"}
    assert {each.text for each in page.all("ins")} == {"Paris"}
    opened = " ".join(page.all("details")[0].text.split())
    assert "Which city?" in opened
    assert "right A ✗ fail 0.000" in opened
    assert "polite" not in opened


def test_one_case_of_both_runs_has_a_page_with_the_changes_around_it(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    a, b = (answering(client, tmp_path, *[f"It is {city}."] * 6, "Lima") for city in ("Rome", "Paris"))
    whole = parsed(client.get(f"/compare?a={a}&b={b}"))
    link = next(each for each in whole.all("a", class_="button") if each.text == "Whole case")

    first = parsed(client.get(link.attributes["href"]))
    second = parsed(client.get(first.one("a", rel="next").attributes["href"]))
    same = parsed(client.get(f"/compare/case?a={a}&b={b}&case=case+6"))

    assert link.attributes["href"] == f"/compare/case?a={a}&b={b}&case=case+0"
    assert (first.one("del").text, first.one("ins").text) == ("Rome", "Paris")
    assert "Change 1 of 6" in told(first)
    assert {"A: right", "B: polite"} <= {each.attributes.get("aria-label") for each in first.all("section")}
    assert second.one("h1").text == "case 1"
    assert second.one("a", rel="prev").attributes["href"] == link.attributes["href"]
    assert "The answers are the same." in told(same)
    assert not same.all("a", rel="next")


def test_a_case_that_both_runs_do_not_have_is_not_found(client: TestClient, tmp_path: Path) -> None:
    a, b = (answering(client, tmp_path, city) for city in ("Rome", "Paris"))

    assert client.get(f"/compare/case?a={a}&b={b}&case=nothing").status_code == 404
    assert client.get(f"/compare/case?a={a}&b=none&case=case+0").status_code == 404


def test_a_case_of_runs_that_are_not_comparable_leads_to_where_that_is_said(client: TestClient, tmp_path: Path) -> None:
    a = answering(client, tmp_path, "Rome")
    b = answering(client, tmp_path, "Paris", thresholds={"pass": 0.5})

    response = client.get(f"/compare/case?a={a}&b={b}&case=case+0")

    assert (response.status_code, response.headers["location"]) == (303, f"/compare?a={a}&b={b}")


def test_several_runs_are_a_table_whose_rows_lead_to_the_pairs(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    a, b, c = (answering(client, tmp_path, *[city] * 6) for city in ("Rome", "Paris", "Lima"))
    strict = answering(client, tmp_path, *["Rome"] * 6, thresholds={"pass": 0.5})

    page = parsed(client.get(f"/compare?a={a}&b={b}&b={c}&b={strict}"))
    same = parsed(client.get(f"/compare?a={a}&b={b}&b={b}"))
    many = client.get(f"/compare?a={a}" + f"&b={b}" * 9)

    assert "p corrected for 2 runs (Holm)" in told(page)
    assert {f"/compare?a={a}&b={run}" for run in (b, c)} <= {link.attributes["href"] for link in page.all("a")}
    assert f"Not compared{strict}: " in told(page)
    assert "thresholds.pass: 0.8 in A, 0.5 in B" in told(page)
    anyway = page.one("a", class_="button").attributes["href"]
    assert "p corrected for 3 runs" in told(parsed(client.get(anyway)))
    assert "is named twice" in told(same)
    assert many.status_code == 422


def first(case: Any) -> str:
    return f"Paris, for {case.question}"


def second(case: Any) -> str:
    return f"Rome, for {case.question}"


def third(case: Any) -> str:
    return f"Lima, for {case.question}"


def test_the_targets_of_one_run_are_compared_and_their_answers_shown_next_to_each_other(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    target = [{"name": each.__name__, "python": f"{__name__}:{each.__name__}"} for each in (first, second, third)]
    cases = [Case(id=f"case {number}", question="which?") for number in range(6)]
    run = evaluate(cases, Contains(value="Paris"), target=target, store=str(tmp_path / "evenhand.db")).id

    of_run = parsed(client.get(f"/runs/{run}"))
    page = parsed(client.get(f"/compare?a={run}"))
    pair = parsed(client.get(f"/compare?a={run}&b={run}&model_a=first&model_b=second"))
    case = parsed(client.get(f"/compare/case?a={run}&case=case+0"))

    assert of_run.one("a", href=f"/compare?a={run}").text == "Compare them with each other"
    assert "evenhand compare" not in told(of_run)
    assert "Compared with first, case by case, p corrected for 2 targets (Holm)" in told(page)
    assert page.one("a", href=f"/compare?a={run}&b={run}&model_a=first&model_b=second").text == "second"
    assert page.one("a", href=f"/compare/case?a={run}&case=case+0", title="case 0").text == "which?"
    assert "B is worse than A" in told(pair)
    assert pair.all("del")[0].text == "Paris"
    assert [each.text for each in case.all("ins")] == ["Rome", "Lima"]
    assert "Underlined: not in the answer of first." in told(case)
    assert client.get(f"/compare/case?a={run}&case=none").status_code == 404


def test_what_differs_is_told_with_the_words_of_the_prompt_marked(
    client: TestClient, store: Store, parsed: Parsed
) -> None:
    text = PromptText(name="p", content="Be brief.\nBe polite.", evaluation_criteria="Is brief")
    prompt = store.prompts.create(text)
    store.prompts.add_cases(prompt.id, [TestCaseText(input=f"Question {number}") for number in range(3)])
    newer = replace(text, content="Be brief.\nBe kind.")
    stricter = replace(newer, evaluation_criteria="Is brief, and names\nthe period")
    runs = []
    for number, words in enumerate((text, newer, stricter)):
        version = prompt if not number else store.prompts.edit(prompt.id, words, seen=number)
        models = [{"model": Scripted(["Yes."] * 3, name="model/a")}]
        trial = Trial(prompt=version, models=models, judge=Scripted([reply(0.9)] * 3, name="judge"))
        job = trial.job(store)
        ended = asyncio.run(Runner(store, plan(store, job, trial.scope), job, Pace(concurrency=1)).run())
        runs.append(ended.id)

    compared = client.get(f"/compare?a={runs[0]}&b={runs[1]}")
    refused = client.get(f"/compare?a={runs[1]}&b={runs[2]}")

    assert "Prompt version12" in told(parsed(compared)).replace(" ", "").replace("Promptversion", "Prompt version")
    assert "Be <del>polite</del>." in compared.text
    assert "Be <ins>kind</ins>." in compared.text
    assert "Not comparable" in refused.text
    assert "Is brief<ins>, and names\nthe period</ins>" in refused.text


def test_two_runs_of_the_same_settings_say_so(client: TestClient, judged: Judge, parsed: Parsed) -> None:
    a, b = judged(0.2, 0.3), judged(0.9, 0.8)

    page = parsed(client.get(f"/compare?a={a.id}&b={b.id}"))

    assert "What differs Settings and cases are the same." in told(page)


def test_regressions_are_a_list_of_their_own_and_the_page_of_a_case_walks_through_them(
    client: TestClient, judged: Judge, parsed: Parsed
) -> None:
    a, b = judged(0.9, 0.9, 0.1, 0.9), judged(0.1, 0.2, 0.9, 0.9)

    page = parsed(client.get(f"/compare?a={a.id}&b={b.id}"))
    ways = {one.text: one.attributes["href"] for one in page.all("a") if one.attributes["href"].endswith("#changes")}
    worse = parsed(client.get(ways["2 regressions"].partition("#")[0]))
    case = parsed(client.get(next(one.attributes["href"] for one in worse.all("a") if one.text == "Whole case")))
    after = parsed(client.get(case.one("a", rel="next").attributes["href"]))

    assert {"All", "2 regressions", "1 improvement"} <= set(ways)
    assert "To a worse verdict: 2 cases." in told(worse)
    assert "To a worse verdict: change 1 of 2" in told(case)
    assert "change 2 of 2" in told(after)
    assert after.all("a", rel="next") == []


def test_what_was_chosen_stays_chosen_however_many_and_however_old(
    client: TestClient, judged: Judge, parsed: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [judged(*[0.5] * 3, count=3).id for _ in range(4)]
    query = "&".join(f"{'b' if place else 'a'}={run}" for place, run in enumerate(runs))
    monkeypatch.setattr("evenhand.server.pages.compare.MOST_RUNS", 2)

    page = parsed(client.get(f"/compare?{query}"))

    selected = [one.attributes["value"] for one in page.all("option") if "selected" in one.attributes]
    assert selected == runs
    assert len(page.all("select")) == 5
    assert "These are the 2 newest runs." in told(page)
