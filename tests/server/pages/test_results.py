"""The list of a run's cases: a row for each, filtered and sorted by its address, and small however many there are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Scripted, evaluate
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.store.store import Store

Parsed = Callable[[Any], Any]

JUDGE = {"type": "llm_judge", "name": "quality"}
BRIEF = {"type": "llm_judge", "name": "brief"}
LONG = "a text without an end " * 200
CAPITALS = {"passes": "Peru", "fails": "Mali", "between": "Chad", "zero": "Togo", "breaks": "Laos", "nothing": "Fiji"}


def reply(score: float, said: str = "Because.") -> str:
    return json.dumps({"score": score, "hits": [], "misses": [], "reasoning": said})


def judged(tmp_path: Path, cases: list[Case], replies: list[str], **options: Any) -> RunRecord:
    usual: dict[str, Any] = {"evaluators": JUDGE, "name": "capitals", "concurrency": 1}
    judge, store = Scripted(replies), str(tmp_path / "evenhand.db")
    return evaluate(cases, judge=judge, store=store, **(usual | options)).record


def case(name: str, **more: Any) -> Case:
    known: dict[str, Any] = {"question": f"Capital of {name}?", "candidate_answer": f"It is {name}."}
    return Case(id=name, **(known | {"expected_outcome": "x"} | more))


@pytest.fixture
def address(client: TestClient, tmp_path: Path) -> str:
    """Judge a case of every standing, and give the address of the list."""
    cases = [
        case(name, question=f"Capital of {country}?", **({} if name != "nothing" else {"expected_outcome": None}))
        for name, country in CAPITALS.items()
    ]
    replies = [reply(0.95, "Right."), reply(0.2), "again", reply(0.7), reply(0.0), *["no verdict"] * 3]
    return f"/runs/{judged(tmp_path, cases, replies).id}/results"


def titles(page: Any) -> list[str]:
    return [one.text for one in page.all("a", class_="title")]


def words(page: Any, *, row: int) -> str:
    return " ".join(page.all("tr", role="row")[row + 1].text.split())


def test_a_row_is_a_case_titled_by_its_input_with_verdict_score_answer_and_reason(
    client: TestClient, address: str, parsed: Parsed
) -> None:
    page = parsed(client.get(address))

    assert titles(page) == [f"Capital of {country}?" for country in CAPITALS.values()]
    assert words(page, row=0) == "Capital of Peru?passes ✓ pass 0.95It is passes. Right."
    assert "✗ fail 0.00" in words(page, row=3)
    assert "! error –" in words(page, row=4)
    assert "– not evaluated –" in words(page, row=5)
    assert [one.text.strip() for one in page.all("th", scope="col")] == ["Case", "Answer", "quality"]
    assert page.one("p", id="shown").text == "6 cases"


FOUND = {
    "verdict=pass": ["passes"],
    "verdict=fail": ["fails", "zero"],
    "verdict=fail&status=scored": ["fails", "zero"],
    "status=error": ["breaks"],
    "verdict=fail&status=error": ["breaks"],
    "status=scored": ["passes", "fails", "between", "zero"],
    "status=not_evaluated": ["nothing"],
    "status=pending": [],
    "retried=1": ["between", "breaks"],
    "min_score=0.2&max_score=0.7": ["fails", "between"],
    "text=peru": ["passes"],
    "text=Right": ["passes"],
    "evaluator=none": [],
    "verdict=&status=&min_score=&max_score=&text=": list(CAPITALS),
    "status=scored&sort=score": ["zero", "fails", "between", "passes"],
    "status=scored&sort=score&descending=1": ["passes", "between", "fails", "zero"],
    "sort=case_id&descending=1": sorted(CAPITALS, reverse=True),
    "status=scored&sort=verdict": ["fails", "zero", "between", "passes"],
}


def test_the_address_says_which_and_in_which_order(client: TestClient, address: str, parsed: Parsed) -> None:
    pages = {query: parsed(client.get(f"{address}?{query}")) for query in FOUND}

    assert {query: titles(page) for query, page in pages.items()} == {
        query: [f"Capital of {CAPITALS[name]}?" for name in names] for query, names in FOUND.items()
    }
    assert "No matches" in pages["evaluator=none"].one("main").text
    assert pages["verdict=fail"].one("p", id="shown").text == "2 cases match"


@pytest.mark.parametrize(
    "query",
    ["verdict=good", "status=none", "sort=seconds", "min_score=2", "max_score=x", "page=0", "page=1e3", "lines=3",
     f"text={'x' * 201}"],
)  # fmt: skip
def test_an_address_that_makes_no_sense_is_told_so(client: TestClient, address: str, query: str) -> None:
    refused = client.get(f"{address}?{query}")

    assert refused.status_code == 422
    assert query.split("=", maxsplit=1)[0] in refused.text


def test_evaluators_have_a_column_each_and_cases_on_which_they_differ_can_be_asked_for(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    cases = [case("one"), case("two")]
    replies = [reply(0.9, "Good."), reply(0.1, "Wordy."), reply(0.9), reply(0.95)]
    run = judged(tmp_path, cases, replies, evaluators=[JUDGE, BRIEF])

    page = parsed(client.get(f"/runs/{run.id}/results"))
    differ = parsed(client.get(f"/runs/{run.id}/results?differ=1"))
    failed = parsed(client.get(f"/runs/{run.id}/results?evaluator=brief&verdict=fail"))

    assert sorted(one.text.strip() for one in page.all("th", scope="col")) == ["Answer", "Case", "brief", "quality"]
    assert "✗ fail 0.10Wordy." in words(page, row=0)
    assert "✓ pass 0.90Good." in words(page, row=0)
    assert titles(differ) == titles(failed) == ["Capital of one?"]


@pytest.mark.starts(4, "a program answers four cases")
def test_targets_have_a_column_each_and_each_answer_leads_to_its_case(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    several = [{"command": ["echo", "short"], "name": "echo"}, {"command": ["cat"], "name": "cat"}]
    cases = [Case(id=name, question=f"Is it {name}?", expected_outcome="x") for name in ("one", "two")]
    replies = [reply(0.9), reply(0.1), reply(0.9), reply(0.9)]
    run = judged(tmp_path, cases, replies, target=several)
    address = f"/runs/{run.id}/results"

    page = parsed(client.get(address))
    differ = parsed(client.get(f"{address}?differ=1"))
    failed = parsed(client.get(f"{address}?verdict=fail&model=cat"))
    none = parsed(client.get(f"{address}?verdict=fail&model=echo"))
    second = parsed(client.get(f"{address}/1"))

    assert [one.text.strip() for one in page.all("th", scope="col")] == ["Case", "echo", "cat"]
    assert titles(page) == ["Is it one?", "Is it two?"]
    assert page.one("p", id="shown").text == "2 cases, 4 answers"
    assert [one.text for one in page.all("span", class_="id")] == ["one", "two"]
    assert {f"{address}/{n}" for n in range(4)} <= {one.attributes["href"] for one in page.all("a")}
    assert titles(differ) == titles(failed) == ["Is it one?"]
    assert failed.one("p", id="shown").text == "1 case matches, 1 answer"
    assert titles(none) == []
    around = {one.text: one.attributes["href"] for one in second.all("a") if one.text in ("echo", "cat", "Next")}
    assert around == {"echo": f"{address}/0", "cat": f"{address}/1", "Next": f"{address}/3"}


def test_cases_that_became_worse_are_shown_alone(client: TestClient, tmp_path: Path, parsed: Parsed) -> None:
    cases = [case("one"), case("two"), case("three")]
    first = judged(tmp_path, cases, [reply(0.9), reply(0.9), reply(0.1)])
    second = judged(tmp_path, cases, [reply(0.9), reply(0.3), reply(0.9)])

    page = parsed(client.get(f"/runs/{second.id}/results?worse=1"))
    alone = client.get(f"/runs/{first.id}/results?worse=1")

    assert titles(page) == ["Capital of two?"]
    assert page.one("input", name="worse", checked="")
    assert not parsed(client.get(f"/runs/{first.id}/results")).all("input", name="worse")
    assert alone.status_code == 409
    assert "no earlier finished run" in alone.text


def test_a_case_shows_the_slices_it_is_in_and_each_leads_to_its_cases(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    languages = ["de", "en", None, "de", "a&b=c d"]
    cases = [case(f"c{n}", metadata={"lang": value}) for n, value in enumerate(languages)]
    run = judged(tmp_path, cases, [reply(0.9)] * 5, slices=["lang"])

    by_run, by_list = (parsed(client.get(f"/runs/{run.id}{rest}")) for rest in ("", "/results?verdict=pass"))

    links = {one.text: one.attributes["href"] for one in by_run.all("a") if "metadata." in one.attributes["href"]}
    shown = {value: titles(parsed(client.get(link))) for value, link in links.items()}
    expected = {"de": ["c0", "c3"], "en": ["c1"], "(none)": ["c2"], "a&b=c d": ["c4"]}
    assert shown == {value: [f"Capital of {name}?" for name in names] for value, names in expected.items()}
    first = by_list.all("a", class_="slice")[0]
    assert (first.text, titles(parsed(client.get(first.attributes["href"])))) == (
        "lang: de",
        ["Capital of c0?", "Capital of c3?"],
    )
    assert "verdict=pass" in first.attributes["href"]


def test_thirty_cases_of_long_texts_are_a_small_page_and_the_others_are_links_away(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    cases = [case(f"case-{n:03}", question=f"{n} {LONG}", candidate_answer=LONG) for n in range(90)]
    run = judged(tmp_path, cases, [reply(0.5, LONG)] * 270, evaluators=[JUDGE, BRIEF, {**JUDGE, "name": "third"}])

    answer = client.get(f"/runs/{run.id}/results?verdict=fail")
    first = parsed(answer)
    last = parsed(client.get(first.one("a", rel="last").attributes["href"]))

    assert len(answer.content) < 60_000
    assert len(titles(first)) == 30
    assert first.one("p", id="shown").text == "90 cases match"
    assert [title.split()[0] for title in titles(last)] == [str(n) for n in range(60, 90)]
    assert last.one("a", rel="first").attributes["href"] == f"/runs/{run.id}/results?verdict=fail"


def test_the_number_of_lines_is_chosen_in_the_address_or_kept_by_the_browser(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    address = f"/runs/{judged(tmp_path, [case('one', candidate_answer=LONG)], [reply(0.5)]).id}/results"

    usual = parsed(client.get(address)).all("p", class_="text")[0].text
    more = parsed(client.get(f"{address}?lines=12")).all("p", class_="text")[0].text
    client.cookies.set("evenhand-lines", "5", path="/runs")
    kept = parsed(client.get(address))

    assert len(usual) < len(kept.all("p", class_="text")[0].text) < len(more)
    assert kept.one("option", selected="").text == "5"


def test_every_count_of_a_run_opens_the_cases_that_it_counts(client: TestClient, address: str, parsed: Parsed) -> None:
    page = parsed(client.get(address.removesuffix("/results")))
    counts = {
        one.attributes["href"]: int(re.findall(r"\d+", one.text)[-1])
        for one in page.all("a")
        if "/results?" in one.attributes["href"] and re.search(r"\d", one.text)
    }

    assert len(counts) >= 5
    assert {link: len(titles(parsed(client.get(link)))) for link in counts} == counts


def test_a_run_that_is_being_planned_says_so(client: TestClient, store: Store, parsed: Parsed) -> None:
    run = store.runs.create(name="soon", source=None, definition={}, options={})

    page = parsed(client.get(f"/runs/{run.id}/results"))
    store.runs.mark(run, RunStatus.RUNNING, cases=1)
    started = parsed(client.get(f"/runs/{run.id}/results"))

    assert "No cases yet" in page.one("main").text
    assert "No results yet" in started.one("main").text


def test_hostile_texts_are_shown_as_text(
    elements: Callable[[str], set[str]], client: TestClient, tmp_path: Path, parsed: Parsed, hostile: list[str]
) -> None:
    usable = [said for said in hostile if "\ud800" not in said]
    cases = [
        case(f"{n} {said}".replace("\0", ""), question=said, candidate_answer=said, metadata={said[:20] or "x": said})
        for n, said in enumerate(usable)
    ]
    evaluators = [{**JUDGE, "name": usable[0]}, {**JUDGE, "name": usable[15]}]
    replies = [reply(0.5, said) for said in usable for _ in evaluators]
    run = judged(tmp_path, cases, replies, evaluators=evaluators, name=usable[0])

    page = parsed(client.get(f"/runs/{run.id}/results?text=%3Cscript"))

    assert {one.name for one in page.elements} <= elements("option select table tbody td th thead tr section")
    assert len(titles(page)) > 20
    assert usable[0] in [one.text for one in page.all("option")]
