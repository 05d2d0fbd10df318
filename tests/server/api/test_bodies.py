"""What is too large, too deep or too strange is refused quickly, and opens no file (REL-W5, W7)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

MEGABYTE = 1024 * 1024

_watching: list[list[str]] = []


def _note_files(event: str, args: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir"):
        for opened in _watching:
            opened.append(str(args[0]))


sys.addaudithook(_note_files)


@contextlib.contextmanager
def files_opened() -> Iterator[list[str]]:
    """Return the files that are opened inside, by whatever thread."""
    found: list[str] = []
    _watching.append(found)
    try:
        yield found
    finally:
        _watching.remove(found)


IDS = [
    "..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..\\..\\etc\\passwd", "%5c%5cserver%5cshare",
    "a%00b", "%00", "C:%5cWindows", "C:", "file:%2f%2f%2fetc%2fpasswd", "%2fetc%2fpasswd", "~", "~root", "x" * 5000, "%25",
    "%f0%9f%92%a9", "%ff%fe", "*", "%", "'%20OR%201=1--", "..;", "con", "nul.txt", "$(id)", "{{7*7}}", "%0d%0aset-cookie:a=b",
]  # fmt: skip


def paths_of(prompt: str, identity: str) -> list[str]:
    return [
        f"/api/prompts/{identity}", f"/api/prompts/{prompt}/test-cases/{identity}", f"/api/runs/{identity}",
        f"/api/runs/{identity}/events", f"/api/runs/{identity}/export", f"/api/runs/{identity}/evaluations",
        f"/api/runs/last/cases/{identity}", f"/static/{identity}", f"/prompts/{identity}", f"/runs/{identity}",
    ]  # fmt: skip


def test_an_id_is_looked_up_and_nothing_else(client: TestClient, prompt: str, tmp_path: Path) -> None:
    for path in paths_of(prompt, "nobody"):
        client.get(path)  # what is loaded when it is first needed

    with files_opened() as opened:
        statuses = {path: client.get(path).status_code for one in IDS for path in paths_of(prompt, one)}
        deleted = {client.delete(f"/api/prompts/{one}").status_code for one in IDS}

    assert {path: status for path, status in statuses.items() if status not in (404, 422)} == {}
    assert deleted <= {404, 405, 422}
    ours = (str(tmp_path), str(resources.files("evenhand.server")))
    assert [one for one in opened if not one.startswith(ours) and not one.isdecimal()] == []


def test_a_body_of_a_hundred_megabytes_is_not_read(client: TestClient) -> None:
    told = client.post("/api/prompts", content=b" ", headers={"content-length": str(100 * MEGABYTE)})

    read = 0

    def endless() -> Iterator[bytes]:
        nonlocal read
        for _ in range(100):
            read += MEGABYTE
            yield b" " * MEGABYTE

    streamed = client.post("/api/prompts", content=endless(), headers={"content-type": "application/json"})

    assert (told.status_code, streamed.status_code) == (413, 413)
    assert told.headers["content-type"] == streamed.headers["content-type"] == "application/problem+json"


def test_a_body_without_a_token_is_not_read(strangers: TestClient) -> None:
    answer = strangers.post("/api/import", content=b"[" * MEGABYTE, headers={"content-type": "application/json"})

    assert answer.status_code == 401


DEEP = [b"[" * 10_000, b'{"a":' * 10_000, b'{"name":"p","expected_schema":' + b'{"not":' * 10_000]


def test_json_that_is_nested_deep_is_refused(client: TestClient) -> None:
    headers = {"content-type": "application/json"}

    for body in DEEP:
        assert client.post("/api/prompts", content=body, headers=headers).status_code == 422
    for path in ("/api/prompts", "/api/import", "/api/runs", "/api/check-schema"):
        whole = b'{"name":"p","schema":' + b"[" * 300 + b"]" * 300 + b"}"
        assert client.post(path, content=whole, headers=headers).status_code == 422


def test_a_million_ids_are_refused(client: TestClient, prompt: str) -> None:
    headers = {"content-type": "application/json"}
    asked = b'{"prompt": "%b", "models": ["vllm/a"], "test_cases": [%b]}'
    too_large = asked % (prompt.encode(), b",".join([b'"t-aaaaaa"'] * 1_000_000))
    too_many = asked % (prompt.encode(), b",".join([b'"t-a"'] * 100_000))
    prompts = b'{"prompts": [%b]}' % b",".join([b'{"name":"p"}'] * 200_000)

    answer = client.post("/api/runs", content=too_large, headers=headers)

    assert answer.status_code == 413
    refused = client.post("/api/runs", content=too_many, headers=headers)
    assert refused.json()["errors"][0]["field"] == "test_cases"
    many = client.post("/api/import", content=prompts, headers=headers)
    assert (many.status_code, many.json()["errors"][0]["field"]) == (422, "prompts")
    assert len(many.content) < 1000


NO_OBJECTS = [
    b"",
    b"nope",
    b"[]",
    b'"text"',
    b"NaN",
    b'{"name": "\\ud800"}',
    b"\xff\xfe",
    b'{"name": 1e999}',
    b"{'name': 'p'}",
]


def test_what_is_no_json_object_is_refused(client: TestClient) -> None:
    for body in NO_OBJECTS:
        answer = client.post("/api/prompts", content=body, headers={"content-type": "application/json"})

        assert answer.status_code == 422, body
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_name_that_is_there_twice_is_refused_wherever_it_stands(client: TestClient) -> None:
    headers = {"content-type": "application/json"}

    prompt = client.post("/api/prompts", content=b'{"name": "a", "name": "b"}', headers=headers)
    inner = b'{"prompts": [{"name": "a", "content": "x", "content": ""}]}'
    document = client.post("/api/import", content=inner, headers=headers)

    assert (prompt.status_code, prompt.json()["errors"][0]["field"]) == (422, "name")
    assert (document.status_code, document.json()["errors"][0]["field"]) == (422, "content")
    assert client.get("/api/prompts").json()["items"] == []


def test_a_body_of_another_kind_is_told_which_to_send(client: TestClient) -> None:
    kinds = {"text/plain": "not 'text/plain'", "": "Content-Type: application/json, which is missing"}

    for kind, told in kinds.items():
        answer = client.post("/api/prompts", content=b'{"name": "p"}', headers={"content-type": kind} if kind else {})

        assert answer.status_code == 415
        assert "Content-Type: application/json" in answer.json()["detail"]
        assert told in answer.json()["detail"]
    right = {"content-type": "Application/JSON; charset=utf-8"}
    assert client.post("/api/prompts", content=b'{"name": "p"}', headers=right).status_code == 201


def test_where_no_body_is_needed_none_needs_a_kind(client: TestClient) -> None:
    assert client.post("/api/runs/nobody/resume").status_code == 404
