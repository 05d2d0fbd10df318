"""What is sent before a body: all that the server needs, and nothing that somebody slipped in."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.domain.secret import Secret
from evenhand.models.providers import OPENAI
from evenhand.models.wire.route import connect_head, request_head, route_to


def head_of(url: str, proxy: str | None = None, **headers: Any) -> list[str]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    route = route_to(url, Secret(proxy) if proxy else None)
    return request_head(url, named, route).decode("latin-1").split("\r\n")


@pytest.mark.parametrize(
    ("url", "first", "host"),
    [
        ("http://box/v1/chat", "POST /v1/chat HTTP/1.1", "box"),
        ("http://box:8080", "POST / HTTP/1.1", "box:8080"),
        ("https://judge.example:443/v1?a=b&c=%20", "POST /v1?a=b&c=%20 HTTP/1.1", "judge.example:443"),
        ("http://[::1]:8080/v1", "POST /v1 HTTP/1.1", "[::1]:8080"),
        ("http://[::1]/v1", "POST /v1 HTTP/1.1", "[::1]"),
        ("http://bücher.example/straße?ü", "POST /stra%C3%9Fe?%C3%BC HTTP/1.1", "xn--bcher-kva.example"),
        ("http://box/a b\r\nX-Evil: 1", "POST /a%20bX-Evil:%201 HTTP/1.1", "box"),
        ("http://box/v1/models/m:generate", "POST /v1/models/m:generate HTTP/1.1", "box"),
    ],
)
def test_a_url_is_written_as_http_wants_it(url: str, first: str, host: str) -> None:
    lines = head_of(url)

    assert (lines[0], lines[1]) == (first, f"host: {host}")


def test_a_proxy_that_reads_requests_gets_the_whole_url_and_its_login() -> None:
    lines = head_of("http://judge.example/v1", "http://me:p%40ss@proxy:3128")

    assert lines[0] == "POST http://judge.example/v1 HTTP/1.1"
    assert "proxy-authorization: Basic bWU6cEBzcw==" in lines


def test_a_proxy_without_a_login_gets_none() -> None:
    assert "proxy-authorization" not in str(head_of("http://judge.example/v1", "http://proxy:3128"))


def test_a_tunnel_is_asked_for_without_the_path() -> None:
    route = route_to("https://[::1]/secret/path", Secret("http://me:p%40ss@proxy:3128"))

    lines = connect_head(route).decode().split("\r\n")

    assert lines[0] == "CONNECT [::1]:443 HTTP/1.1"
    assert "proxy-authorization: Basic bWU6cEBzcw==" in lines
    assert lines[-2:] == ["", ""]
    assert "secret" not in str(lines)


def test_the_users_headers_win_and_the_length_comes_last() -> None:
    lines = head_of("http://box/", User_Agent="me", Host="gateway", x_team="Zürich", authorization=Secret("k"))

    assert lines[1:] == [
        "host: gateway", "accept: */*", "user-agent: me", "x-team: Zürich", "authorization: k", "content-length: ",
    ]  # fmt: skip


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0b", "a\x7f", "日本", "a\ud800"])
@pytest.mark.parametrize("secret", [False, True])
def test_a_value_that_cannot_be_sent_is_refused_by_name(value: str, secret: bool) -> None:
    with pytest.raises(ConfigError) as caught:
        head_of("http://box/", x_key=Secret(value) if secret else value)

    assert str(caught.value) == "header x-key has a character that cannot be sent, such as a line break"


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection", "Expect", "Upgrade"])
def test_what_the_client_says_by_itself_cannot_be_set(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        OPENAI("m", api_key="k", headers={name: "7"})

    assert str(caught.value) == f"openai/m: header {name.lower()} cannot be set; the client says it by itself"


@pytest.mark.parametrize("host", ["a b", "a..b", "x" * 64, "bü..cher", "a,b", "a\\b", "a'b", "[::1%25a b]"])
@pytest.mark.parametrize("by", ["base_url", "proxy"])
def test_a_host_that_nobody_can_have_is_refused_before_anything_is_sent(host: str, by: str) -> None:
    given = {"base_url": "http://judge.example", by: f"http://{host}:80"}

    with pytest.raises(ConfigError, match=r"openai/m: .* is not a host name"):
        OPENAI("m", api_key="k", **given)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "my_service",
        "10.0.0.1",
        "a.b.example.",
        "[::1]",
        "[fe80::1%25eth0]",
        "[::ffff:10.0.0.1]",
        "bücher.example",
    ],
)
def test_hosts_that_there_are_can_be_asked(host: str) -> None:
    assert OPENAI("m", api_key="k", base_url=f"http://{host}:8080", proxy=f"http://{host}:80")
