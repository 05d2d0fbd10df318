"""Reading the environment for a model: keys, addresses, ``${NAME}`` references, proxies."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from evenhand.domain.errors import ConfigError, MissingKeyError
from evenhand.domain.secret import Secret
from evenhand.models.proxies import environment_proxy

# Variables with such names hold what must not be seen.
SECRET_NAMES = re.compile(r"auth|key|token|secret|password", re.IGNORECASE)
# Longer than any server takes.
_LONGEST_URL = 8192
# Of a value that is a whole URL, "v1" may be shown.
_LEAST_PART = 4
_SCHEME_PARTS = frozenset({"http:", "https:", "http", "https"})
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def variable(*names: str) -> str | None:
    """Give the value of the first variable that is set; a blank one counts as unset."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)


def set_variable(*names: str) -> str | None:
    """Give the name of the first variable that is set."""
    return next((name for name in names if variable(name)), None)


class Expanded(NamedTuple):
    """A text with the values of variables in place of ``${NAME}``, and these values by name: they are secrets."""

    text: str
    values: dict[str, str]

    def secrets(self, *, are_credentials: bool = False) -> list[Secret]:
        """Give the values as secrets; those of variables with names such as ``MY_TOKEN`` are credentials anywhere."""
        return [
            Secret(value, is_credential=are_credentials or SECRET_NAMES.search(name) is not None)
            for name, value in self.values.items()
        ]


def references(text: str) -> list[str]:
    """Give the names of the variables to which a text refers as ``${NAME}``."""
    return list(dict.fromkeys(_REFERENCE.findall(text)))


def expanded(text: str, where: str) -> Expanded:
    """Put the values of variables in place of ``${NAME}``."""
    values: dict[str, str] = {}
    for name in _REFERENCE.findall(text):
        value = variable(name)
        if value is None:
            raise MissingKeyError(f"{where} refers to {name}, which is not set")
        values[name] = value
    return Expanded(_REFERENCE.sub(lambda found: values[found[1]], text), values)


def address_secrets(written: Expanded) -> list[Secret]:
    """Give the values in a URL as secrets, and the parts of them that may be seen alone: hosts, and steps of a path."""
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


def program_env(env: Mapping[str, str | Secret], where: str) -> dict[str, str | Secret]:
    """Put variables in place of ``${NAME}`` in what a program shall find; what is secret becomes a ``Secret``."""
    values: dict[str, str | Secret] = {}
    for name, text in env.items():
        if isinstance(text, Secret):
            values[name] = text
            continue
        value = expanded(text, f"{where}: env: {name}")
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
    """Tell whether a URL leads to this machine."""
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
    # A proxy may quote the login as the header has it, or its parts; a token often stands in place of the name.
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
