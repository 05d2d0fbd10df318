r"""Patterns, of schemas and of the regex check: which engine can decide them, and at what price.

The linear engine takes time in proportion to the text, but also to the size of the compiled pattern, and
``(?:[a-z]{1,500}){1,20}x`` is large: it needs milliseconds for a single character. So patterns are distinguished by
their compiled size. Look-around and references back need the other engine, which backtracks; it is given a number of
steps, and a text for which they do not suffice counts as undecided, never as a mismatch.

Both read ECMAScript's dialect: a pattern matches anywhere unless anchored, ``\d`` and ``\w`` are ASCII, ``$`` is the
very end of the text, ``.`` is no line break, ``(?i)`` ignores case.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from typing import Any, Final, NoReturn

from evenhand.domain.errors import ConfigError

MAX_LENGTH: Final = 10_000
# Each takes up to 40 ms and 10 MiB to compile.
MAX_LARGE: Final = 20
BACKTRACKING_STEPS: Final = 100_000


class Kind(IntEnum):
    """How a pattern is decided, from cheap to dear."""

    SMALL = 1
    LARGE = 2
    HUGE = 3
    LOOKING = 4  # looks around or refers back


# Compiled bytes. The worst that was measured for one character of text: 7 µs, 0.2 ms, 5 ms.
_SIZES = {Kind.SMALL: 16 << 10, Kind.LARGE: 1 << 20, Kind.HUGE: 10 << 20, Kind.LOOKING: 1 << 20}


def kinds_of(patterns: Mapping[str, str]) -> dict[str, Kind]:
    """Return how the patterns of a schema are decided, each given with its place; refuse what is too much."""
    kinds: dict[str, Kind] = {}
    large = 0
    for pattern, place in patterns.items():
        if len(pattern) > MAX_LENGTH:
            raise ConfigError(f"{place} has a pattern of {len(pattern)} characters; at most {MAX_LENGTH} are allowed")
        kind = kind_of(pattern)
        if kind is None:
            raise ConfigError(f"{place} has {pattern!r:.120}, which is not a regular expression, or is too large")
        large += kind is not Kind.SMALL
        if large > MAX_LARGE:
            raise ConfigError(f"it has more than {MAX_LARGE} large patterns; + in place of {{1,300}} makes them small")
        kinds[pattern] = kind
    return kinds


@functools.lru_cache(maxsize=1024)
def kind_of(pattern: str) -> Kind | None:
    """Return how a pattern is decided; None if it is no pattern, or compiles to more than 10 MiB."""
    import jsonschema_rs  # noqa: PLC0415 - only where patterns are used

    for kind in Kind:
        try:
            jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=engine({kind}), retriever=refuse)
        except ValueError:
            continue
        return kind
    return None


def engine(kinds: Collection[Kind]) -> Any:
    """Return the cheapest engine that can decide patterns of these kinds."""
    import jsonschema_rs  # noqa: PLC0415 - only where patterns are used

    size = max((_SIZES[kind] for kind in kinds), default=_SIZES[Kind.SMALL])
    if Kind.LOOKING in kinds:
        return jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKING_STEPS, size_limit=size)
    return jsonschema_rs.RegexOptions(size_limit=size)


def undecided(pattern: str, texts: Iterable[str]) -> str | None:
    """Return the first text on which a pattern that looks around could not be decided.

    The validator reports it only when such a pattern is alone: below ``not`` or ``anyOf`` it would take the text for a
    mismatch and give a wrong verdict. So each is tried alone first.
    """
    import jsonschema_rs  # noqa: PLC0415 - only where patterns are used

    for error in _pattern_validator(pattern).iter_errors(list(texts)):
        if not isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Pattern):
            return str(error.instance)
    return None


@functools.lru_cache(maxsize=64)
def _pattern_validator(pattern: str) -> Any:
    import jsonschema_rs  # noqa: PLC0415 - only where patterns are used

    schema = {"items": {"pattern": pattern}}
    return jsonschema_rs.validator_for(schema, pattern_options=engine({Kind.LOOKING}), retriever=refuse)


def refuse(uri: str) -> NoReturn:
    """Stand in for the network: whatever a schema refers to, it is not fetched."""
    raise LookupError(f"{uri} is not fetched")
