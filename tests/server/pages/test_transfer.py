"""The page for import and export."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand.domain.prompt import EvaluationMode, PromptText, TestCaseText
from evenhand.store.store import Store
from evenhand.workspace.documents import export_document

Post = Callable[..., Any]
Parsed = Callable[[Any], Any]
TOKEN = "a-token-of-the-tests"


def document(*names: str) -> str:
    prompts = [
        {"name": name, "evaluation_mode": "schema", "test_cases": [{"input": "a", "evaluation_schema": {}}]}
        for name in names
    ]
    return json.dumps({"prompts": prompts})


def test_an_export_has_all_prompts_or_those_that_were_chosen(client: TestClient, store: Store, parsed: Parsed) -> None:
    one = store.prompts.create(PromptText(name="one", evaluation_criteria="c"))
    store.prompts.create(PromptText(name="two", evaluation_mode=EvaluationMode.SCHEMA))
    store.prompts.add_cases(one.id, [TestCaseText(input="a", evaluation_schema="{}")])

    everything = client.get("/io/export")
    chosen = client.get(f"/io/export?prompt={one.id}")
    boxes = parsed(client.get("/io")).all("input", type="checkbox", name="prompt")

    assert everything.headers["content-disposition"].startswith("attachment;")
    assert json.loads(everything.text) == export_document(store)
    (told,) = json.loads(chosen.text)["prompts"]
    assert (told["evaluation_mode"], told["evaluation_criteria"]) == ("llm", "c")
    assert told["test_cases"][0]["evaluation_schema"] == "{}"
    assert len(boxes) == 2


def test_a_prompt_that_is_gone_when_it_is_exported_is_told_by_a_page(client: TestClient) -> None:
    response = client.get("/io/export?prompt=p-gone")

    assert response.status_code == 404
    assert response.headers["content-type"].startswith("text/html")


def test_with_nothing_to_export_the_page_says_so(client: TestClient, parsed: Parsed) -> None:
    page = parsed(client.get("/io"))

    assert "no prompts to export" in page.one("main").text


def test_a_check_says_what_an_import_would_do_and_does_not_do_it(store: Store, post: Post, parsed: Parsed) -> None:
    store.prompts.create(PromptText(name="there"))
    written = document("there", "new <b>")

    response = post("/io", document=written, action="check")

    page = parsed(response)
    told = page.one("div", role="status").text
    assert response.status_code == 200
    assert "nothing has been changed yet" in told
    assert [one.text for one in page.all("li") if one.text in ("new <b>", "there")] == ["new <b>", "there"]
    assert page.value("document") == written
    assert [one.name for one in store.prompts.all()] == ["there"]


def test_an_import_leads_to_a_page_that_tells_what_it_did(
    client: TestClient, store: Store, post: Post, parsed: Parsed
) -> None:
    store.prompts.create(PromptText(name="there"))

    response = post("/io", document=document("there", "new"), action="import")

    assert response.status_code == 303
    page = parsed(client.get(response.headers["location"]))
    assert "Imported." in page.one("div", role="status").text
    assert "Skipped" in page.one("div", role="status").text
    assert [one.name for one in store.prompts.all()] == ["new", "there"]
    (case,) = store.prompts.cases(store.prompts.find("new").id)
    assert case.text.evaluation_schema == "{}"


def test_updates_are_shown_as_differences_before_they_are_made(
    client: TestClient, store: Store, post: Post, parsed: Parsed
) -> None:
    there = store.prompts.create(PromptText(name="there", content="Be kind.\nBe brief."))
    written = json.dumps({"prompts": [{"name": "there", "content": "Be kind.\nBe exact."}]})

    asked = post("/io", document=written, action="import", update="1")
    page = parsed(asked)
    between = store.prompts.find(there.id).latest
    done = post("/io", document=written, action="import", update="1", seen=page.value("seen"))

    told = page.one("div", role="status").text
    assert "nothing has been changed yet" in told
    assert "there: version 1 to 2" in told
    assert "removed: Be brief." in told
    assert "added: Be exact." in told
    assert "checked" in page.one("input", name="update").attributes
    assert (between, done.status_code) == (1, 303)
    assert "Imported." in parsed(client.get(done.headers["location"])).one("div", role="status").text
    assert store.prompts.find(there.id).text.content == "Be kind.\nBe exact."


def test_what_changed_since_it_was_shown_is_shown_again(store: Store, post: Post, parsed: Parsed) -> None:
    there = store.prompts.create(PromptText(name="there", content="Mine."))
    written = json.dumps({"prompts": [{"name": "there", "content": "New."}]})
    seen = parsed(post("/io", document=written, action="check", update="1")).value("seen")
    store.prompts.edit(there.id, PromptText(name="there", content="Theirs."), seen=1)

    response = post("/io", document=written, action="import", update="1", seen=seen)

    assert response.status_code == 409
    assert "has changed since it was shown" in parsed(response).one("div", role="alert").text
    assert "removed: Theirs." in parsed(response).one("div", role="status").text
    assert store.prompts.find(there.id).text.content == "Theirs."


def test_a_file_is_imported(client: TestClient, store: Store) -> None:
    file = ("prompts.json", b"\xef\xbb\xbf" + document("from a file").encode(), "application/json")

    response = client.post("/io", data={"token": TOKEN, "action": "import", "document": ""}, files={"file": file})

    assert response.status_code == 303
    assert [one.name for one in store.prompts.all()] == ["from a file"]


def test_a_long_document_is_pasted(client: TestClient, store: Store) -> None:
    content = json.dumps({"prompts": [{"name": "long", "content": "x" * 3_000_000}]})

    response = client.post(
        "/io", data={"token": TOKEN, "action": "import", "document": content}, files={"file": ("", b"")}
    )

    assert response.status_code == 303
    assert [one.name for one in store.prompts.all()] == ["long"]


def test_a_long_file_is_checked_and_asked_for_again(client: TestClient, store: Store, parsed: Parsed) -> None:
    content = json.dumps({"prompts": [{"name": "long", "content": "x" * 3_000_000}]}).encode()

    response = client.post("/io", data={"token": TOKEN, "action": "check"}, files={"file": ("p.json", content)})

    assert response.status_code == 200
    assert "choose the file again" in parsed(response).one("div", role="status").text
    assert parsed(response).value("document") == ""
    assert store.prompts.all() == []


def test_what_is_wrong_names_the_record_and_nothing_is_imported(store: Store, post: Post, parsed: Parsed) -> None:
    good = {"name": "good"}
    wrong = {
        "there is nothing": "",
        "not JSON at line 2": '{"prompts":\n]}',
        "a list": '{"prompts": 1}',
        "prompt 2: name": json.dumps({"prompts": [good, {"content": "x"}]}),
        "prompt 2 ('bad <b>'), test case 2: evaluation_schema": json.dumps(
            {
                "prompts": [
                    good,
                    {
                        "name": "bad <b>",
                        "test_cases": [{"input": "a"}, {"input": "b", "evaluation_schema": '{"type": 1}'}],
                    },
                ]
            }
        ),
    }

    for said, written in wrong.items():
        response = post("/io", document=written, action="import")
        page = parsed(response)
        assert response.status_code == 422
        assert said in page.one("div", role="alert").text
        assert page.value("document") == written
    assert store.prompts.all() == []


def test_a_file_that_is_no_text_is_told(client: TestClient, parsed: Parsed) -> None:
    response = client.post("/io", data={"token": TOKEN}, files={"file": ("p.json", b'{"a": "\xff"}')})

    assert response.status_code == 422
    assert "byte 8" in parsed(response).one("div", role="alert").text


def test_nothing_is_imported_without_the_token(client: TestClient, store: Store) -> None:
    response = client.post("/io", data={"document": document("a"), "action": "import"})

    assert response.status_code == 401
    assert store.prompts.all() == []


def test_hostile_names_are_shown_as_they_are(store: Store, post: Post, parsed: Parsed, hostile: list[str]) -> None:
    names = [f"{number} {text[:100]}" for number, text in enumerate(hostile) if text[:100].isprintable()]

    page = parsed(post("/io", document=document(*names), action="check"))

    assert [one.text for one in page.all("li") if one.text in names] == names


def many(count: int, **last: Any) -> bytes:
    cases: list[dict[str, Any]] = [{"input": f"Question {number}?"} for number in range(count)]
    return json.dumps({"prompts": [{"name": "many", "test_cases": [*cases, {"input": "last"} | last]}]}).encode()


@pytest.fixture
def send(client: TestClient, parsed: Parsed) -> Callable[[bytes, str], tuple[list[str], Any]]:
    """Send a file, and give what the pages said until it was done, with the last one."""

    def sent(content: bytes, action: str) -> tuple[list[str], Any]:
        answer = client.post("/io", data={"token": TOKEN, "action": action}, files={"file": ("p.json", content)})
        assert answer.status_code == 303
        said: list[str] = []
        while True:
            page = parsed(client.get(answer.headers["location"]))
            said.append(page.one("main").text)
            if not page.all("progress"):
                return said, page
            assert page.one("meta", **{"http-equiv": "refresh"}).attributes["content"] == "1"

    return sent


def test_a_large_import_goes_on_in_the_background_and_shows_its_progress(store: Store, send: Any) -> None:
    checked, _ = send(many(5_500), "check")
    before = store.prompts.all()
    said, page = send(many(5_500), "import")

    assert "nothing has been changed yet" in checked[-1]
    assert "choose the file again" in checked[-1]
    assert before == []
    assert "Import in progress" in said[0]
    assert "Imported." in page.one("div", role="status").text
    assert store.prompts.find("many").test_cases == 5_501


def test_a_large_import_with_a_mistake_imports_nothing_and_names_it(store: Store, send: Any) -> None:
    _, page = send(many(5_000, wrong=1), "import")

    told = page.one("div", role="alert").text
    assert "Nothing was imported." in told
    assert "test case 5001: wrong" in told
    assert store.prompts.all() == []


@pytest.fixture
def many_prompts(store: Store) -> list[str]:
    """230 prompts by name, as their ids; what all but the first 100 say is damaged, so that no page may read it."""
    ids = store.atomically(
        lambda: [store.prompts.create(PromptText(name=f"Prompt {number:03}")).id for number in range(230)]
    )
    store.database.execute("UPDATE prompt_versions SET content = 'damaged' WHERE name > 'Prompt 099'")
    return ids


@pytest.mark.parametrize("address", ["/io", "/runs/new", "/prompts"])
@pytest.mark.usefixtures("many_prompts")
def test_of_many_prompts_a_page_reads_and_shows_its_own(client: TestClient, parsed: Parsed, address: str) -> None:
    first = parsed(client.get(address))
    found = parsed(client.get(f"{address}?q=PROMPT+02"))
    beyond = client.get(f"{address}?start=100")

    assert "Prompt 000" in first.one("main").text
    assert "1 to 100 of 230" in first.one("main").text
    assert "Prompt 100" not in first.one("main").text
    assert [row.text.split()[1][:3] for row in found.all("tr")[1:]] == [f"02{digit}" for digit in range(10)]
    assert beyond.status_code == 500
    assert "is damaged" in beyond.text
    assert "No matching prompts" in client.get(f"{address}?q=nobody").text


def test_the_prompts_to_run_go_on_from_page_to_page(
    client: TestClient, store: Store, many_prompts: list[str], parsed: Parsed
) -> None:
    store.database.execute("UPDATE prompt_versions SET content = ''")
    where, seen = "/runs/new", list[str]()

    while where:
        page = parsed(client.get(where))
        hrefs = [one.attributes.get("href", "") for one in page.all("a")]
        seen += [href.removeprefix("/runs/new?prompt=") for href in hrefs if href.startswith("/runs/new?prompt=")]
        where = next((one.attributes["href"] for one in page.all("a", rel="next")), "")

    assert seen == many_prompts


def pressed(client: TestClient, page: Any, button: str, *also: str) -> Any:
    """Press a button of the form of the export, with some more prompts ticked, as a browser without scripts does."""
    (one,) = [each for each in page.all("button") if each.text == button]
    boxes = [box.attributes for box in page.all("input", type="checkbox", name="prompt")]
    ticked = [box["value"] for box in boxes if "checked" in box or box["value"] in also]
    fields = {"q": page.one("input", name="q").attributes["value"], "prompt": ticked}
    if "name" in one.attributes:
        fields[one.attributes["name"]] = one.attributes["value"]
    return client.get(one.attributes.get("formaction", "/io/export"), params=fields)


def test_prompts_that_were_selected_stay_so_from_page_to_page_and_through_a_search(
    client: TestClient, store: Store, many_prompts: list[str], parsed: Parsed
) -> None:
    store.database.execute("UPDATE prompt_versions SET content = '', checksum = NULL")
    ids = many_prompts

    second = parsed(pressed(client, parsed(client.get("/io")), "Next", ids[3], ids[5]))
    back = parsed(pressed(client, second, "Previous", ids[120]))
    searched = parsed(pressed(client, parsed(client.get(f"/io?q=22&prompt={ids[3]}")), "Filter", ids[221]))
    everything = parsed(pressed(client, searched, "Show all"))
    exported = pressed(client, back, "Export selected", ids[7])

    names = {prompt["name"] for prompt in json.loads(exported.text)["prompts"]}
    assert names == {"Prompt 003", "Prompt 005", "Prompt 007", "Prompt 120"}
    assert second.one("fieldset").text.split() == [
        "Selected",
        "on",
        "another",
        "page",
        "Prompt",
        "003",
        "Prompt",
        "005",
    ]
    assert back.one("fieldset").text.endswith("Prompt 120")
    assert "Prompt 003" in searched.one("fieldset").text
    assert "1 to 100 of 230" in everything.one("main").text
    assert "Prompt 221" in everything.one("fieldset").text


def test_more_selected_prompts_than_an_address_takes_are_refused(client: TestClient) -> None:
    response = client.get("/io", params={"prompt": [f"p-{number}" for number in range(301)]})

    assert response.status_code == 422
    assert "301 prompts are selected, and at most 300 can be kept from page to page" in response.text
