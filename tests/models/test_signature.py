"""Signature Version 4: what Amazon publishes for it, and what reaches a server."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest

from evenhand.domain.reply import Reply, Unanswered
from evenhand.domain.secret import Secret
from evenhand.models.client import HttpModel
from evenhand.models.providers import BEDROCK
from evenhand.models.signature import Signer

Put = Callable[..., Reply | Unanswered]
Serve = Callable[..., Any]

ACCESS_KEY, SECRET_KEY = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
AT = datetime(2015, 8, 30, 12, 36, tzinfo=UTC).timestamp()
TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx"
    "7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q"
    "6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)
SIGNER = Signer(
    access_key=Secret(ACCESS_KEY),
    secret_key=Secret(SECRET_KEY),
    region="us-east-1",
    service="service",
    clock=lambda: AT,
)


@pytest.mark.parametrize(
    ("headers", "token", "body", "names", "signature"),
    [
        ({}, None, b"", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            {"content-type": "application/x-www-form-urlencoded"},
            None,
            b"Param1=value1",
            "content-type;host;x-amz-date",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
        (
            {},
            Secret(TOKEN),
            b"",
            "host;x-amz-date;x-amz-security-token",
            "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
        ),
    ],
    ids=["post-vanilla", "post-x-www-form-urlencoded", "post-sts-header-before"],
)
def test_the_signatures_are_those_of_the_published_test_suite(
    headers: dict[str, str], token: Secret | None, body: bytes, names: str, signature: str
) -> None:
    head = written({"host": "example.amazonaws.com", **headers}, "/")

    lines = replace(SIGNER, session_token=token).lines(head, body)

    scope = f"Credential={ACCESS_KEY}/20150830/us-east-1/service/aws4_request"
    assert lines.decode().split("\r\n") == [
        "",
        "x-amz-date: 20150830T123600Z",
        *([f"x-amz-security-token: {TOKEN}"] if token else []),
        f"authorization: AWS4-HMAC-SHA256 {scope}, SignedHeaders={names}, Signature={signature}",
    ]


def written(headers: dict[str, str], target: str) -> bytes:
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "content-length: "]
    return "\r\n".join(lines).encode()


def test_what_proxies_and_servers_may_change_is_not_signed() -> None:
    plain = {"host": "example.amazonaws.com", "content-type": "application/json"}
    more = {"accept": "*/*", "user-agent": "evenhand/1", "accept-encoding": "gzip", "proxy-authorization": "Basic x"}

    assert SIGNER.lines(written({**more, **plain}, "/"), b"{}") == SIGNER.lines(written(plain, "/"), b"{}")


def test_through_a_proxy_that_reads_requests_the_path_is_signed_and_not_the_address() -> None:
    headers = {"host": "box:8080"}

    direct, forwarded = (
        written(headers, target) for target in ("/model/m/converse", "http://box:8080/model/m/converse")
    )

    assert SIGNER.lines(direct, b"{}") == SIGNER.lines(forwarded, b"{}")


def checked(request: Any) -> str:
    """Work out the signature of what reached a server, from the words of the specification."""
    scheme, _, rest = request.headers["authorization"].partition(" ")
    parts = dict(part.split("=", 1) for part in rest.split(", "))
    access_key, *scope = parts["Credential"].split("/")
    names = parts["SignedHeaders"].split(";")
    canonical = "\n".join(
        [
            "POST",
            quote(request.target, safe="/-_.~"),
            "",
            *(f"{name}:{' '.join(request.headers[name].split())}" for name in names),
            "",
            parts["SignedHeaders"],
            hashlib.sha256(request.body).hexdigest(),
        ]
    )
    date = str(request.headers["x-amz-date"])
    text = "\n".join([scheme, date, "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{SECRET_KEY}".encode()
    for word in scope:
        key = hmac.digest(key, word.encode(), "sha256")

    assert (scheme, access_key) == ("AWS4-HMAC-SHA256", ACCESS_KEY)
    assert scope == [date[:8], "eu-west-1", "bedrock", "aws4_request"]
    assert {"host", "content-type", "x-amz-date"} <= {*names}
    assert parts["Signature"] == hmac.new(key, text.encode(), "sha256").hexdigest()
    return date


@pytest.fixture
def signing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., HttpModel]:
    """Make models whose requests are signed with the keys in the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")

    def make(server: Any, model: str = "anthropic.claude-x-v1:0", **settings: Any) -> HttpModel:
        return BEDROCK(model, **{"base_url": server.origin, "backoff": 0.001, **settings})

    return make


def at(model: HttpModel, *times: float) -> HttpModel:
    """Let a model read these times from its clock, one after the other."""
    signer = model.endpoint.signer
    assert signer is not None
    return replace(model, endpoint=replace(model.endpoint, signer=replace(signer, clock=iter(times).__next__)))


def said(text: str) -> dict[str, Any]:
    return {"json": {"output": {"message": {"role": "assistant", "content": [{"text": text}]}}}}


@pytest.mark.parametrize(
    "model",
    ["anthropic.claude-x-v1:0", "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-lite-v1:0"],
)
def test_a_server_that_works_out_the_signature_finds_the_same(
    serve: Serve, put: Put, signing: Callable[..., HttpModel], model: str
) -> None:
    server = serve(said("Größer"))

    reply = put(signing(server, model, temperature=0.5, headers={"X-Amz-Meta-Team": " blue   and red "}))

    assert isinstance(reply, Reply)
    (request,) = server.requests
    assert request.target == f"/model/{quote(model, safe='')}/converse"
    assert "x-amz-meta-team" in request.headers["authorization"]
    checked(request)


def test_a_session_token_is_sent_and_signed(
    serve: Serve, put: Put, signing: Callable[..., HttpModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    server = serve(said("Paris"))

    put(signing(server))

    (request,) = server.requests
    assert request.headers["x-amz-security-token"] == TOKEN
    assert "x-amz-security-token" in request.headers["authorization"]
    checked(request)


def test_each_try_is_signed_anew(serve: Serve, put: Put, signing: Callable[..., HttpModel]) -> None:
    server = serve({"status": 503}, {"status": 429}, said("Paris"))

    reply = put(at(signing(server), AT, AT + 7, AT + 400))

    assert isinstance(reply, Reply)
    assert [checked(request) for request in server.requests] == [
        "20150830T123600Z",
        "20150830T123607Z",
        "20150830T124240Z",
    ]


def test_a_request_through_a_proxy_that_reads_it_is_signed_as_the_server_sees_it(
    serve: Serve, put: Put, lead_through: Callable[..., Any], signing: Callable[..., HttpModel]
) -> None:
    server = serve(said("Paris"))
    proxy = lead_through(server)

    reply = put(signing(server, base_url="http://models.example", proxy=proxy.origin))

    assert isinstance(reply, Reply)
    (request,) = server.requests
    assert request.target == "http://models.example/model/anthropic.claude-x-v1%3A0/converse"
    checked(replace(request, target=request.target.removeprefix("http://models.example")))


def test_a_key_of_bedrock_goes_before_those_of_the_account_and_is_not_signed(
    serve: Serve, put: Put, signing: Callable[..., HttpModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(said("Paris"))

    put(signing(server, api_key="bedrock-key-1"))
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key-2")
    put(signing(server))
    put(signing(server, headers={"Authorization": "Bearer of-a-gateway"}))

    assert [request.headers["authorization"] for request in server.requests] == [
        "Bearer bedrock-key-1",
        "Bearer bedrock-key-2",
        "Bearer of-a-gateway",
    ]
    assert not any("x-amz-date" in request.headers for request in server.requests)


def test_accounts_are_told_apart_by_their_keys(
    serve: Serve, signing: Callable[..., HttpModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(said("Paris"))
    first, same = signing(server), signing(server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDANOTHER")

    other = signing(server)

    assert first == same
    assert first.account == same.account
    assert first.account != other.account
    assert "AKID" not in first.account + other.account
