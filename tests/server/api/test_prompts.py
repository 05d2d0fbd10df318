"""Prompts and test cases over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient


def problem(answer: Any) -> tuple[int, str | None]:
    """Return the status of a problem, and the field that it names."""
    told = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert told["status"] == answer.status_code
    return answer.status_code, told["errors"][0]["field"] if "errors" in told else None


def test_a_prompt_is_created_found_edited_and_deleted(client: TestClient) -> None:
    made = client.post("/api/prompts", json={"name": "p", "content": "Be terse."})
    key = made.json()["id"]
    edited = client.put(f"/api/prompts/{key}", json={"name": "p", "content": "Be kind.", "version": 1})
    versions = client.get(f"/api/prompts/{key}/versions").json()["items"]
    first = client.get(f"/api/prompts/{key}/versions/1").json()
    by_name = client.get("/api/prompts/p").json()
    gone = client.delete(f"/api/prompts/{key}")

    assert (made.status_code, edited.status_code, gone.status_code) == (201, 200, 204)
    assert (edited.json()["version"], edited.json()["content"]) == (2, "Be kind.")
    assert [one["version"] for one in versions] == [2, 1]
    assert first["content"] == "Be terse."
    assert by_name["id"] == key
    assert client.get("/api/prompts").json() == {"items": [], "total": 0, "next": None}
    assert problem(client.get(f"/api/prompts/{key}")) == (404, None)


def test_names_may_be_written_as_javascript_does(client: TestClient) -> None:
    made = client.post("/api/prompts", json={"name": "p", "evaluationMode": "schema", "evaluationCriteria": "Kind"})

    assert (made.json()["evaluation_mode"], made.json()["evaluation_criteria"]) == ("schema", "Kind")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "name"),
    ({"name": ""}, "name"),
    ({"name": "x" * 300}, "name"),
    ({"name": "p", "colour": "red"}, "colour"),
    ({"name": "p", "evaluation_mode": "vibes"}, "evaluation_mode"),
    ({"name": "p", "evaluation_mode": "llm", "evaluationMode": "llm"}, "evaluationMode"),
    ({"name": "p", "expected_schema": "{"}, "expected_schema"),
    ({"name": "p", "content": "a\0b"}, "content"),
]


def test_null_is_the_same_as_absent(client: TestClient) -> None:
    empty = {"content": None, "evaluationMode": None, "evaluationCriteria": None, "expectedSchema": None}

    made = client.post("/api/prompts", json={"name": "null"} | empty).json()
    absent = client.post("/api/prompts", json={"name": "absent"}).json()

    own = ("id", "name", "created", "edited")
    assert {name: made[name] for name in made if name not in own} == {
        name: absent[name] for name in absent if name not in own
    }


def test_what_is_wrong_is_named_by_its_field(client: TestClient) -> None:
    for body, field in WRONG:
        assert problem(client.post("/api/prompts", json=body)) == (422, field)


def test_all_that_is_wrong_is_told_at_once(client: TestClient) -> None:
    told = client.post("/api/prompts", json={"name": 1, "content": 2, "colour": 3}).json()["errors"]

    assert [one["field"] for one in told] == ["name", "content", "colour"]


def test_who_edits_an_older_version_is_told(client: TestClient) -> None:
    key = client.post("/api/prompts", json={"name": "p"}).json()["id"]
    client.put(f"/api/prompts/{key}", json={"name": "p", "content": "a", "version": 1})

    assert problem(client.put(f"/api/prompts/{key}", json={"name": "p", "content": "b", "version": 1})) == (409, None)
    assert problem(client.put(f"/api/prompts/{key}", json={"name": "p"})) == (422, "version")
    assert problem(client.post("/api/prompts", json={"name": "p"})) == (409, None)


def test_test_cases_are_listed_page_by_page(client: TestClient, prompt: str) -> None:
    path = f"/api/prompts/{prompt}/test-cases"

    first = client.get(path, params={"limit": 2}).json()
    second = client.get(path, params={"limit": 2, "cursor": first["next"]}).json()

    assert [one["input"] for one in first["items"] + second["items"]] == [
        f"Capital of {country}?" for country in ("France", "Spain", "Italy")
    ]
    assert (first["total"], second["next"]) == (3, None)
    for wrong in ("x", "WzFd!", "eyJhIjoxfQ", "Wy0xXQ", "WzFlOTldXQ"):
        assert problem(client.get(path, params={"cursor": wrong})) == (422, "cursor")
    assert problem(client.get(path, params={"limit": 501})) == (422, "limit")


def test_a_test_case_is_edited_and_deleted_where_it_belongs(client: TestClient, prompt: str) -> None:
    other = client.post("/api/prompts", json={"name": "other"}).json()["id"]
    key = client.get(f"/api/prompts/{prompt}/test-cases").json()["items"][0]["id"]
    path = f"/api/prompts/{prompt}/test-cases/{key}"

    edited = client.put(path, json={"input": "Hm?", "evaluationSchema": {"type": "object"}, "version": 1})
    again = client.put(path, json={"input": "Hm??", "version": 1})
    elsewhere = client.delete(f"/api/prompts/{other}/test-cases/{key}")
    gone = client.delete(path)

    assert edited.json()["version"] == 2
    assert edited.json()["evaluation_schema"] == '{\n  "type": "object"\n}'
    assert problem(again) == (409, None)
    assert problem(elsewhere) == (404, None)
    assert gone.status_code == 204
    assert problem(client.get(path)) == (404, None)
    assert problem(client.post(f"/api/prompts/{prompt}/test-cases", json={"input": " "})) == (422, "input")


def test_test_cases_are_added_from_a_text_after_a_look_at_it(client: TestClient, prompt: str) -> None:
    address = f"/api/prompts/{prompt}/test-cases/import"
    body = {"text": "query,ideal,topic\nCapital of Peru?,Lima,geo\nCapital of Italy?,,geo\n"}

    looked = client.post(f"{address}?dry_run=true", json=body)
    between = client.get(f"/api/prompts/{prompt}/test-cases").json()["total"]
    added = [client.post(address, json=body, headers={"idempotency-key": "k"}) for _ in range(2)]

    told = looked.json()
    assert told["columns"][0] == {"name": "query", "field": "input", "example": "Capital of Peru?"}
    assert [one["field"] for one in told["columns"]] == ["input", "reference", None]
    assert (told["new"], told["duplicates"], told["dry_run"], between) == (1, 1, True, 3)
    assert told["test_cases"] == [
        {"line": 2, "input": "Capital of Peru?", "reference": "Lima", "evaluation_schema": None}
    ]
    assert added[0].json() == told | {"dry_run": False} == added[1].json()
    assert client.get(f"/api/prompts/{prompt}/test-cases").json()["total"] == 4


def test_a_text_with_mistakes_adds_nothing_unless_their_rows_are_to_be_left_out(
    client: TestClient, prompt: str
) -> None:
    address = f"/api/prompts/{prompt}/test-cases/import"
    body = {"text": '{"q": "a"}\n{"q": ""}\n', "columns": {"input": "q"}}

    refused = client.post(address, json=body)
    added = client.post(address, json=body | {"skipMistakes": True}).json()
    wrong = client.post(address, json=body | {"columns": {"input": "p"}})

    assert refused.status_code == 422
    assert "line 2: input, from 'q': it is empty" in refused.json()["detail"]
    assert (added["new"], added["mistakes"]) == (1, 1)
    assert problem(wrong) == (422, "columns")
    assert problem(client.post("/api/prompts/p-gone/test-cases/import", json=body)) == (404, None)


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("text/csv", "\ufeffq,ideal\nCapital of Peru?,Lima\n,\n"),
        ("Text/CSV; charset=utf-8; header=present", "q,ideal\nCapital of Peru?,Lima\n,x\n"),
        ("text/tab-separated-values", "q\tideal\nCapital of Peru?\tLima\n\tx\n"),
        ("application/x-ndjson", '{"q": "Capital of Peru?", "ideal": "Lima"}\n{"q": "", "ideal": "x"}\n'),
    ],
)
def test_a_table_is_sent_as_it_is(client: TestClient, prompt: str, kind: str, table: str) -> None:
    address = f"/api/prompts/{prompt}/test-cases/import"
    asked = {"column": ["input=q", "reference=ideal"], "skip_mistakes": "true"}

    def send(**more: Any) -> Any:
        return client.post(address, content=table.encode(), headers={"content-type": kind}, params=asked | more)

    looked, added = send(dry_run="true").json(), send().json()

    cases = client.get(f"/api/prompts/{prompt}/test-cases").json()["items"]
    assert [field["field"] for field in looked["columns"]] == ["input", "reference"]
    assert (looked["new"], looked["dry_run"]) == (1, True)
    assert added == looked | {"dry_run": False}
    assert (cases[-1]["input"], cases[-1]["reference"], len(cases)) == ("Capital of Peru?", "Lima", 4)


def test_what_is_wrong_with_a_table_is_told(client: TestClient, prompt: str) -> None:
    address = f"/api/prompts/{prompt}/test-cases/import"

    def send(kind: str, table: bytes, query: str = "") -> Any:
        return client.post(f"{address}?{query}", content=table, headers={"content-type": kind})

    other = send("text/plain", b"q\na\n")
    json_and_query = client.post(f"{address}?column=input=q", json={"text": "q\na\n", "columns": {"input": "q"}})

    assert other.status_code == 415
    assert (
        "application/json or text/csv or text/tab-separated-values or application/x-ndjson, not 'text/plain'"
        in (other.json()["detail"])
    )
    assert "byte 3 is invalid" in send("text/csv", b"q\n\xff\n").json()["detail"]
    assert problem(send("text/csv", b"q\na\n", "column=input")) == (422, "column")
    assert problem(send("text/csv", b"q\na\n", "column=input=p")) == (422, "columns")
    assert problem(json_and_query) == (422, "column")
    assert send("text/csv", b"").status_code == 422
    assert client.get(f"/api/prompts/{prompt}/test-cases").json()["total"] == 3


def test_what_is_exported_is_imported_elsewhere_all_or_none(client: TestClient, prompt: str) -> None:
    document = client.get("/api/export").json()
    only = client.get("/api/export", params={"prompt": prompt}).json()
    client.delete(f"/api/prompts/{prompt}")
    tried = client.post("/api/import?dry_run=true", json=document).json()
    wrong = client.post("/api/import", json={"prompts": [*document["prompts"], {"nam": "x"}]})
    taken = client.post("/api/import", json=document).json()
    again = client.post("/api/import", json={"formatVersion": 1, "prompts": document["prompts"]}).json()

    assert document == only
    assert tried == {"created": ["capitals"], "updated": [], "skipped": [], "test_cases": 3, "dry_run": True}
    assert problem(wrong) == (422, None)
    assert taken["created"] == ["capitals"]
    assert (again["created"], again["skipped"]) == ([], ["capitals"])
    assert client.get("/api/prompts/capitals").json()["test_cases"] == 3
    assert client.get("/api/export?prompt=nobody").status_code == 404


def test_an_import_updates_what_is_there_where_it_is_asked_to(client: TestClient, prompt: str) -> None:
    document = {
        "prompts": [{"name": "capitals", "content": "Be brief.", "test_cases": [{"input": "Capital of Peru?"}]}]
    }

    looked = client.post("/api/import?update=true&dry_run=true", json=document).json()
    done = [client.post("/api/import?update=true", json=document, headers={"idempotency-key": "u"}) for _ in range(2)]
    found = client.get(f"/api/prompts/{prompt}").json()

    assert looked["updated"][0]["changes"] == [
        {"field": "content", "from": "", "to": "Be brief."},
        {"field": "evaluation_criteria", "from": "Names the city", "to": None},
    ]
    assert looked["updated"][0]["version"] == 1
    assert done[0].json() == looked | {"dry_run": False} == done[1].json()
    assert (found["version"], found["content"], found["test_cases"]) == (2, "Be brief.", 4)


def test_times_are_written_as_everywhere(client: TestClient, prompt: str) -> None:
    (case, *_) = client.get(f"/api/prompts/{prompt}/test-cases").json()["items"]
    found = client.get(f"/api/prompts/{prompt}").json()

    for told in (found["created"], found["edited"], case["created"], case["edited"]):
        assert abs(datetime.fromisoformat(told) - datetime.now(UTC)) < timedelta(minutes=5)
        assert told.endswith("Z")


def test_a_schema_and_an_output_are_looked_at(client: TestClient) -> None:
    def looked(**body: Any) -> Any:
        return client.post("/api/check-schema", json=body).json()

    priced = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
    wrong_text, wrong_schema = looked(schema='{\n"type": }'), looked(schema='{"type": "objct"}')
    fine, bad = looked(schema=priced, output='{"price": 1}'), looked(schema=priced, output='{"price": "x"}')
    no_json, none = looked(schema=priced, output="Price: 1"), looked(schema=" ")
    listed = looked(schema='{"type": "array"}'), looked(schema='{"type": "array"}', purpose="generate")

    assert [one["is_schema"] for one in listed] == [True, False]
    assert "must be one of an object" in listed[1]["schema_errors"][0]["message"]
    assert (wrong_text["is_schema"], wrong_text["schema_errors"][0]["line"]) == (False, 2)
    assert wrong_schema["schema_errors"][0]["path"] == "$.type"
    assert (fine["is_valid"], fine["output_errors"]) == (True, [])
    assert (bad["is_valid"], bad["output_errors"][0]["path"]) == (False, "$.price")
    assert (no_json["is_valid"], no_json["output_errors"][0]["line"]) == (False, 1)
    assert none == {"is_schema": False, "is_valid": None, "schema_errors": [], "output_errors": []}


def test_an_import_that_is_not_waited_for_has_its_progress_and_its_result(client: TestClient) -> None:
    cases = [{"input": f"{number}?"} for number in range(3_000)]
    document = {"prompts": [{"name": "many", "test_cases": cases}]}
    started = client.post("/api/import", json=document, headers={"prefer": "respond-async", "idempotency-key": "k"})
    again = client.post("/api/import", json=document, headers={"prefer": "respond-async", "idempotency-key": "k"})

    def ended(address: str) -> Any:
        while (found := client.get(address).json())["status"] in ("waiting", "running"):
            assert 0 <= found["done"] <= 3_000
        return found

    assert (started.status_code, started.headers["preference-applied"]) == (202, "respond-async")
    first, second = ended(started.headers["location"]), ended(again.headers["location"])
    assert first["result"] == {"created": ["many"], "updated": [], "skipped": [], "test_cases": 3_000, "dry_run": False}
    assert second["result"] == first["result"]
    assert (first["stage"], first["done"], first["total"], first["problem"]) == ("storing", 3_000, 3_000, None)
    wrong = {"prompts": [{"name": "other", "wrong": 1}]}
    failed = ended(client.post("/api/import", json=wrong, headers={"prefer": "respond-async"}).headers["location"])
    assert (failed["status"], failed["result"], failed["problem"]["status"]) == ("failed", None, 422)
    assert client.get("/api/imports/nobody").status_code == 404
    assert [one["name"] for one in client.get("/api/prompts").json()["items"]] == ["many"]


def test_prompts_are_listed_page_by_page(client: TestClient) -> None:
    names = [f"p{number:03}" for number in range(250)]
    client.post("/api/import", json={"prompts": [{"name": name} for name in names]})

    pages: list[Any] = []
    cursor = ""
    while not pages or cursor:
        pages.append(client.get(f"/api/prompts?limit=120{f'&cursor={cursor}' if cursor else ''}").json())
        cursor = pages[-1]["next"]

    assert [len(page["items"]) for page in pages] == [120, 120, 10]
    assert [prompt["name"] for page in pages for prompt in page["items"]] == names
    assert {page["total"] for page in pages} == {250}
    assert len(client.get("/api/prompts").json()["items"]) == 100
    wrong = [client.get(f"/api/prompts?{query}") for query in ("limit=0", "limit=501", "cursor=x")]
    assert [answer.status_code for answer in wrong] == [422] * 3
