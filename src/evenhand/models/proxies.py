"""Which proxy the environment wants for a server, by HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, as in curl."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"

_PORTS = {"http": 80, "https": 443}
# A name has at most 253 characters; what is longer means no host.
_LONGEST_ENTRY = 300


def environment_proxy(url: str, variables: Mapping[str, str] = os.environ) -> str | None:
    """Return the proxy that the variables want for a URL, or None where they want none.

    >>> environment_proxy("https://api.example", {"ALL_PROXY": "http://box:3128"})
    'http://box:3128'
    >>> environment_proxy("https://api.example", {"ALL_PROXY": "http://box:3128", "NO_PROXY": ".example"}) is None
    True
    """
    scheme = urlsplit(url).scheme
    names = [f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY"]
    if "REQUEST_METHOD" in variables:  # a web server's CGI, where HTTP_PROXY is what a stranger's request says
        names = [name for name in names if name != "HTTP_PROXY"]
    proxy = _first_set(variables, names)
    if not proxy or is_exempt(url, _first_set(variables, ["no_proxy", "NO_PROXY"])):
        return None
    return proxy


def is_exempt(url: str, no_proxy: str) -> bool:
    """Tell whether a list such as ``localhost, .example, 10.0.0.0/8, box:8080`` names the host of a URL.

    A name stands for itself and all names below it, a network for its addresses, and ``*`` for everything. Names are
    not looked up: a network never stands for one.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").partition("%")[0].removesuffix(".")
    port = parts.port or _PORTS.get(parts.scheme, 0)
    address = _address(host)
    for entry in no_proxy.lower().replace(",", " ").split():
        if len(entry) > _LONGEST_ENTRY:
            continue
        name, wanted = _without_port(entry)
        if wanted is not None and wanted != port:
            continue
        if name == "*" or (_is_in(address, name) if address is not None else _is_below(host, name)):
            return True
    return False


def _first_set(variables: Mapping[str, str], names: list[str]) -> str:
    """Return the value of the first variable that is set, even to nothing: so a proxy is switched off."""
    return next((variables[name].strip() for name in names if name in variables), "")


def _without_port(entry: str) -> tuple[str, int | None]:
    """Split ``box:8080`` and ``[::1]:8080``; what has several colons and no brackets is an address."""
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        # A network may stand in brackets too, with its size behind them.
        return (name + rest, None) if rest.startswith("/") else (name, _port(rest.removeprefix(":")))
    name, colon, port = entry.rpartition(":")
    return (name, _port(port)) if colon and ":" not in name else (entry, None)


def _port(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


def _is_below(host: str, name: str) -> bool:
    name = name.removeprefix("*").strip(".")
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _is_in(address: Address, name: str) -> bool:
    try:
        network = ipaddress.ip_network(name.partition("%")[0], strict=False)
    except ValueError:
        return False
    return network.version == address.version and address in network


def _address(host: str) -> Address | None:
    """Read an address; one of IPv4 in the form of IPv6 is what it stands for."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
