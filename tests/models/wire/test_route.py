"""A URL leads to one host, by whatever rules it is read."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from evenhand.domain.errors import ConfigError
from evenhand.models.providers import OPENAI
from evenhand.models.wire import dial
from evenhand.models.wire.dial import reach
from evenhand.models.wire.route import connect_head, request_head, route_to


@pytest.mark.parametrize("host", ["faß.example", "βόλος.example", "a\u200db.example", "a\u200cb.example"])
def test_a_name_that_leads_to_two_hosts_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match="leads to one host by old rules, to another by new; write it as xn--…"):
        route_to(f"http://{host}/v1")


@pytest.mark.parametrize("url", ["https://me:s3cret@host/v1", "https://me:s3cret@host/a://b", "http://s3cret@host"])
def test_a_login_in_a_url_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ConfigError, match="must not hold a login") as caught:
        OPENAI("m", api_key="k", base_url=url)

    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("written", ["[fe80::1%25eth0]", "[fe80::1%eth0]"])
def test_the_zone_of_an_address_is_for_this_machine_and_not_told(written: str) -> None:
    url = f"https://{written}:81/v1"
    route = route_to(url)

    heads = request_head(url, {}, route) + connect_head(route)

    assert route.host == "fe80::1%eth0"
    assert b"\r\nhost: [fe80::1]:81\r\n" in heads
    assert heads.split(b"CONNECT ")[1].startswith(b"[fe80::1]:81 ")


def test_a_name_with_a_dot_at_its_end_has_the_certificate_of_the_name(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("judge.example").configure_cert(tls)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    server = serve({"json": 1}, tls=tls)
    # No test asks the network for a name.
    monkeypatch.setattr(dial, "reach", lambda host, port: reach("127.0.0.1", port))

    async def story() -> bool:
        connection = await dial.dial(
            route_to(f"https://judge.example.:{server.port}", ca_file=str(tmp_path / "ca.pem"))
        )
        try:
            return connection.is_open
        finally:
            connection.close()
            await asyncio.sleep(0)

    assert asyncio.run(story())
