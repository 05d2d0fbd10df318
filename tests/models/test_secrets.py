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
from evenhand.models.providers import BEDROCK, OPENAI, VERTEX

Put = Callable[..., Reply | Unanswered]
Serve = Callable[..., Any]


def forms(key: str) -> set[str]:
    """The key, and how it looks encoded."""
    return {key, quote(key, safe=""), base64.b64encode(key.encode()).decode(), json.dumps(key)[1:-1]}


def everything_said(answer: object, log: pytest.LogCaptureFixture) -> str:
    return "\n".join([repr(answer), str(answer), log.text, *(repr(vars(record)) for record in log.records)])


def spelt_in_json(text: str) -> str:
    return "".join(f"\\u{ord(one):04x}" for one in text)


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


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
    "with escapes of JSON": lambda key: {"status": 401, "body": b'oops "' + spelt_in_json(key).encode() + b'"'},
    "as JSON within JSON": lambda key: {"status": 401, "json": {"error": f'{{"key": "{spelt_in_json(key)}"}}'}},
    "encoded in part": lambda key: {"status": 401, "json": {"error": f"%{ord(key[0]):02x}{key[1:]}"}},
    "in base64 as a bearer": lambda key: {"status": 401, "json": {"error": in_base64(f"Bearer {key}")}},
    "in base64 as a login": lambda key: {"status": 401, "json": {"error": in_base64(f"us:{key}")}},
    "in hexadecimal": lambda key: {"status": 401, "json": {"error": key.encode().hex()}},
    "half, in a body that ends too early": lambda key: {"status": 403, "body": f'{{"error": "{key[:14]}'.encode()},
    "half, where nothing was found": lambda key: {"status": 404, "json": {"error": key[:14]}},
    "half, where the page is cut off": lambda key: {"status": 403, "body": b" " * (64 * 1024 - 14) + key.encode()},
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
    # Of these, nothing of the key would be told anyhow, or only where the message has been cut off.
    unsaid = ("as a code", "not at all", "where the quote is cut off")
    assert "***" in answer.error or echo in [ECHOES[name] for name in unsaid]


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


@pytest.mark.parametrize("project", ["ours", ""])
def test_a_key_of_vertex_is_hidden(serve: Serve, put: Put, key: str, project: str) -> None:
    server = serve({"status": 401, "json": {"error": {"message": f"Wrong: {key} {in_base64(f'Bearer {key}')}"}}})
    model = VERTEX("m", base_url=server.origin, api_key=key, project=project)

    answer = put(model)

    assert isinstance(answer, Unanswered)
    assert key in str(server.requests[0].headers), "the key was sent"
    assert [form for form in forms(key) if form in f"{answer!r}{model!r}{model.endpoint!r}{model.identity}"] == []


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


# Values of variables, wherever they stand

HOST_VALUES = {"as a step of the path": "/${GATEWAY_TOKEN}/v1", "as the whole of it": ""}


@pytest.fixture
def gateway(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Start a server, and give the base URL that leads to it by way of variables."""

    def start(*answers: Any, path: str) -> str:
        server = serve(*answers)
        monkeypatch.setenv("GATEWAY_TOKEN", "tok-8f3a")
        monkeypatch.setenv("GATEWAY", f"{server.origin}/tok-8f3a/v1")
        return f"{server.origin}{path}" if path else "${GATEWAY}"

    return start


@pytest.mark.parametrize("path", HOST_VALUES.values(), ids=HOST_VALUES.keys())
@pytest.mark.parametrize(
    "answer",
    [
        {"status": 404, "json": {"error": "nothing at /tok-8f3a/v1"}},
        {"status": 302, "headers": {"Location": "/login?from=/tok-8f3a/v1"}},
        {"body": b"<p>tok%2D8f3a"},
        {"status": 200, "then": "reset", "raw": b""},
    ],
    ids=lambda answer: str(answer.get("status", "page")),
)
def test_the_value_of_a_variable_in_a_base_url_is_hidden(
    gateway: Callable[..., str], put: Put, path: str, answer: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    base_url = gateway(answer, path=path)
    model = OPENAI("m", base_url=base_url, api_key="k", max_transport_attempts=1)

    unanswered = put(model)

    said = everything_said(unanswered, caplog) + repr(model) + repr(model.endpoint) + str(model.identity)
    assert isinstance(unanswered, Unanswered)
    assert "tok-8f3a" not in said + model.account
    assert model.identity["url"] == f"{base_url}/chat/completions"
    assert model.account.startswith(f"{base_url[:20]}")


def test_where_nothing_was_found_the_address_is_told_as_it_was_written(gateway: Callable[..., str], put: Put) -> None:
    base_url = gateway({"status": 404, "json": {"error": "no such model"}}, path="/${GATEWAY_TOKEN}/v1")

    unanswered = put(OPENAI("m", base_url=base_url, api_key="k"))

    assert isinstance(unanswered, Unanswered)
    assert f"HTTP 404: no such model (asked at {base_url}/chat/completions)" in unanswered.error


def test_the_host_of_an_address_in_a_variable_is_hidden_where_it_cannot_be_reached(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY", "http://127.0.0.1:1/v1")

    unanswered = put(OPENAI("m", base_url="${GATEWAY}", api_key="k", max_transport_attempts=1))

    assert isinstance(unanswered, Unanswered)
    assert "cannot connect to http://***" in unanswered.error
    assert "127.0.0.1" not in str(unanswered)


@pytest.mark.parametrize("value", ["http://u:hush-hush@host", "hush hush", "ftp://hush-hush/", "http://hush!hush"])
def test_an_address_that_cannot_be_right_is_told_without_the_value_of_its_variable(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY", value)

    with pytest.raises(
        ValueError, match=r"base_url '\$\{GATEWAY\}' .* once the value of GATEWAY is filled in"
    ) as caught:
        OPENAI("m", base_url="${GATEWAY}", api_key="k")

    chain = [caught.value, caught.value.__cause__, caught.value.__context__]
    assert not any("hush" in str(error) for error in chain)


def test_models_are_told_apart_by_their_variables_and_have_the_identity_of_before_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A", "host-a.example")
    monkeypatch.setenv("B", "host-b.example")

    plain, first, second = (
        OPENAI("m", base_url=url, api_key="k") for url in ("https://x.example/v1", "https://${A}/v1", "https://${B}/v1")
    )

    assert plain.identity["url"] == "https://x.example/v1/chat/completions"
    assert [first.identity["url"], second.identity["url"]] == [
        "https://${A}/v1/chat/completions",
        "https://${B}/v1/chat/completions",
    ]
    monkeypatch.setenv("A", "host-c.example")
    elsewhere = OPENAI("m", base_url="https://${A}/v1", api_key="k")
    assert first.account != elsewhere.account, "two servers, each with limits of its own"


def test_a_variable_that_holds_an_address_has_no_references_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://x.example/${HOME}")
    monkeypatch.setenv("HOME", "/somewhere")

    assert OPENAI("m", api_key="k").endpoint.url == "https://x.example/${HOME}/chat/completions"


def test_tokens_that_a_server_offers_are_searched_for_keys(serve: Serve, openai: Any, put: Put, key: str) -> None:
    body = openai.envelope("yes")
    top = [{"token": key, "logprob": -0.1}, {"token": "yes", "logprob": -2.0}]
    body["choices"][0]["logprobs"] = {"content": [{"token": "yes", "logprob": -2.0, "top_logprobs": top}]}
    server = serve({"json": body})

    reply = put(openai.model(server), top_logprobs=2)

    assert isinstance(reply, Reply)
    assert [choice.token for choice in reply.first_token] == ["***", "yes"]


def test_a_login_in_base64_is_hidden_with_the_password_in_it(serve: Serve, openai: Any, put: Put) -> None:
    header = "Basic " + in_base64("me:hunter22-and-more")
    server = serve({"status": 401, "json": {"error": "hunter22-and-more is wrong"}})

    unanswered = put(openai.model(server, headers={"Authorization": header}))

    assert isinstance(unanswered, Unanswered)
    assert unanswered.error == "unauthorized: HTTP 401: *** is wrong"


# Requests that are signed

AWS_KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIA7CANARY41ID00001",
    "AWS_SECRET_ACCESS_KEY": "wJalr/canary+52/bPxRfiCYEXAMPLEKEY0000001",
    "AWS_SESSION_TOKEN": "FwoG/canary+63/////wEaDExampleToken0001==",
}


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The keys of an AWS account in the environment."""
    for name, value in {**AWS_KEYS, "AWS_REGION": "eu-west-1"}.items():
        monkeypatch.setenv(name, value)
    return AWS_KEYS


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES.keys())
@pytest.mark.parametrize("name", AWS_KEYS)
def test_a_key_with_which_requests_are_signed_is_hidden_where_it_is_repeated(
    serve: Serve,
    put: Put,
    name: str,
    account: dict[str, str],
    echo: Callable[[str], dict[str, Any]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    server = serve(echo(account[name]))
    model = BEDROCK("m", base_url=server.origin, backoff=0.001, max_transport_attempts=2)

    answer = put(model)

    assert isinstance(answer, Unanswered)
    said = everything_said(answer, caplog) + repr(model) + repr(model.endpoint) + str(model.identity) + model.account
    assert [form for form in forms(account[name]) if form in said] == []
    assert account[name][:12] not in said


def test_the_secret_key_of_an_account_is_not_sent_and_signed_models_stay_in_the_process(
    serve: Serve, put: Put, account: dict[str, str]
) -> None:
    server = serve({"json": {"message": "The canonical string should have been …"}, "status": 403})
    model = BEDROCK("m", base_url=server.origin)

    answer = put(model)

    (request,) = server.requests
    assert account["AWS_SECRET_ACCESS_KEY"] not in f"{request}"
    assert isinstance(answer, Unanswered)
    assert answer.error == "forbidden: HTTP 403: The canonical string should have been …"
    with pytest.raises(TypeError, match="a Secret is not pickled"):
        pickle.dumps(model)
    assert copy.deepcopy(model) == model
