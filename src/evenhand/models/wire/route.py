"""The route to a server, whose certificates are trusted, and the head of a request over it."""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

from evenhand.domain.errors import ConfigError, about
from evenhand.domain.secret import Secret
from evenhand.version import __version__

if TYPE_CHECKING:
    import ssl


@functools.cache
def trusting(ca_file: str | None) -> ssl.SSLContext:
    """Trust the certificate authorities in a file, and no others; without a file, those of the system."""
    import ssl  # noqa: PLC0415 - for servers that are asked over TLS

    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # ssl.SSLError is one too
        why = error.strerror if error.filename or not isinstance(error, ssl.SSLError) else "it holds no certificates"
        raise ConfigError(f"ca_file {ca_file!r} cannot be used: {why or error}", key="ca_file") from None
    context.set_alpn_protocols(["http/1.1"])
    return context


_PORTS = {"http": 80, "https": 443}
# Names, and addresses of either kind. What else there is would mean something else in the line of a request.
_HOST = re.compile(r"[\w~-]{1,63}+(?:[.][\w~-]{1,63}+)*+[.]?|[0-9a-f]*+:[0-9a-f:.]*+(?:%[\w.~-]++)?", re.ASCII)
_LONGEST_HOST = 255
# Where the rules for names of 2003, which Python knows, lead to another host than those of 2008.
_AMBIGUOUS = re.compile("[ßς\u200c\u200d]")


class Route(NamedTuple):
    """Where a connection leads, through which proxy, and whom it trusts on the way.

    ``origin`` is the server's scheme and host as the user wrote them, for messages.
    """

    origin: str
    host: str
    port: int
    is_encrypted: bool
    proxy: Secret | None = None
    ca_file: str | None = None

    @property
    def is_forwarded(self) -> bool:
        """Whether a proxy reads the requests and passes them on; to encrypted servers it only opens a tunnel."""
        return self.proxy is not None and not self.is_encrypted


def route_to(url: str, proxy: Secret | None = None, ca_file: str | None = None) -> Route:
    """Find the way to a URL."""
    parts = urlsplit(url)
    if "@" in parts.netloc:  # not shown here, nor in any message about this origin
        raise ConfigError("the URL of a server must not hold a login")
    host, port = host_and_port(parts)
    if proxy is not None:
        with about("proxy"):
            host_and_port(urlsplit(proxy.reveal()))  # complains now of what cannot be asked
    return Route(f"{parts.scheme}://{parts.netloc}", host, port, parts.scheme == "https", proxy, ca_file)


def host_and_port(parts: SplitResult) -> tuple[str, int]:
    """Return where a URL leads, with names such as bücher.example in the letters that the network knows."""
    host = (parts.hostname or "").replace("%25", "%")  # before the zone of an address, where a URL quotes it
    if _AMBIGUOUS.search(host):
        raise ConfigError(f"{host!r:.100} leads to one host by old rules, to another by new; write it as xn--…")
    try:
        encoded = host if host.isascii() else host[:_LONGEST_HOST].encode("idna").decode()
    except UnicodeError:
        encoded = ""
    if len(host) > _LONGEST_HOST or len(encoded) > _LONGEST_HOST or not _HOST.fullmatch(encoded):
        raise ConfigError(f"{host!r:.100} is not a host name")
    return encoded, parts.port or _PORTS[parts.scheme]


def authority(host: str, port: int) -> str:
    """Write a host and its port as HTTP does; the zone of an address means something on this machine alone."""
    return f"[{host.partition('%')[0]}]:{port}" if ":" in host else f"{host}:{port}"


def certified(host: str) -> str:
    """Return the name that a host has in its certificate, which knows neither zones nor a dot at the end."""
    return host.partition("%")[0].removesuffix(".")


_UNSENDABLE = re.compile(r"[^\x20-\x7e\x80-\xff]")
# They say where a message ends and what becomes of the connection: two opinions on that are one too many.
_CLIENTS_OWN = frozenset(
    {"connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
# What may be in a path and a query as it is; a percent sign too, since a URL is quoted already where it has to be.
_PLAIN = "!$%&'()*+,/:;=?@~[]"


def request_head(url: str, headers: Mapping[str, str | Secret], route: Route, method: str = "POST") -> bytes:
    """Write the head of a request as far as the length of its body, which is to follow with two line breaks."""
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
            raise ConfigError(f"header {name} cannot be set; the client says it by itself", key="headers")
        sent[name.lower()] = value
    lines = [f"{method} {target} HTTP/1.1", *(_line(name, value) for name, value in sent.items()), "content-length: "]
    return "\r\n".join(lines).encode("latin-1")


def connect_head(route: Route) -> bytes:
    """Write the request for a tunnel through the proxy. Nothing in it is meant for the server, the key least of all."""
    where = authority(route.host, route.port)
    sent: dict[str, str | Secret] = {"host": where, "user-agent": f"evenhand/{__version__}", **proxy_login(route)}
    lines = [f"CONNECT {where} HTTP/1.1", *(_line(name, value) for name, value in sent.items()), "\r\n"]
    return "\r\n".join(lines).encode("latin-1")


def proxy_login(route: Route) -> dict[str, Secret]:
    """Return the header that gives a proxy the name and password in its URL, if it has any."""
    parts = urlsplit(route.proxy.reveal() if route.proxy else "")
    if not (parts.username or parts.password):
        return {}
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return {"proxy-authorization": Secret("Basic " + base64.b64encode(login.encode()).decode())}


def _line(name: str, value: str | Secret) -> str:
    text = value if isinstance(value, str) else value.reveal()
    if _UNSENDABLE.search(text):  # named, and not shown: it may be a key
        raise ConfigError(f"header {name} has a character that cannot be sent, such as a line break", key="headers")
    return f"{name}: {text}"
