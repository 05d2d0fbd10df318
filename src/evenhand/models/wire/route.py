"""The route to a server: what requests must share to use one connection, and which certificates are trusted."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, urlsplit

from evenhand.domain.errors import ConfigError
from evenhand.domain.secret import Secret

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
        raise ConfigError(f"ca_file {ca_file!r} cannot be used: {why or error}") from None
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
        host_and_port(urlsplit(proxy.reveal()))  # complains now of what cannot be asked
    return Route(f"{parts.scheme}://{parts.netloc}", host, port, parts.scheme == "https", proxy, ca_file)


def host_and_port(parts: SplitResult) -> tuple[str, int]:
    """Return where a URL leads, with names such as bücher.example in the letters that the network knows."""
    host = (parts.hostname or "").replace("%25", "%")  # before the zone of an address, where a URL quotes it
    if _AMBIGUOUS.search(host):
        raise ConfigError(f"{host!r:.100} leads to one host by old rules, to another by new; write it as xn--…")
    try:
        known = host if host.isascii() else host[:_LONGEST_HOST].encode("idna").decode()
    except UnicodeError:
        known = ""
    if len(host) > _LONGEST_HOST or len(known) > _LONGEST_HOST or not _HOST.fullmatch(known):
        raise ConfigError(f"{host!r:.100} is not a host name")
    return known, parts.port or _PORTS[parts.scheme]


def authority(host: str, port: int) -> str:
    """Write a host and its port as HTTP does; the zone of an address means something on this machine alone."""
    return f"[{host.partition('%')[0]}]:{port}" if ":" in host else f"{host}:{port}"


def certified(host: str) -> str:
    """Return the name that a host has in its certificate, which knows neither zones nor a dot at the end."""
    return host.partition("%")[0].removesuffix(".")
