"""The proxy that the environment wants: which variable counts, and which hosts are asked without one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.domain.reply import Reply, Unanswered
from evenhand.models.environment import base_url_of, environment_proxy, is_exempt, proxy_of
from evenhand.models.providers import OPENAI

Put = Callable[..., Reply | Unanswered]

BOX, OTHER = "http://box:3128", "http://other:3128"


@pytest.mark.parametrize(
    ("url", "variables", "proxy"),
    [
        ("https://api.example/v1", {"HTTPS_PROXY": BOX}, BOX),
        ("http://api.example/v1", {"HTTPS_PROXY": BOX}, None),
        ("http://api.example/v1", {"HTTP_PROXY": BOX}, BOX),
        ("https://api.example/v1", {"HTTP_PROXY": BOX}, None),
        ("https://api.example/v1", {"https_proxy": BOX, "HTTPS_PROXY": OTHER}, BOX),
        ("https://api.example/v1", {"https_proxy": "", "HTTPS_PROXY": OTHER}, None),
        ("https://api.example/v1", {"ALL_PROXY": BOX}, BOX),
        ("http://api.example/v1", {"all_proxy": BOX, "ALL_PROXY": OTHER}, BOX),
        ("https://api.example/v1", {"HTTPS_PROXY": BOX, "all_proxy": OTHER}, BOX),
        ("https://api.example/v1", {"HTTPS_PROXY": " ", "all_proxy": OTHER}, None),
        ("https://api.example/v1", {"HTTPS_PROXY": BOX, "NO_PROXY": "api.example"}, None),
        ("https://api.example/v1", {"HTTPS_PROXY": BOX, "no_proxy": "", "NO_PROXY": "api.example"}, BOX),
        ("https://api.example/v1", {"HTTPS_PROXY": BOX, "no_proxy": "api.example", "NO_PROXY": ""}, None),
        ("https://api.example/v1", {}, None),
    ],
)
def test_the_first_variable_that_is_set_counts(url: str, variables: dict[str, str], proxy: str | None) -> None:
    assert environment_proxy(url, variables) == proxy


def test_what_a_strangers_request_says_is_no_proxy() -> None:
    in_cgi = {"REQUEST_METHOD": "GET", "HTTP_PROXY": "http://attacker.example"}

    assert environment_proxy("http://api.example", in_cgi) is None
    assert environment_proxy("http://api.example", in_cgi | {"ALL_PROXY": BOX}) == BOX
    assert environment_proxy("http://api.example", in_cgi | {"http_proxy": BOX}) == BOX
    assert environment_proxy("https://api.example", in_cgi | {"HTTPS_PROXY": BOX}) == BOX


@pytest.mark.parametrize(
    ("no_proxy", "host", "exempt"),
    [
        ("*", "api.example", True),
        ("elsewhere.example, *", "api.example", True),
        ("api.example", "api.example", True),
        ("API.Example", "api.example", True),
        ("api.example.", "api.example", True),
        ("api.example", "api.example.", True),
        ("example", "api.example", True),
        (".example", "api.example", True),
        ("*.example", "api.example", True),
        (".api.example", "api.example", True),
        ("pi.example", "api.example", False),
        ("api.example.org", "api.example", False),
        ("a.example,api.example", "api.example", True),
        ("  a.example ,\tapi.example  ", "api.example", True),
        ("a.example api.example", "api.example", True),
        (",, ,", "api.example", False),
        (".", "api.example", False),
        ("", "api.example", False),
        ("api.example:443", "api.example", True),
        ("api.example:8443", "api.example", False),
        ("api.example:8443", "api.example:8443", True),
        (".example:8443", "api.example:8443", True),
        ("api.example:", "api.example:8443", True),
        ("api.example:x", "api.example:8443", True),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.1.2.99/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.0.0.0/8", "ten.example", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3:80", "10.1.2.3", False),
        ("2.3", "10.1.2.3", False),
        (".3", "10.1.2.3", False),
        ("10.0.0.0/99", "10.1.2.3", False),
        ("10.0.0.0/8", "[::ffff:10.1.2.3]", True),
        ("fd00::/8", "[fd12::1]", True),
        ("FD00::/8", "[fd12::1]", True),
        ("[fd00::]/8", "[fd12::1]", True),
        ("fd00::/8", "[fe80::1]", False),
        ("fd00::/8", "10.1.2.3", False),
        ("[fd12::1]", "[fd12::1]", True),
        ("fd12:0::1", "[fd12::1]", True),
        ("[fd12::1]:443", "[fd12::1]", True),
        ("[fd12::1]:8443", "[fd12::1]", False),
        ("fe80::1", "[fe80::1%25eth0]", True),
        ("[", "api.example", False),
        ("x" * 100_000, "api.example", False),
    ],
)
def test_hosts_are_exempt_by_name_port_address_and_network(no_proxy: str, host: str, exempt: bool) -> None:
    assert is_exempt(f"https://{host}/v1", no_proxy) is exempt


def test_a_long_list_of_exempt_hosts_is_read_once() -> None:
    def lines_for(entries: int) -> int:
        lines = 0

        def count(frame: Any, event: str, _: object) -> Any:
            nonlocal lines
            code: CodeType = frame.f_code
            lines += event == "line" and code.co_filename.endswith("environment.py")
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            is_exempt("https://api.example", ":" * 40 + ",a.example:8080,[::1]:1," * entries)
        finally:
            sys.settrace(before)
        return lines

    assert lines_for(4000) < 2.1 * lines_for(2000)


def test_a_server_is_reached_through_the_proxy_for_all(
    serve: Callable[..., Any],
    lead_through: Callable[..., Any],
    openai: Any,
    put: Put,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = serve(openai.reply())
    proxy = lead_through(server)
    monkeypatch.setenv("ALL_PROXY", proxy.origin)
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8,judge.example:8080")

    reply = put(openai.model(server, base_url="http://judge.example/v1"))

    assert isinstance(reply, Reply)
    assert [first for first, _ in proxy.seen] == ["POST http://judge.example/v1/chat/completions HTTP/1.1"]


def test_a_socks_proxy_for_all_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5h://box:1080")

    with pytest.raises(
        ConfigError, match=r"the proxy must be like http://host:port; SOCKS and others are not supported"
    ):
        OPENAI("m", api_key="k", base_url="https://judge.example")


def test_an_address_longer_than_any_server_takes_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^here has 60,004 characters; an address has at most 8,192$"):
        base_url_of("a://" + ":" * 60_000, "here")
    with pytest.raises(ConfigError, match=r"^here: proxy has 60,004 characters; an address has at most 8,192$"):
        proxy_of("a://" + ":" * 60_000, "here")


@pytest.mark.parametrize(
    "host", ["a" * 64, "a." * 200, "ü" * 300, "ü." * 120, "1:" * 200], ids=lambda host: ascii(host[:2])
)
def test_a_host_longer_than_names_can_be_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match=r"is not a host name|must be like"):
        OPENAI("m", api_key="k", base_url=f"https://{host}")
