"""The table of evaluations: filtered and sorted by its address, and small however many there are."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Scripted, evaluate
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.server.runs import results
from evenhand.store.store import Store, open_store

Parsed = Callable[[Any], Any]

JUDGE = {"type": "llm_judge", "name": "quality"}
LONG = "a text without an end " * 200


def reply(score: float, said: str = "Because.") -> str:
    return json.dumps({"score": score, "hits": [], "misses": [], "reasoning": said})


@pytest.fixture
def address(client: TestClient, tmp_path: Path) -> str:
    """Judge a case of every standing, and give the address of the results."""
    cases = [
        Case(id="passes", question="Capital of France?", candidate_answer="Paris", expected_outcome="x"),
        Case(id="fails", question="Capital of Peru?", candidate_answer="Oslo", expected_outcome="x"),
        Case(id="between", question="Capital of Chad?", candidate_answer="N'Djamena", expected_outcome="x"),
        Case(id="zero", question="Capital of Mali?", candidate_answer="", expected_outcome="x"),
        Case(id="breaks", question="Capital of Laos?", candidate_answer="Vientiane", expected_outcome="x"),
        Case(id="nothing", question="Capital of Togo?", candidate_answer="Lomé"),
    ]
    replies = [reply(0.95), reply(0.2), "again", reply(0.7), reply(0.0), *["no verdict"] * 3]
    run = judged(client, tmp_path, cases, replies)
    return f"/runs/{run.id}/evaluations"


def judged(client: TestClient, tmp_path: Path, cases: list[Case], replies: list[str], **options: Any) -> RunRecord:
    usual: dict[str, Any] = {"evaluators": JUDGE, "name": "capitals", "concurrency": 1}
    judge, store = Scripted(replies), str(tmp_path / "evenhand.db")
    return evaluate(cases, judge=judge, store=store, **(usual | options)).record


def ids(page: Any) -> list[str]:
    return [one.text for one in page.all("a") if re.search(r"/results/\d+$", one.attributes["href"])]


@pytest.mark.parametrize("query", ["", "?sort=score", "?sort=score&descending=1", "?sort=case_id", "?status=scored"])
def test_an_export_does_not_depend_on_how_many_places_are_read_at_once(
    client: TestClient, address: str, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    at_once = client.get(f"{address}/export.csv{query}").text
    monkeypatch.setattr(results, "PLACES_AT_ONCE", 2)

    assert client.get(f"{address}/export.csv{query}").text == at_once
    assert at_once.count("\n") > 4


def test_every_standing_is_told_by_sign_and_word_and_only_a_score_is_a_number(
    client: TestClient, address: str, parsed: Parsed
) -> None:
    page = parsed(client.get(address))

    lines = page.one("tbody").text.splitlines()
    starts = {re.split(r"\d\.\d\d s", line)[0].strip() for line in lines if line.strip()}
    assert starts == {
        "✓ pass0.95passes1",
        "✗ fail0.20fails1",
        "≈ borderline0.70between2",
        "✗ fail0.00zero1",
        "! error–breaks3",
        "– not evaluated–nothing1",
    }
    assert page.one("span", id="shown").text == "6 evaluations"


ALL = ["passes", "fails", "between", "zero", "breaks", "nothing"]
FOUND: dict[str, list[str]] = {
    "verdict=pass": ["passes"],
    "verdict=fail": ["fails", "zero"],
    "verdict=fail&status=error": ["breaks"],
    "status=error": ["breaks"],
    "status=not_evaluated": ["nothing"],
    "has_error=true": ["breaks"],
    "retried=1": ["between", "breaks"],
    "min_score=0.2&max_score=0.7": ["fails", "between"],
    "min_score=0&status=scored": ["passes", "fails", "between", "zero"],
    "text=PERU": ["fails"],
    "text=oslo": ["fails"],
    "evaluator=quality&text=capital": ALL,
    "evaluator=none": [],
    "verdict=&status=&min_score=&max_score=&text=": ALL,
    "status=scored&sort=score": ["zero", "fails", "between", "passes"],
    "status=scored&sort=score&descending=1": ["passes", "between", "fails", "zero"],
    "sort=case_id": ["between", "breaks", "fails", "nothing", "passes", "zero"],
}


def test_the_address_says_which_and_in_which_order(client: TestClient, address: str, parsed: Parsed) -> None:
    pages = {query: parsed(client.get(f"{address}?{query}")) for query in FOUND}

    assert {query: ids(page) for query, page in pages.items()} == FOUND
    assert "No matches" in pages["evaluator=none"].one("main").text


def test_the_form_holds_what_the_address_says(client: TestClient, address: str, parsed: Parsed) -> None:
    page = parsed(
        client.get(f"{address}?verdict=borderline&text=capital&min_score=0.1&retried=1&sort=score&descending=1")
    )

    assert [one.text for one in page.all("option", selected="")] == ["borderline"]
    assert page.value("text") == "capital"
    assert page.value("min_score") == "0.1"
    assert page.one("input", name="retried", checked="")
    assert page.one("th", aria_sort="descending").text == "Score"
    assert page.value("sort") == "score"
    assert page.one("a", id="clear").attributes["href"] == address


def test_an_address_that_makes_no_sense_is_told_so(client: TestClient, address: str) -> None:
    wrong = [
        "verdict=good", "status=none", "sort=colour", "min_score=2", "max_score=x", "min_score=nan", f"text={'x' * 201}",
        "page=0", "page=x",
    ]  # fmt: skip

    answers = [client.get(f"{address}?{query}") for query in wrong]

    assert [one.status_code for one in answers] == [422] * len(wrong)


def test_ninety_rows_of_long_texts_are_a_small_page_and_the_next_is_a_link_away(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    cases = [
        Case(id=f"case-{number:03}", question=LONG, candidate_answer=LONG, expected_outcome=LONG)
        for number in range(60)
    ]
    run = judged(client, tmp_path, cases, [reply(0.5, LONG)] * 120, repeat=2)

    answer = client.get(f"/runs/{run.id}/evaluations?verdict=fail")
    first = parsed(answer)
    second = parsed(client.get(first.one("a", rel="next").attributes["href"]))

    assert len(answer.content) < 40_000
    assert len(ids(first)) == 90
    assert first.one("span", id="shown").text == "120 evaluations match"
    assert ids(second)[0] == "case-045"
    assert first.one("a", rel="last").attributes["href"] == first.one("a", rel="next").attributes["href"]
    assert second.one("a", rel="first").attributes["href"] == f"/runs/{run.id}/evaluations?verdict=fail"
    assert ids(parsed(client.get(f"/runs/{run.id}/evaluations?verdict=fail&page=99"))) == ids(second)
    assert not set(ids(first)) & set(ids(second))


def test_evaluators_and_models_can_be_chosen_where_there_are_several(
    client: TestClient, store: Store, tmp_path: Path, parsed: Parsed
) -> None:
    case = Case(id="one", question="q", candidate_answer="a", expected_outcome="x")
    run = judged(client, tmp_path, [case], [reply(0.9), reply(0.1)], evaluators=[JUDGE, {**JUDGE, "name": "brief"}])

    page = parsed(client.get(f"/runs/{run.id}/evaluations?evaluator=brief"))

    assert [one.text for one in page.all("option") if one.text in ("quality", "brief")] == ["brief", "quality"]
    assert "0.10" in page.one("tbody").text
    assert "0.90" not in page.one("tbody").text


def test_a_large_run_names_the_evaluators_of_its_first_cases_until_it_was_copied(
    client: TestClient, tmp_path: Path, parsed: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "_LARGE", 1)
    cases = [Case(id=name, question="q", candidate_answer="a", expected_outcome="x") for name in ("one", "two")]
    run = judged(client, tmp_path, cases, [reply(0.9), reply(0.1)])
    with contextlib.closing(open_store(str(tmp_path / "evenhand.db"))) as store:
        store.database.execute("UPDATE evaluations SET evaluator = 'late', checksum = NULL WHERE position = 1")
        store.database.execute("UPDATE runs SET covered = 0, checksum = NULL")
    run = replace(run, covered=False)
    found_in = client.app.state.results  # type: ignore[attr-defined]

    at_first = found_in.evaluators(run)
    client.get(f"/runs/{run.id}/evaluations?verdict=pass")  # needs the copy

    assert at_first == ["quality"]
    assert found_in.evaluators(run) == ["late", "quality"]


def headings(page: Any) -> list[str]:
    return [one.text.strip() for one in page.all("th", scope="col")]


def test_the_columns_are_those_that_the_address_names_or_the_browser_keeps(
    client: TestClient, address: str, parsed: Parsed
) -> None:
    usual = parsed(client.get(address))
    chosen = parsed(client.get(f"{address}?column=&column=why&column=cost&sort=cost"))
    none = parsed(client.get(f"{address}?column="))
    client.cookies.set("evenhand-columns", "seconds.nobody", path="/runs")
    kept = parsed(client.get(address))
    told = parsed(client.get(f"{address}?column=hits"))

    always = ["Verdict", "Score", "Case"]
    assert headings(usual) == [*always, "Asked", "Latency", "Hits", "Input", "Output", "Reasoning"]
    assert headings(chosen) == [*always, "Cost", "Reasoning"]
    assert [one.attributes["value"] for one in chosen.all("input", name="column", checked="")] == ["cost", "why"]
    assert chosen.one("th", aria_sort="ascending").text == "Cost"
    assert "column=why&column=cost" in chosen.one("a", data_sort="score").attributes["href"]
    assert headings(none) == always
    assert headings(kept) == [*always, "Latency"]
    assert headings(told) == [*always, "Hits"]
    assert client.get(f"{address}?column=colour").status_code == 422


def test_hits_and_misses_and_what_a_judgment_took_are_told(client: TestClient, tmp_path: Path, parsed: Parsed) -> None:
    said = json.dumps({"score": 0.5, "hits": ["a", "b"], "misses": ["c"], "reasoning": "x"})
    case = Case(id="one", question="q", candidate_answer="a", expected_outcome="x")
    run = judged(client, tmp_path, [case], [said])

    row = parsed(client.get(f"/runs/{run.id}/evaluations?column=hits&column=seconds")).one("tbody").text
    (item,) = client.get(f"/api/runs/{run.id}/evaluations").json()["items"]

    assert re.search(r"\d\.\d\d s2 / 1", row)
    assert (item["hits"], item["misses"]) == (2, 1)


def test_what_the_filter_shows_is_given_as_a_file_in_its_order_and_with_whole_texts(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    cases = [
        Case(
            id=f"=case-{number:03}", question=LONG, candidate_answer=LONG, expected_outcome="x", metadata={"model": "m"}
        )
        for number in range(160)
    ]
    scores = [(number % 3) / 2 for number in range(160) for _ in range(2)]
    run = judged(client, tmp_path, cases, [reply(score) for score in scores], repeat=2)
    query = "verdict=pass&sort=case_id&descending=1"
    page = parsed(client.get(f"/runs/{run.id}/evaluations?{query}&column=why"))

    links = {
        one.attributes["data-export"]: one.attributes["href"] for one in page.all("a") if "download" in one.attributes
    }
    as_csv = client.get(links["csv"])
    lines = [json.loads(line) for line in client.get(links["jsonl"]).text.splitlines()]
    by_rest = client.get(f"/api/runs/{run.id}/evaluations/export?format=jsonl&status=scored&{query}").text
    rows = list(csv.DictReader(io.StringIO(as_csv.text)))

    assert links["csv"] == f"/runs/{run.id}/evaluations/export.csv?{query}"
    assert [one["case_id"] for one in lines[:3]] == ["=case-158", "=case-158", "=case-155"]
    assert len(lines) == len(rows) == page_total(page) == 106
    assert {(one["verdict"], one["model"], one["answer"]) for one in lines} == {("pass", "m", LONG)}
    assert [one["sample"] for one in lines[:4]] == [0, 1, 0, 1]
    assert [json.loads(line) for line in by_rest.splitlines()] == lines
    assert rows[0]["case_id"] == "'=case-158"  # a spreadsheet would run it
    assert as_csv.headers["content-disposition"] == f'attachment; filename="{run.id}-evaluations.csv"'


def page_total(page: Any) -> int:
    return int(page.one("span", id="shown").text.split()[0])


def test_a_file_of_what_is_not_there_is_told_so(client: TestClient, address: str) -> None:
    nothing = client.get(f"{address}/export.csv?evaluator=none")

    assert nothing.text.startswith('"case_id"')
    assert len(nothing.text.splitlines()) == 1
    assert client.get(f"{address}/export.jsonl?evaluator=none").text == ""
    assert client.get(f"{address}/export.xlsx").status_code == 404
    assert client.get(f"{address}/export.csv?min_score=2").status_code == 422
    assert client.get("/api/runs/nobody/evaluations/export").status_code == 404


def test_a_run_that_is_being_planned_says_so(client: TestClient, store: Store, parsed: Parsed) -> None:
    run = store.runs.create(name="soon", source=None, definition={}, options={})

    page = parsed(client.get(f"/runs/{run.id}/evaluations"))
    store.runs.mark(run, RunStatus.RUNNING, cases=1)
    started = parsed(client.get(f"/runs/{run.id}/evaluations"))

    assert "No cases yet" in page.one("main").text
    assert "No evaluations yet" in started.one("main").text


def test_hostile_texts_are_shown_as_text(
    elements: Callable[[str], set[str]], client: TestClient, tmp_path: Path, parsed: Parsed, hostile: list[str]
) -> None:
    usable = [said for said in hostile if "\ud800" not in said]
    cases = [
        Case(id=f"{n} {said}".replace("\0", ""), question=said, candidate_answer=said, expected_outcome=said)
        for n, said in enumerate(usable)
    ]
    evaluators = [{**JUDGE, "name": usable[0]}, {**JUDGE, "name": usable[15]}]
    replies = [reply(0.5, said) for said in usable for _ in evaluators]
    run = judged(client, tmp_path, cases, replies, evaluators=evaluators, name=usable[0])

    page = parsed(client.get(f"/runs/{run.id}/evaluations?text=%3Cscript"))

    assert {one.name for one in page.elements} <= elements(
        "details fieldset legend option section select summary table tbody td th thead tr"
    )
    assert len(ids(page)) > 20
    assert usable[0] in [one.text for one in page.all("option")]
    for ending in ("csv", "jsonl"):
        file = client.get(f"/runs/{run.id}/evaluations/export.{ending}")
        assert file.headers["content-type"].startswith(("text/csv", "application/jsonl"))
        assert file.headers["content-disposition"].startswith("attachment")
        assert file.headers["x-content-type-options"] == "nosniff"
        assert len(file.text.splitlines()) >= len(usable) * 2


def test_the_table_and_the_api_are_filtered_by_label(client: TestClient, tmp_path: Path, parsed: Parsed) -> None:
    cases = [Case(id=name, candidate_answer="a", expected_outcome="x") for name in ("one", "two")]
    evaluators = {"type": "llm_judge", "name": "grade", "choices": {"right": 1, "wrong": 0}}
    replies = ['{"label": "right"}', '{"label": "wrong"}']
    run = judged(client, tmp_path, cases, replies, evaluators=evaluators)

    page = parsed(client.get(f"/runs/{run.id}/evaluations?label=wrong"))
    found = client.get(f"/api/runs/{run.id}/evaluations?label=wrong").json()["items"]

    assert ids(page) == ["two"]
    assert [one.attributes["value"] for one in page.all("option", selected="")] == ["wrong"]
    assert [(row["case_id"], row["label"]) for row in found] == [("two", "wrong")]
    assert client.get(f"/api/runs/{run.id}/evaluations").json()["items"][0]["label"] == "right"
    assert "selected>wrong" not in client.get(f"/runs/{run.id}/evaluations").text


def in_languages(client: TestClient, tmp_path: Path, languages: list[Any]) -> RunRecord:
    cases = [
        Case(id=f"c{n}", candidate_answer="a", expected_outcome="x", metadata={"lang": value})
        for n, value in enumerate(languages)
    ]
    return judged(client, tmp_path, cases, [reply(0.9)] * len(cases), slices=["lang"])


def test_the_table_the_api_and_files_are_filtered_by_metadata(
    client: TestClient, tmp_path: Path, parsed: Parsed
) -> None:
    run = in_languages(client, tmp_path, ["de", "en", None, "de", "<b>&"])

    def listed(query: str) -> list[list[str]]:
        page = ids(parsed(client.get(f"/runs/{run.id}/evaluations?{query}")))
        items = client.get(f"/api/runs/{run.id}/evaluations?{query}").json()["items"]
        file = client.get(f"/runs/{run.id}/evaluations/export.jsonl?{query}").text.splitlines()
        return [page, [row["case_id"] for row in items], [json.loads(line)["case_id"] for line in file]]

    assert listed("metadata.lang=de") == [["c0", "c3"]] * 3
    assert listed("metadata.lang=(none)") == [["c2"]] * 3
    assert listed("metadata.lang=%3Cb%3E%26") == [["c4"]] * 3
    assert listed("metadata.lang=de&metadata.lang=en&sort=score&descending=1") == [["c0", "c1", "c3"]] * 3
    assert listed("metadata.lang=de&metadata.topic=tea") == [[]] * 3


def test_pages_of_a_list_keep_the_filter_by_metadata(client: TestClient, tmp_path: Path) -> None:
    run = in_languages(client, tmp_path, ["de", "en"] * 3)
    address, found, cursor = f"/api/runs/{run.id}/evaluations?metadata.lang=de&limit=1", [], ""

    while cursor is not None:
        page = client.get(address + (f"&cursor={cursor}" if cursor else "")).json()
        assert page["total"] == 3
        found += [row["case_id"] for row in page["items"]]
        cursor = page["next"]

    assert found == ["c0", "c2", "c4"]


def test_the_next_page_and_the_files_of_the_table_keep_the_filter_by_metadata(
    client: TestClient, tmp_path: Path, parsed: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.server.pages.evaluations.ON_A_PAGE", 1)
    run = in_languages(client, tmp_path, ["de", "en", "de"])

    page = parsed(client.get(f"/runs/{run.id}/evaluations?metadata.lang=de"))
    following = parsed(client.get(page.one("a", rel="next").attributes["href"]))

    assert (ids(page), ids(following)) == (["c0"], ["c2"])
    assert all(
        "metadata.lang=de" in one.attributes["href"] for one in page.all("a") if "export." in one.attributes["href"]
    )
    assert page.one("input", name="metadata.lang").attributes["value"] == "de"


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("metadata.=de", "name a key"),
        ("metadata.lang=", "for the cases without a value, write metadata.lang=(none)"),
        (f"metadata.lang={'x' * 1001}", "at most 1,000 characters"),
        ("&".join(f"metadata.k{n}=x" for n in range(6)), "at most 5 keys"),
        ("&".join(f"metadata.k={n}" for n in range(51)), "at most 50 values"),
    ],
)
def test_a_filter_by_metadata_that_cannot_be_meant_is_refused(
    client: TestClient, tmp_path: Path, query: str, why: str
) -> None:
    run = in_languages(client, tmp_path, ["de"])

    refused = client.get(f"/api/runs/{run.id}/evaluations?{query}")

    assert refused.status_code == 422
    assert why in refused.text
