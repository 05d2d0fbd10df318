"""A key is seen by the provider that it is for, and by nobody else."""

from __future__ import annotations

import base64
import copy
import json
import logging
import pickle
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from evenhand.domain.reply import Reply, Unanswered
from evenhand.domain.secret import Secret
from evenhand.models.providers import OPENAI

Put = Callable[..., Reply | Unanswered]
Serve = Callable[..., Any]


def forms(key: str) -> set[str]:
    """The key, and how it looks encoded."""
    return {key, quote(key, safe=""), base64.b64encode(key.encode()).decode(), json.dumps(key)[1:-1]}


def everything_said(answer: object, log: pytest.LogCaptureFixture) -> str:
    return "\n".join([repr(answer), str(answer), log.text, *(repr(vars(record)) for record in log.records)])


ECHOES: dict[str, Callable[[str], dict[str, Any]]] = {
    "in an error object": lambda key: {"status": 401, "json": {"error": {"message": f"Wrong key: {key}."}}},
    "encoded for a URL": lambda key: {"status": 401, "json": {"error": f"Wrong: {quote(key, safe='')}"}},
    "in base64": lambda key: {"status": 401, "json": {"error": base64.b64encode(key.encode()).decode()}},
    "in a page": lambda key: {"status": 403, "body": f"<h1>{key}</h1>".encode()},
    "where the quote is cut off": lambda key: {"status": 403, "body": b"x" * 490 + key.encode() + b"y" * 100},
    "with status 200": lambda key: {"json": {"error": {"message": key, "code": "invalid_api_key"}}},
    "in a body that is no JSON": lambda key: {"body": f"{{oops {key}".encode()},
    "in a redirect": lambda key: {"status": 302, "headers": {"Location": f"https://evil.example/?key={key}"}},
    "as a code": lambda key: {"status": 400, "json": {"error": {"message": "no", "code": key}}},
    "in a refusal of the format": lambda key: {"status": 400, "json": {"error": {"message": f"tools {key}"}}},
    "not at all": lambda _: {"status": 500},
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES.keys())
def test_a_key_that_the_provider_repeats_is_hidden(
    serve: Serve,
    language: Any,
    put: Put,
    key: str,
    contract: Any,
    echo: Callable[[str], dict[str, Any]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    server = serve(echo(key))

    answer = put(language.model(server, max_transport_attempts=2), contract=contract)

    assert isinstance(answer, Unanswered)
    assert key in str(server.requests[0].headers), "the key was sent"
    said = everything_said(answer, caplog)
    assert [form for form in forms(key) if form in said] == []
    assert key[:12] not in said


def test_a_key_is_hidden_where_all_goes_well(
    serve: Serve, language: Any, put: Put, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = serve(language.reply())
    model = language.model(server)

    reply = put(model)

    said = (
        everything_said(reply, caplog) + repr(model) + str(model) + repr(model.endpoint) + f"{model.endpoint.headers}"
    )
    assert isinstance(reply, Reply)
    assert [form for form in forms(key) if form in said] == []


def test_tokens_in_headers_are_hidden_as_well(
    serve: Serve, openai: Any, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_TOKEN", "from-a-variable")
    headers = {"X-Gateway": "id=7;token=${GATEWAY_TOKEN}", "X-Auth": "Bearer given-as-it-is", "X-Team": "research"}
    echo = "from-a-variable given-as-it-is research"
    server = serve({"status": 401, "json": {"error": echo}})
    model = openai.model(server, headers=headers)

    answer = put(model)

    assert isinstance(answer, Unanswered)
    assert answer.error == "unauthorized: HTTP 401: *** *** research"
    assert "from-a-variable" not in repr(model) + repr(model.endpoint.headers)
    assert "given-as-it-is" not in repr(model) + repr(model.endpoint.headers)


def test_a_model_with_a_key_does_not_leave_the_process_and_can_be_copied_in_it(key: str) -> None:
    model = OPENAI("m", api_key=key)

    with pytest.raises(TypeError, match="a Secret is not pickled"):
        pickle.dumps(model)
    assert copy.deepcopy(model) == model


def test_a_key_is_hidden_in_replies_and_a_placeholder_is_not_taken_for_one(
    serve: Serve, openai: Any, put: Put, key: str
) -> None:
    said = f'{{"score": 1, "reasoning": "none of it, says {key}"}}'
    server = serve(openai.reply(said))

    hidden, placeholders = (
        put(openai.model(server)),
        [put(openai.model(server, api_key=word)) for word in ("1", "none")],
    )

    assert isinstance(hidden, Reply)
    assert hidden.text == said.replace(key, "***")
    assert [getattr(answer, "text", None) for answer in placeholders] == [said, said]


@pytest.mark.parametrize("url", ["http://u:secret@host/v1?x=1", "u:secret@host", "http://u:secret@host:99999"])
def test_a_login_in_a_base_url_is_refused_unseen(url: str) -> None:
    with pytest.raises(ValueError, match="base_url") as caught:
        OPENAI("m", base_url=url, api_key="k")

    assert "secret" not in str(caught.value)


def test_what_is_in_an_extra_body_is_not_shown() -> None:
    assert "hush" not in repr(OPENAI("m", base_url="http://127.0.0.1:1", extra_body={"token": "hush"}))


def test_a_model_without_a_key_does() -> None:
    model = OPENAI("m", base_url="http://127.0.0.1:8000")

    assert pickle.loads(pickle.dumps(model)) == model


@pytest.mark.parametrize("settings", [{"api_key": "line\nbreak"}, {"headers": {"X-Key": "line\nbreak"}}])
def test_a_key_that_cannot_be_sent_is_refused_unseen(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot be sent") as caught:
        OPENAI("m", base_url="http://127.0.0.1:1", **settings)

    assert "break" not in str(caught.value).replace("such as a line break", "")


def test_white_space_around_a_key_is_not_part_of_it() -> None:
    model = OPENAI("m", api_key=" sk-1 \n")

    assert model.endpoint.headers["authorization"] == Secret("Bearer sk-1")
