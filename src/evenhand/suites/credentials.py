"""Finding secrets that were written into a suite, without ever showing them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from evenhand.domain.secret import SECRET_NAMES
from evenhand.suites.values import Fault, Mapped, walk

_REFERENCE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_KEY: Final = re.compile(r"api_?key", re.IGNORECASE)
_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie"})
_HEADER_ENDS: Final = ("api-key", "token", "secret")
_SCHEMES: Final = frozenset({"", "basic", "bearer", "token"})


def literal_credentials(value: Any, line: int) -> Iterator[Fault]:
    """Find keys, headers and logins that are no references such as ``${OPENAI_API_KEY}`` (SPEC-S1)."""
    for key, item, where in walk(value, line):
        if key is None:
            continue
        if _KEY.fullmatch(key) and not isinstance(item, (dict, list, bool)) and item is not None:
            if not isinstance(item, str) or not _REFERENCE.fullmatch(item.strip()):
                yield Fault(where, f"{key} is written out; keys belong in the environment: write {key}: ${{NAME}}")
        elif key == "headers" and isinstance(item, dict):
            yield from _header_faults(item, where)
        elif key == "env" and isinstance(item, dict):
            yield from _env_faults(item, where)
        elif key == "proxy" and isinstance(item, str) and _has_password(item):
            yield Fault(where, "proxy has a password or a token; write ${NAME} in its place")


def without_credentials(value: Any) -> Any:
    """Leave out what has a credential written out in it, so that the rest can be checked; the same if nothing has."""
    secret = [key for key in value if any(literal_credentials({key: value[key]}, 0))] if isinstance(value, dict) else []
    for key in secret:
        value = (
            value.without(key) if isinstance(value, Mapped) else {name: value[name] for name in value if name != key}
        )
    return value


def _has_password(url: str) -> bool:
    """Return whether the login in a URL has a password that is no reference, or is only a name, which is a token."""
    authority, at, _ = url.partition("://")[2].partition("/")[0].rpartition("@")
    name, colon, password = authority.partition(":")
    return bool(at) and not _REFERENCE.fullmatch(password if colon and password else name)


def _is_secret_header(name: str) -> bool:
    """Return whether a header is one for secrets: ``X-Api-Key``, ``api-key``, but not ``Monkey-Tokens``."""
    name = name.lower()
    ending = next((suffix for suffix in _HEADER_ENDS if name.endswith(suffix)), None)
    return name in _HEADERS or (ending is not None and name.removesuffix(ending)[-1:] in ("", "-"))


def _env_faults(env: dict[str, Any], line: int) -> Iterator[Fault]:
    lines = getattr(env, "lines", {})
    for name, value in env.items():
        if SECRET_NAMES.search(name) and isinstance(value, str) and value.strip() and not _REFERENCE.search(value):
            problem = f"env: {name} is written out; secrets belong in the environment: write {name}: ${{{name}}}"
            yield Fault(lines.get(name, line), problem)


def _header_faults(headers: dict[str, Any], line: int) -> Iterator[Fault]:
    lines = getattr(headers, "lines", {})
    for name, value in headers.items():
        if not isinstance(value, str) or not _is_secret_header(name):
            continue
        rest, references = _REFERENCE.subn("", value)
        # A cookie is a list of pairs, of which some may be for all to see.
        if not (rest.strip().lower() in _SCHEMES or (references and name.lower() == "cookie")):
            problem = (
                f"the header {name} is written out; secrets belong in the environment: write ${{NAME}} in its place"
            )
            yield Fault(lines.get(name, line), problem)
