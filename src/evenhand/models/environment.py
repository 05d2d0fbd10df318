"""Read the environment for a model: keys, addresses, ``${NAME}`` references, proxies."""

from __future__ import annotations

import base64
import binascii
import functools
import ipaddress
import logging
import os
import re
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

from evenhand.domain.errors import ConfigError, MissingKeyError
from evenhand.domain.secret import SECRET_NAMES, Secret

ADDRESSES: Final = logging.getLogger("evenhand.addresses")


@functools.cache
def tell_address(model: str, url: str, variable: str) -> None:
    """Log it once, before the first request; the record has the ``variable``, for those who know where it was set."""
    ADDRESSES.warning("%s is asked at %s (%s)", model, url, variable, extra={"variable": variable})


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
    """Return whether a list such as ``localhost, .example, 10.0.0.0/8, box:8080`` names the host of a URL.

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
        name, entry_port = _without_port(entry)
        if entry_port is not None and entry_port != port:
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
        # A network may be in brackets too, with its size behind them.
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


# Longer than any server takes.
_LONGEST_URL = 8192
# Of a value that is a whole URL, "v1" may be shown.
_LEAST_PART = 4
_SCHEME_PARTS = frozenset({"http:", "https:", "http", "https"})
# Headers with such names hold what must not be seen.
_SECRET_HEADERS = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
_SCHEMES = frozenset({"basic", "bearer", "token"})
_MOST_WORDS = 64
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def variable(*names: str) -> str | None:
    """Return the value of the first variable that is set; a blank one counts as unset."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)


def set_variable(*names: str) -> str | None:
    """Return the name of the first variable that is set."""
    return next((name for name in names if variable(name)), None)


class Expanded(NamedTuple):
    """A text with the values of variables in place of ``${NAME}``, and these values by name: they are secrets."""

    text: str
    values: dict[str, str]

    def secrets(self, *, are_credentials: bool = False) -> list[Secret]:
        """Return the values as secrets; those of variables with names such as ``MY_TOKEN`` are credentials anywhere."""
        return [
            Secret(value, is_credential=are_credentials or SECRET_NAMES.search(name) is not None)
            for name, value in self.values.items()
        ]


def references(text: str) -> list[str]:
    """Return the names of the variables to which a text refers as ``${NAME}``."""
    return list(dict.fromkeys(_REFERENCE.findall(text)))


def expanded(text: str, where: str) -> Expanded:
    """Put the values of variables in place of ``${NAME}``."""
    values: dict[str, str] = {}
    for name in _REFERENCE.findall(text):
        value = variable(name)
        if value is None:
            raise MissingKeyError(f"{where} refers to {name}, which is not set")
        values[name] = value
    return Expanded(_REFERENCE.sub(lambda match: values[match[1]], text), values)


def address_secrets(written: Expanded) -> list[Secret]:
    """Return the values in a URL as secrets, and their parts that may be seen alone: hosts, and steps of a path."""
    secrets = written.secrets()
    for whole in secrets[:]:
        parts = [part for part in re.split("[/?#@]", whole.reveal()) if part.lower() not in _SCHEME_PARTS]
        hosts = [part.rpartition(":")[0] for part in parts]
        secrets += [
            Secret(part, is_credential=whole.is_credential)
            for part in dict.fromkeys((*parts, *hosts))
            if len(part) >= _LEAST_PART and part != whole.reveal()
        ]
    return secrets


def header_secrets(name: str, written: Expanded) -> list[Secret]:
    """Return what is secret in the value of a header: the values of variables, and all of it where the name says so."""
    secrets = [Secret(value) for value in written.values.values()]
    if _SECRET_HEADERS.search(name):
        secrets += _secret_words(written.text, are_all_secret=not written.values)
    return secrets


def _secret_words(value: str, *, are_all_secret: bool) -> list[Secret]:
    """Return what is secret in the value of a header: its words, and the login that a word may be in Base64."""
    words = [word for word in value.split(None, _MOST_WORDS) if len(word) > 3 and word.lower() not in _SCHEMES]
    secrets = [Secret(word) for word in words] if are_all_secret else []
    if words and value[:6].lower() == "basic ":
        try:
            login = base64.b64decode(words[0], validate=True).decode()
        except (binascii.Error, ValueError):
            return secrets
        secrets += [Secret(login), Secret(login.partition(":")[2])]
    return secrets


def program_env(env: Mapping[str, str | Secret]) -> dict[str, str | Secret]:
    """Put variables in place of ``${NAME}`` in what a program shall find; what is secret becomes a ``Secret``."""
    values: dict[str, str | Secret] = {}
    for name, text in env.items():
        if isinstance(text, Secret):
            values[name] = text
            continue
        value = expanded(text, f"env: {name}")
        if SECRET_NAMES.search(f"{name} {text}"):
            values[name] = Secret(value.text)
        else:
            values[name] = Secret(value.text, written=text, is_credential=False) if value.values else value.text
    return values


def base_url_of(url: str, where: str, *, bare_port: int | None = None) -> str:
    """Check a base URL; with a ``bare_port``, an address such as ``box`` or ``0.0.0.0:8080`` will do."""
    _refuse_long(url, where)
    if "://" not in url and bare_port is not None:
        url = _with_port(url, bare_port)
    if "@" in (url.partition("://")[2] or url).partition("/")[0]:  # before anything that would show it
        raise ConfigError(f"{where} must not hold a login; use api_key or headers")
    parts = _split(url)
    if parts is None or parts.query or parts.fragment:
        raise ConfigError(f"{where} {url!r:.200} must be like https://host/path, with nothing after the path")
    return url.rstrip("/")


def is_loopback(url: str) -> bool:
    """Return whether a URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def proxy_for(url: str) -> str | None:
    """Find the proxy that HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY want for a URL; for this machine, none."""
    return None if is_loopback(url) else environment_proxy(url)


def proxy_of(url: str, where: str) -> tuple[Secret, list[Secret]]:
    """Check the URL of a proxy, and give the parts of its login too, each of which is a secret of its own."""
    _refuse_long(url, f"{where}: proxy")
    parts = _split(url if "://" in url else f"http://{url}")
    if parts is None:
        raise ConfigError(f"{where}: the proxy must be like http://host:port; SOCKS and others are not supported")
    name, password = parts.username or "", parts.password or ""
    # A proxy may quote the login as the header has it, or its parts; a token often takes the place of the name.
    login = f"{unquote(name)}:{unquote(password)}" if password else ""
    words = dict.fromkeys((name, unquote(name), password, unquote(password), login))
    return Secret(parts.geturl()), [Secret(word) for word in words if word]


def _refuse_long(url: str, where: str) -> None:
    if len(url) > _LONGEST_URL:
        raise ConfigError(f"{where} has {len(url):,} characters; an address has at most {_LONGEST_URL:,}")


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if usable else None


def _with_port(address: str, port: int) -> str:
    host, slash, path = address.partition("/")
    _, colon, digits = host.rpartition(":")
    if not (colon and digits.isdecimal()):
        host = f"{host}:{port}"
    # 0.0.0.0 is where a server listens; a client asks it at home.
    name, colon, digits = host.partition(":")
    return f"http://{'127.0.0.1' if name == '0.0.0.0' else name}{colon}{digits}{slash}{path}"  # noqa: S104
