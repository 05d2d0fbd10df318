"""The head of a request, and the response to it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

import orjson

from evenhand.domain.errors import ConfigError
from evenhand.domain.secret import Secret
from evenhand.models.wire.route import Route, authority, host_and_port
from evenhand.version import __version__

_LONGEST_PAGE = 64 * 1024


class Response(NamedTuple):
    """A response, whole; the names of its headers are in lower case, and what came twice is joined by commas."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        """The body as JSON; None when it is none."""
        try:
            return orjson.loads(self.content)
        except ValueError:
            pass
        try:
            # More patient: with bytes that are no UTF-8, and with lone surrogates.
            return json.loads(self.content.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None

    @property
    def page(self) -> str:
        """The body as text, where it is no JSON, or nobody's error object."""
        return self.content[:_LONGEST_PAGE].decode("utf-8", "replace").strip() or "an empty body"


_UNSENDABLE = re.compile(r"[^\x20-\x7e\x80-\xff]")
# They say where a message ends and what becomes of the connection: two opinions on that are one too many.
_CLIENTS_OWN = frozenset(
    {"connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
# What may stand in a path and a query as it is; a percent sign too, since a URL is quoted already where it has to be.
_PLAIN = "!$%&'()*+,/:;=?@~[]"


def request_head(url: str, headers: Mapping[str, str | Secret], route: Route) -> bytes:
    """Write the head of a POST as far as the length of its body, which is to follow with two line breaks."""
    parts = urlsplit(url)
    target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_PLAIN)
    host, port = host_and_port(parts)
    # A port that goes without saying is not said: some servers compare the name with their own, letter by letter.
    named = authority(host, port) if parts.port else authority(host, port).rpartition(":")[0]
    sent: dict[str, str | Secret] = {"host": named, "accept": "*/*", "user-agent": f"evenhand/{__version__}"}
    if route.is_forwarded:
        target = f"{parts.scheme}://{named}{target}"
        sent |= proxy_login(route)
    for name, value in headers.items():
        if name.lower() in _CLIENTS_OWN:
            raise ConfigError(f"header {name} cannot be set; the client says it by itself")
        sent[name.lower()] = value
    lines = [f"POST {target} HTTP/1.1", *(_line(name, value) for name, value in sent.items()), "content-length: "]
    return "\r\n".join(lines).encode("latin-1")


def connect_head(route: Route) -> bytes:
    """Write the request for a tunnel through the proxy. Nothing in it is meant for the server, the key least of all."""
    where = authority(route.host, route.port)
    sent: dict[str, str | Secret] = {"host": where, "user-agent": f"evenhand/{__version__}", **proxy_login(route)}
    lines = [f"CONNECT {where} HTTP/1.1", *(_line(name, value) for name, value in sent.items()), "\r\n"]
    return "\r\n".join(lines).encode("latin-1")


def proxy_login(route: Route) -> dict[str, Secret]:
    """Return the header with which a proxy is told the name and password in its URL, if it has any."""
    parts = urlsplit(route.proxy.reveal() if route.proxy else "")
    if not (parts.username or parts.password):
        return {}
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return {"proxy-authorization": Secret("Basic " + base64.b64encode(login.encode()).decode())}


def _line(name: str, value: str | Secret) -> str:
    text = value if isinstance(value, str) else value.reveal()
    if _UNSENDABLE.search(text):  # named, and not shown: it may be a key
        raise ConfigError(f"header {name} has a character that cannot be sent, such as a line break")
    return f"{name}: {text}"
