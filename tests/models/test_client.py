"""The client on the real wire: each dialect against a server that fails in every way, request by request."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import Any

import pytest

from evenhand.domain.contract import Contract
from evenhand.domain.evaluation import Usage
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, Unanswered
from evenhand.models.providers import AZURE, VERTEX

Put = Callable[..., Reply | Unanswered]
Serve = Callable[..., Any]


def error(status: int, message: str = "try later", **headers: str) -> dict[str, Any]:
    """Answer with a status and the error object that most providers send."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"status": status, "json": {"error": {"message": message}}, "headers": named}


def transport_errors(answer: Reply | Unanswered) -> list[str | None]:
    return [one.error for one in answer.attempts if one.kind == "transport"]


def test_a_question_is_asked_and_the_reply_read(serve: Serve, language: Any, put: Put) -> None:
    server = serve(language.reply("Paris"))

    reply = put(language.model(server))

    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish) == ("Paris", "stop")
    (attempt,) = reply.attempts
    assert (attempt.kind, attempt.raw, attempt.error) == ("reply", "Paris", None)
    assert attempt.usage == Usage(input_tokens=7, output_tokens=3)
    assert attempt.latency > 0
    (request,) = server.requests
    assert request.target == language.path
    assert "Capital of France?" in json.dumps(request.json)


HTML = {"body": b"<html><body>502\n Bad Gateway</body></html>", "headers": {"Content-Type": "text/html"}}
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "429": (error(429), "rate_limited: HTTP 429: try later"),
    "429 with Retry-After in seconds": (error(429, Retry_After="0.001"), "rate_limited: HTTP 429: try later"),
    "429 with a date that is over": (
        error(429, Retry_After="Thu, 01 Jan 1970 00:00:00 GMT"),
        "rate_limited: HTTP 429: try later",
    ),
    "429 with garbage": (error(429, Retry_After="when I am ready"), "rate_limited: HTTP 429: try later"),
    "408": (error(408), "http_error: HTTP 408: try later"),
    "409": (error(409), "http_error: HTTP 409: try later"),
    "500": (error(500), "server_error: HTTP 500: try later"),
    "500 without a body": ({"status": 500, "body": b""}, "server_error: HTTP 500: an empty body"),
    "503 with a page": ({**HTML, "status": 503}, "overloaded: HTTP 503: <html><body>502 Bad Gateway</body></html>"),
    "529": (error(529), "overloaded: HTTP 529: try later"),
    "reset before the head": ({"raw": b"", "then": "reset"}, "connection: "),
    "closed before the head": ({"raw": b"", "then": "close"}, "connection: "),
    "another protocol": ({"raw": b"220 mail.example ESMTP\r\n", "then": "close"}, "invalid_response: "),
    "reset in the body": ({"body": b'{"cho', "declared_length": 900, "then": "reset"}, "incomplete_body: "),
    "closed in the body": ({"body": b'{"cho', "declared_length": 900, "then": "close"}, "incomplete_body: "),
    "200 with an error object": (
        {"json": {"error": {"message": "out of memory", "code": "server_error"}}},
        "error_body: out of memory",
    ),
    "200 with a page": (HTML, "invalid_body: the response is not JSON: <html><body>502 Bad Gateway</body></html>"),
    "200 with half of the JSON": ({"body": b'{"choices": ['}, 'invalid_body: the response is not JSON: {"choices": ['),
    "200 with nothing": ({"body": b""}, "invalid_body: the response is not JSON: an empty body"),
    "200 with other JSON": ({"json": {"hello": "world"}}, "invalid_body: the response has no "),
    "200 with broken compression": (
        {"body": b"no gzip", "headers": {"Content-Encoding": "gzip"}},
        "invalid_body: the response cannot be decompressed: ",
    ),
    "200 with half of the compressed JSON": (
        {"body": gzip.compress(b'{"choices": []}')[:-12], "headers": {"Content-Encoding": "gzip"}},
        "incomplete_body: the response was cut short: its compression has no end",
    ),
    "200 with another compression": (
        {"body": b"...", "headers": {"Content-Encoding": "br"}},
        "invalid_body: the response is compressed as 'br', which was not requested",
    ),
}


@pytest.mark.parametrize(("fault", "recorded"), FAULTS.values(), ids=FAULTS.keys())
def test_a_passing_fault_is_tried_again_and_recorded(
    serve: Serve, language: Any, put: Put, fault: dict[str, Any], recorded: str
) -> None:
    server = serve(fault, fault, language.reply("Paris"))

    reply = put(language.model(server))

    assert isinstance(reply, Reply)
    assert reply.text == "Paris"
    assert [one.kind for one in reply.attempts] == ["transport", "transport", "reply"]
    assert all(str(one.error).startswith(recorded) for one in reply.attempts[:2]), reply.attempts
    assert len(server.requests) == 3


def test_a_fault_that_does_not_pass_is_bounded(serve: Serve, language: Any, put: Put) -> None:
    server = serve(error(500, "the same every time"))

    answer = put(language.model(server, max_transport_attempts=4))

    assert isinstance(answer, Unanswered)
    assert answer.error == "server_error: HTTP 500: the same every time; gave up after 4 requests"
    assert transport_errors(answer) == ["server_error: HTTP 500: the same every time"] * 4
    assert len(server.requests) == 4


LASTING: dict[str, tuple[dict[str, Any], str]] = {
    "400": (error(400, "no such field"), "bad_request: HTTP 400: no such field"),
    "401": (error(401, "who are you"), "unauthorized: HTTP 401: who are you"),
    "403": (error(403, "not you"), "forbidden: HTTP 403: not you"),
    "404": (error(404, "no such model"), "not_found: HTTP 404: no such model (asked at http://127.0.0.1:"),
    "422": (error(422, "no"), "bad_request: HTTP 422: no"),
    "402": (error(402, "pay"), "quota: HTTP 402: pay"),
    "429 for a used-up account": (
        {"status": 429, "json": {"error": {"message": "pay", "type": "x", "code": "insufficient_quota"}}},
        "quota: HTTP 429: pay",
    ),
    "200 with a lasting error": (
        {"json": {"error": {"message": "who are you", "code": "invalid_api_key"}}},
        "error_body: who are you",
    ),
    "redirect": (
        {"status": 307, "headers": {"Location": "https://evil.example/v1"}, "body": b""},
        "redirect: HTTP 307: redirects are not followed, so that a key does not travel; base_url leads to https://evil",
    ),
}


@pytest.mark.parametrize(("fault", "recorded"), LASTING.values(), ids=LASTING.keys())
def test_a_lasting_fault_is_not_tried_again(
    serve: Serve, language: Any, put: Put, fault: dict[str, Any], recorded: str
) -> None:
    server = serve(fault)

    answer = put(language.model(server))

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith(recorded)
    assert transport_errors(answer) == [answer.error]
    assert len(server.requests) == 1


def test_a_refused_connection_is_tried_again(language: Any, put: Put) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"

        answer = put(language.provider("m", base_url=url, api_key="k", backoff=0.001, max_transport_attempts=2))

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith(f"connection: cannot connect to {url}: ")
    assert len(answer.attempts) == 2


def test_a_wait_that_the_server_asks_for_is_kept(serve: Serve, openai: Any, put: Put) -> None:
    server = serve(error(429, Retry_After="0.3"), openai.reply())
    began = time.monotonic()

    reply = put(openai.model(server))

    assert isinstance(reply, Reply)
    assert time.monotonic() - began >= 0.3


def test_milliseconds_are_understood_too(serve: Serve, openai: Any, put: Put) -> None:
    server = serve(error(429, retry_after_ms="200", Retry_After="60"), openai.reply())
    began = time.monotonic()

    reply = put(openai.model(server), seconds=30)

    assert isinstance(reply, Reply)
    assert 0.2 <= time.monotonic() - began < 30


@pytest.mark.parametrize(
    "wait", ["30", "99999999999", formatdate(time.time() + 3600, usegmt=True)], ids=["short", "huge", "date"]
)
def test_a_wait_beyond_the_deadline_is_not_begun(serve: Serve, language: Any, put: Put, wait: str) -> None:
    server = serve(error(429, Retry_After=wait), language.reply())
    began = time.monotonic()

    answer = put(language.model(server), seconds=20)

    assert isinstance(answer, Unanswered)
    assert answer.error == "rate_limited: HTTP 429: try later; the next try would have missed the deadline"
    assert time.monotonic() - began < 20
    assert len(server.requests) == 1


def test_bytes_that_are_no_utf8_are_replaced(serve: Serve, language: Any, put: Put) -> None:
    body = json.dumps(language.envelope("Par*s")).encode().replace(b"*", b"\xff")
    server = serve({"body": body})

    reply = put(language.model(server))

    assert isinstance(reply, Reply)
    assert reply.text == "Par\N{REPLACEMENT CHARACTER}s"


def test_a_lone_surrogate_which_no_file_can_hold_is_replaced(serve: Serve, language: Any, put: Put) -> None:
    server = serve(language.reply("a\ud800ß"))

    reply = put(language.model(server))

    assert isinstance(reply, Reply)
    assert (reply.text, reply.attempts[0].raw) == ("a?ß", "a?ß")


def test_what_the_user_gave_is_sent_even_where_it_is_no_unicode(serve: Serve, language: Any, put: Put) -> None:
    server = serve(language.reply())

    put(language.model(server), messages=(Message("user", "a\ud800b"),))

    assert b"a\\ud800b" in server.requests[0].body


def test_a_long_complaint_is_quoted_short(serve: Serve, language: Any, put: Put) -> None:
    server = serve(error(400, "far too long " * 1000))

    answer = put(language.model(server))

    assert isinstance(answer, Unanswered)
    assert len(answer.error) < 550
    assert answer.error.endswith("…")


def test_a_form_that_did_not_help_either_is_not_kept_for_others(
    serve: Serve, openai: Any, put: Put, contract: Contract
) -> None:
    too_long = error(400, "too many tokens, 100 of them in the json_schema")
    server = serve(too_long, too_long, openai.reply('{"score": 1}'))
    model = openai.model(server)

    first, second = put(model, contract=contract), put(model, contract=contract)

    assert isinstance(first, Unanswered)
    assert isinstance(second, Reply)
    assert [b"response_format" in request.body for request in server.requests] == [True, False, True]


def test_a_response_that_is_nested_too_deep_is_a_failed_request(serve: Serve, openai: Any, put: Put) -> None:
    server = serve({"body": b'{"error":' + b'{"a":' * 1000 + b"1" + b"}" * 1001})

    answer = put(openai.model(server, max_transport_attempts=2))

    assert isinstance(answer, Unanswered)
    assert len(answer.attempts) == len(server.requests) == 2


def test_a_server_that_refuses_structured_output_is_asked_without_it_from_then_on(
    serve: Serve, language: Any, put: Put, contract: Contract
) -> None:
    refused = "response_format json_schema, tools and format are not supported here"
    server = serve(error(400, refused), language.reply('{"score": 1}'))
    model = language.model(server)

    first, second = put(model, contract=contract), put(model, contract=contract)

    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert transport_errors(first) == [f"format_refused: HTTP 400: {refused}"]
    assert transport_errors(second) == []
    assert [b"reasoning" in request.body for request in server.requests] == [True, False, False]


def test_asking_without_structure_counts_within_the_cap(
    serve: Serve, language: Any, put: Put, contract: Contract
) -> None:
    server = serve(error(422, "structured output is not supported"))

    answer = put(language.model(server, max_transport_attempts=1), contract=contract)

    assert isinstance(answer, Unanswered)
    assert len(answer.attempts) == len(server.requests) == 1


def test_a_request_without_structure_has_no_structure_to_give_up(serve: Serve, language: Any, put: Put) -> None:
    server = serve(error(400, "your tools have the wrong format"))

    answer = put(language.model(server))

    assert isinstance(answer, Unanswered)
    assert answer.error == "bad_request: HTTP 400: your tools have the wrong format"
    assert len(server.requests) == 1


def test_a_server_that_knows_the_token_limit_by_another_name_is_asked_by_that(
    serve: Serve, openai: Any, put: Put
) -> None:
    server = serve(
        error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."), openai.reply()
    )
    model = openai.model(server, max_tokens=9)

    put(model)
    put(model)

    limits = [{name for name in request.json if name.startswith("max_")} for request in server.requests]
    assert limits == [{"max_tokens"}, {"max_completion_tokens"}, {"max_completion_tokens"}]


def refused_setting(param: str, code: str) -> dict[str, Any]:
    message = f"Unsupported value: '{param}' does not support 0 with this model."
    inner = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return {"status": 400, "json": {"error": inner}}


@pytest.mark.parametrize("code", ["unsupported_value", "unsupported_parameter"])
@pytest.mark.parametrize("param", ["temperature", "top_p"])
def test_a_setting_that_the_model_does_not_take_is_left_out_from_then_on_and_that_is_recorded(
    param: str, code: str, serve: Serve, openai: Any, put: Put, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(refused_setting(param, code), openai.reply())
    model = openai.model(server, temperature=0, top_p=1, seed=7)

    first, second = put(model), put(model)

    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    refusal = f"Unsupported value: '{param}' does not support 0 with this model."
    assert transport_errors(first) == [f"setting_refused: HTTP 400: {refusal}; asked again without {param}"]
    assert transport_errors(second) == []
    assert [param in request.json for request in server.requests] == [True, False, False]
    assert all("seed" in request.json for request in server.requests)
    assert [record.getMessage() for record in caplog.records] == [
        f"{model.name}: the provider refuses {param} for this model; it is asked without"
    ]


@pytest.mark.parametrize(
    ("param", "code"), [("temperature", "decimal_above_max_value"), ("messages", "unsupported_value")]
)
def test_a_setting_that_is_wrong_in_itself_is_not_left_out(
    param: str, code: str, serve: Serve, openai: Any, put: Put
) -> None:
    server = serve(refused_setting(param, code), openai.reply())

    answer = put(openai.model(server, temperature=5))

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("bad_request: HTTP 400")
    assert len(server.requests) == 1


def test_a_setting_of_the_extra_body_is_not_left_out(serve: Serve, openai: Any, put: Put) -> None:
    server = serve(refused_setting("temperature", "unsupported_value"), openai.reply())

    answer = put(openai.model(server, extra_body={"temperature": 0}))

    assert isinstance(answer, Unanswered)
    assert len(server.requests) == 1


def test_log_probabilities_that_an_api_lacks_are_not_asked_for(serve: Serve, put: Put, language: Any) -> None:
    server = serve(language.reply())

    answer = put(language.model(server), top_logprobs=3)

    if language.name in ("anthropic", "bedrock"):
        assert isinstance(answer, Unanswered)
        assert answer.error.startswith("unsupported: ")
        assert " API gives no log-probabilities" in answer.error
        assert server.requests == []
    else:
        assert isinstance(answer, Reply)
        assert b"logprobs" in server.requests[0].body.lower()


def test_azure_is_asked_at_its_deployment(serve: Serve, openai: Any, put: Put, key: str) -> None:
    server = serve(openai.reply())

    put(AZURE("my judge", base_url=server.origin, api_key=key, api_version="2025-01-01-preview"))

    (request,) = server.requests
    assert request.target == "/openai/deployments/my%20judge/chat/completions?api-version=2025-01-01-preview"
    assert request.headers["api-key"] == key
    assert "authorization" not in request.headers


@pytest.mark.parametrize(
    ("project", "path", "name", "value"),
    [
        ("ours", "projects/ours/locations/global/", "authorization", "Bearer {}"),
        ("", "", "x-goog-api-key", "{}"),
    ],
)
def test_vertex_is_asked_as_gemini_is_at_an_address_of_its_own(
    serve: Serve,
    languages: Mapping[str, Any],
    put: Put,
    key: str,
    contract: Any,
    project: str,
    path: str,
    name: str,
    value: str,
) -> None:
    gemini = languages["gemini"]
    server = serve(gemini.reply())

    reply = put(VERTEX("m", base_url=server.origin, api_key=key, project=project), contract=contract)

    assert isinstance(reply, Reply)
    (request,) = server.requests
    assert request.target == f"/v1/{path}publishers/google/models/m:generateContent"
    assert request.headers[name] == value.format(key)
    assert request.json["generationConfig"]["responseJsonSchema"] == contract.schema()


def of_amazon(status: int, code: str, message: str) -> dict[str, Any]:
    return {"status": status, "headers": {"x-amzn-ErrorType": f"{code}:http://x/"}, "json": {"message": message}}


@pytest.mark.parametrize(
    ("status", "code", "kind", "is_passing"),
    [
        (429, "ThrottlingException", "rate_limited", True),
        (429, "ModelNotReadyException", "rate_limited", True),
        (408, "ModelTimeoutException", "http_error", True),
        (500, "InternalServerException", "server_error", True),
        (503, "ServiceUnavailableException", "overloaded", True),
        (400, "ValidationException", "bad_request", False),
        (403, "AccessDeniedException", "forbidden", False),
        (403, "ExpiredTokenException", "forbidden", False),
        (404, "ResourceNotFoundException", "not_found", False),
        (424, "ModelErrorException", "http_error", False),
    ],
)
def test_the_errors_of_amazon_have_their_classes(
    serve: Serve, languages: Mapping[str, Any], put: Put, status: int, code: str, kind: str, is_passing: bool
) -> None:
    bedrock = languages["bedrock"]
    server = serve(of_amazon(status, code, "So it is."), bedrock.reply("Paris"))

    answer = put(bedrock.model(server))

    (failed,) = transport_errors(answer)
    assert str(failed).startswith(f"{kind}: HTTP {status}: So it is.")
    assert isinstance(answer, Reply) is is_passing


def test_a_model_of_bedrock_without_tools_is_asked_without(
    serve: Serve, languages: Mapping[str, Any], put: Put, contract: Any
) -> None:
    bedrock = languages["bedrock"]
    refusal = of_amazon(400, "ValidationException", "This model doesn't support tool use.")
    server = serve(refusal, bedrock.reply("Paris"))
    model = bedrock.model(server)

    first, second = put(model, contract=contract), put(model, contract=contract)

    assert transport_errors(first) == ["format_refused: HTTP 400: This model doesn't support tool use."]
    assert transport_errors(second) == []
    assert ["toolConfig" in request.json for request in server.requests] == [True, False, False]


HEADERS_WITH_KEY = {
    "openai": ("authorization", "Bearer {}"),
    "anthropic": ("x-api-key", "{}"),
    "gemini": ("x-goog-api-key", "{}"),
    "ollama": ("authorization", "Bearer {}"),
    "bedrock": ("authorization", "Bearer {}"),
}


def test_the_key_goes_where_the_api_wants_it(serve: Serve, language: Any, put: Put, key: str) -> None:
    server = serve(language.reply())

    put(language.model(server))

    (request,) = server.requests
    header, form = HEADERS_WITH_KEY[language.name]
    assert request.headers[header] == form.format(key)
    assert key not in request.target


def test_headers_of_the_user_are_sent_and_win(
    serve: Serve, openai: Any, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_TOKEN", "t-123456")
    server = serve(openai.reply())

    put(openai.model(server, headers={"Authorization": "Bearer ${GATEWAY_TOKEN}", "X-Team": "research"}))

    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer t-123456"
    assert request.headers["x-team"] == "research"
