"""The messages in a case: each needs a role that somebody knows, and something that it says."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

from evenhand.domain.ask import messages_from
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.suites.values import MOST_GUESSED, Fault, Listed, Mapped, plain

ROLES: Final = ("system", "user", "assistant", "tool", "developer", "function", "human", "ai", "model")
_NEEDED: Final = ("role", "content")


def message_faults(key: str, given: Listed) -> Iterator[Fault]:
    """Find what is wrong with the messages under a key; roles are checked in files only, where nobody else does."""
    for one, line in zip(given, given.lines, strict=True):
        try:
            messages_from([plain(one)])
        except ConfigError as error:
            yield Fault(line, f"{key}: {error}{_nearest(one)}")
        if isinstance(one, Mapped):
            written = "role" if one.get("role") else "type"
            role = one.get(written)
            if isinstance(role, str) and role not in ROLES:
                near = did_you_mean(role[:MOST_GUESSED], ROLES)
                yield Fault(one.lines.get(written, line), f"{key}: no role {role!r:.80}{near}")


def _nearest(one: object) -> str:
    """Name the key that was probably meant by another one."""
    missing = [name for name in _NEEDED if isinstance(one, dict) and name not in one]
    for key in one if isinstance(one, dict) else ():
        if key not in _NEEDED and (near := difflib.get_close_matches(str(key)[:MOST_GUESSED], missing, n=1)):
            return f"; for {key!r:.80}, did you mean {near[0]!r}?"
    return ""
