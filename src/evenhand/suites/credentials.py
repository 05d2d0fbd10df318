"""Finding secrets that were written into a suite, without ever showing them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from evenhand.models.environment import SECRET_NAMES
from evenhand.suites.values import Fault, Mapped, walk

_REFERENCE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_KEY: Final = re.compile(r"api_?key", re.IGNORECASE)
_HEADER: Final = re.compile(r"(?:proxy-)?authorization|cookie|(?:.*-)?(?:api-key|token|secret)", re.IGNORECASE)
_SCHEME: Final = re.compile(r"\s*(?:basic|bearer|token)?\s*", re.IGNORECASE)
_LOGIN: Final = re.compile(r"[a-z]+://[^/@]*:(?P<password>[^/@]+)@", re.IGNORECASE)


def literal_credentials(value: Any, line: int) -> Iterator[Fault]:
    """Find keys, headers and logins that are no references such as ``${OPENAI_API_KEY}`` (SPEC-S1)."""
    for key, one, where in walk(value, line):
        if key is None:
            continue
        if _KEY.fullmatch(key) and not isinstance(one, (dict, list, bool)) and one is not None:
            if not isinstance(one, str) or not _REFERENCE.fullmatch(one.strip()):
                yield Fault(where, f"{key} is written out; a key stands in the environment: write {key}: ${{NAME}}")
        elif key == "headers" and isinstance(one, dict):
            yield from _in_headers(one, where)
        elif key == "env" and isinstance(one, dict):
            yield from _in_env(one, where)
        elif key == "proxy" and isinstance(one, str) and _has_password(one):
            yield Fault(where, "proxy has a password; write ${NAME} in its place")


def without_credentials(value: Any) -> Any:
    """Leave out what has a credential written out in it, so that the rest can be checked; the same if nothing has."""
    secret = [key for key in value if any(literal_credentials({key: value[key]}, 0))] if isinstance(value, dict) else []
    for key in secret:
        value = value.without(key) if isinstance(value, Mapped) else {one: value[one] for one in value if one != key}
    return value


def _has_password(url: str) -> bool:
    login = _LOGIN.match(url)
    return login is not None and not _REFERENCE.fullmatch(login["password"])


def _in_env(env: dict[str, Any], line: int) -> Iterator[Fault]:
    lines = getattr(env, "lines", {})
    for name, value in env.items():
        if SECRET_NAMES.search(name) and isinstance(value, str) and value.strip() and not _REFERENCE.search(value):
            told = f"env: {name} is written out; a secret stands in the environment: write {name}: ${{{name}}}"
            yield Fault(lines.get(name, line), told)


def _in_headers(headers: dict[str, Any], line: int) -> Iterator[Fault]:
    lines = getattr(headers, "lines", {})
    for name, value in headers.items():
        if not isinstance(value, str) or not _HEADER.fullmatch(name):
            continue
        rest, references = _REFERENCE.subn("", value)
        # A cookie is a list of pairs, of which some may be for all to see.
        if not (_SCHEME.fullmatch(rest) or (references and name.lower() == "cookie")):
            told = f"the header {name} is written out; a secret stands in the environment: write ${{NAME}} in its place"
            yield Fault(lines.get(name, line), told)
