"""The way to a server: certificates and proxies, with real ones."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from evenhand.domain.errors import ConfigError
from evenhand.domain.reply import Reply, Unanswered
from evenhand.models.providers import OLLAMA
from evenhand.models.wire.route import trusting

Put = Callable[..., Reply | Unanswered]
Serve = Callable[..., Any]
LeadThrough = Callable[..., Any]


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> str:
    """The certificate of a private authority, in a file."""
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


@pytest.fixture
def tls(authority: trustme.CA) -> ssl.SSLContext:
    """What a server of that authority needs to be ``judge.example``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("judge.example", "127.0.0.1").configure_cert(context)
    return context


# Certificates


def test_a_private_authority_is_trusted_by_setting(
    serve: Serve, openai: Any, put: Put, tls: ssl.SSLContext, ca_file: str
) -> None:
    server = serve(openai.reply(), tls=tls)

    reply = put(openai.model(server, ca_file=ca_file))

    assert isinstance(reply, Reply)
    assert server.requests[0].headers["authorization"].startswith("Bearer ")


def test_a_private_authority_is_trusted_by_the_environment(
    serve: Serve, openai: Any, put: Put, tls: ssl.SSLContext, ca_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", ca_file)
    server = serve(openai.reply(), tls=tls)

    assert isinstance(put(openai.model(server)), Reply)


@pytest.mark.parametrize("settings", [{}, {"ca_file": "other"}], ids=["nobody's", "another's"])
def test_a_certificate_that_is_not_trusted_is_a_lasting_fault(
    serve: Serve, openai: Any, put: Put, tls: ssl.SSLContext, tmp_path: Path, settings: dict[str, str]
) -> None:
    if settings:
        settings = {"ca_file": str(tmp_path / "other.pem")}
        trustme.CA().cert_pem.write_to_path(settings["ca_file"])
    server = serve(openai.reply(), tls=tls)

    answer = put(openai.model(server, **settings))

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith(f"certificate: {server.origin} is not trusted (")
    assert answer.error.endswith("; is ca_file right?")
    assert len(answer.attempts) == 1
    assert server.requests == []


def test_a_certificate_for_another_name_is_not_trusted(
    serve: Serve, openai: Any, put: Put, tls: ssl.SSLContext, ca_file: str
) -> None:
    server = serve(openai.reply(), tls=tls)

    answer = put(openai.model(server, base_url=f"https://localhost:{server.port}", ca_file=ca_file))

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("certificate: ")
    assert server.requests == []


def test_a_file_with_authorities_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.pem")

    with pytest.raises(ConfigError) as caught:
        trusting(missing)

    assert str(caught.value) == f"ca_file {missing!r} cannot be used: No such file or directory"


def test_a_file_without_certificates_is_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("no certificate", encoding="utf-8")

    with pytest.raises(ConfigError) as caught:
        trusting(str(empty))

    assert str(caught.value) == f"ca_file {str(empty)!r} cannot be used: it holds no certificates"


# Proxies


def test_a_server_behind_https_is_reached_through_the_proxy_which_sees_nothing(
    serve: Serve,
    lead_through: LeadThrough,
    openai: Any,
    put: Put,
    tls: ssl.SSLContext,
    ca_file: str,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = serve(openai.reply(), tls=tls)
    proxy = lead_through(server)
    monkeypatch.setenv("HTTPS_PROXY", proxy.origin)

    reply = put(openai.model(server, base_url="https://judge.example/v1", ca_file=ca_file))

    assert isinstance(reply, Reply)
    assert [first for first, _ in proxy.seen] == ["CONNECT judge.example:443 HTTP/1.1"]
    assert key not in str(proxy.seen)
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"


def test_a_server_behind_http_is_reached_through_its_proxy(
    serve: Serve, lead_through: LeadThrough, openai: Any, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(openai.reply())
    proxy = lead_through(server)
    monkeypatch.setenv("http_proxy", proxy.origin)

    reply = put(openai.model(server, base_url="http://judge.example/v1"))

    assert isinstance(reply, Reply)
    assert [first for first, _ in proxy.seen] == ["POST http://judge.example/v1/chat/completions HTTP/1.1"]


def test_the_setting_goes_before_the_environment(
    serve: Serve, lead_through: LeadThrough, openai: Any, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(openai.reply())
    ours, theirs = lead_through(server), lead_through(server)
    monkeypatch.setenv("HTTP_PROXY", theirs.origin)

    put(openai.model(server, base_url="http://judge.example/v1", proxy=ours.origin))

    assert (len(ours.seen), len(theirs.seen)) == (1, 0)


@pytest.mark.parametrize(
    ("variables", "settings"),
    [
        ({"NO_PROXY": "judge.invalid"}, {}),
        ({"NO_PROXY": ".invalid,elsewhere.example"}, {}),
        ({"no_proxy": "*"}, {}),
        ({}, {"proxy": ""}),
    ],
)
def test_a_proxy_can_be_left_out(
    serve: Serve,
    lead_through: LeadThrough,
    openai: Any,
    put: Put,
    variables: dict[str, str],
    settings: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = serve(openai.reply())
    proxy = lead_through(server)
    monkeypatch.setenv("HTTP_PROXY", proxy.origin)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    # A name that nobody has: asked without the proxy, it cannot be found.
    answer = put(openai.model(server, base_url="http://judge.invalid/v1", max_transport_attempts=1, **settings))

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("connection: cannot connect to http://judge.invalid: ")
    assert proxy.seen == []


@pytest.mark.parametrize("no_proxy", [None, "127.0.0.1,localhost"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_asked_without_a_proxy(
    serve: Serve,
    lead_through: LeadThrough,
    openai: Any,
    put: Put,
    host: str,
    no_proxy: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = serve(openai.reply())
    proxy = lead_through(server)
    monkeypatch.setenv("HTTP_PROXY", proxy.origin)
    if no_proxy is not None:
        monkeypatch.setenv("NO_PROXY", no_proxy)

    reply = put(openai.model(server, base_url=f"http://{host}:{server.port}"))

    assert isinstance(reply, Reply)
    assert proxy.seen == []


def test_a_proxy_gets_its_login(
    serve: Serve, lead_through: LeadThrough, openai: Any, put: Put, tls: ssl.SSLContext, ca_file: str
) -> None:
    server = serve(openai.reply(), tls=tls)
    proxy = lead_through(server)
    login = f"http://me:open-sesame@127.0.0.1:{proxy.port}"

    reply = put(openai.model(server, base_url="https://judge.example", proxy=login, ca_file=ca_file))

    assert isinstance(reply, Reply)
    ((_, headers),) = proxy.seen
    assert headers["proxy-authorization"] == "Basic " + base64.b64encode(b"me:open-sesame").decode()


@pytest.mark.parametrize(("status", "requests"), [(407, 1), (403, 1), (502, 3)])
def test_a_proxy_that_refuses_is_named_as_such(
    serve: Serve, lead_through: LeadThrough, openai: Any, put: Put, status: int, requests: int
) -> None:
    server = serve(openai.reply())
    proxy = lead_through(server, refuses_with=status)
    login = f"http://me:open-sesame@127.0.0.1:{proxy.port}"

    answer = put(openai.model(server, base_url="https://judge.example", proxy=login, max_transport_attempts=3))

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith(f"proxy: the proxy answered HTTP {status}: Refused")
    assert "open-sesame" not in str(answer)
    assert len(answer.attempts) == len(proxy.seen) == requests


@pytest.mark.parametrize(
    ("login", "secret"),
    [
        ("tok-as-a-name@", "tok-as-a-name"),
        ("tok-as-a-name:@", "tok-as-a-name"),
        ("tok%2Das-a-name:x@", "tok-as-a-name"),
        ("me:open-sesame@", "open-sesame"),
        ("me:open%2Dsesame@", "open-sesame"),
        ("me:open-sesame@", base64.b64encode(b"me:open-sesame").decode()),
    ],
)
def test_the_login_of_a_proxy_is_hidden_in_what_the_proxy_says(
    serve: Serve, openai: Any, put: Put, lead_through: Callable[..., Any], login: str, secret: str
) -> None:
    server = serve(openai.reply())
    proxy = lead_through(server, says=f"HTTP/1.1 407 who is {secret}\r\n\r\n".encode())
    model = openai.model(
        server,
        base_url="https://judge.example",
        proxy=f"http://{login}127.0.0.1:{proxy.port}",
        max_transport_attempts=1,
    )

    answer = put(model)

    assert isinstance(answer, Unanswered)
    assert answer.error == "proxy: the proxy answered HTTP 407: who is ***"
    assert secret not in repr(model) + str(model.identity) + repr(answer)


def test_a_proxy_that_is_not_there_is_named_as_such(serve: Serve, openai: Any, put: Put) -> None:
    server = serve(openai.reply())

    answer = put(
        openai.model(server, base_url="https://judge.example", proxy="http://127.0.0.1:1", max_transport_attempts=1)
    )

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("proxy: cannot connect to the proxy: ")


def test_logins_in_a_netrc_file_are_not_sent(
    serve: Serve, openai: Any, put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password open-sesame\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HOME", str(tmp_path))
    server = serve({"json": {"message": {"content": "Paris"}}})

    reply = put(OLLAMA("m", base_url=server.origin))

    assert isinstance(reply, Reply)
    assert "authorization" not in server.requests[0].headers
