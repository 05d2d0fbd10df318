"""Slices: the cases of a run by a key of their metadata, such as their language."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from evenhand.domain.errors import ConfigError, did_you_mean

MOST_KEYS: Final = 20
# Where a key has more values, it names no kind of case.
MOST_VALUES: Final = 50
# A slice with fewer scored cases is too small to say how it differs from the others.
FEW: Final = 20
TOO_FEW: Final = "too few to say"
# The slice of the cases that have no value for the key.
NONE: Final = "(none)"
# The slice of lists, mappings and the like, which only a run that was made elsewhere may have.
_OTHER: Final = "(other)"
_MOST_KNOWN: Final = 1000
_MOST_SHOWN: Final = 20
_MOST_GUESSED: Final = 200


def slice_keys(keys: object) -> tuple[str, ...]:
    """Return the keys of metadata that a user slices by; raises ``ConfigError`` for what is no list of texts.

    >>> slice_keys(["lang", "topic"])
    ('lang', 'topic')
    """
    if keys is None:
        return ()
    if not isinstance(keys, list | tuple) or not all(isinstance(key, str) and key for key in keys):
        raise ConfigError(f"slices must be a list of keys of the cases' metadata such as ['lang'], not {keys!r:.80}")
    return few_keys(dict.fromkeys(keys), "slices")


def few_keys(keys: Iterable[str], where: str) -> tuple[str, ...]:
    """Return the keys, unless they are too many."""
    several = tuple(keys)
    if len(several) > MOST_KEYS:
        raise ConfigError(f"{where} has {len(several)} keys; at most {MOST_KEYS} are allowed")
    return several


def slice_value(metadata: Mapping[str, Any], key: str) -> str:
    """Return which slice a case is in: its text, or its number, true or false as JSON writes them.

    >>> slice_value({"lang": "de"}, "lang"), slice_value({"lang": True}, "lang"), slice_value({}, "lang")
    ('de', 'true', '(none)')
    """
    match metadata.get(key):
        case None | "":
            return NONE
        case str() as text:
            return text
        case bool() as flag:
            return "true" if flag else "false"
        case int() as number if number.bit_length() <= 64:
            return str(number)
        case float() as number:
            # JSON has no word for the others, and the store has nothing in their place.
            return repr(number) if math.isfinite(number) else NONE
        case _:
            return _OTHER


class SliceCheck:
    """Looks at the metadata of cases as they are read: whether a run can be sliced by them as it was asked for.

    ``gated`` are the keys whose slices have gates: these must not have too many values. ``assigned`` are keys that
    cases get later, from their targets.
    """

    def __init__(self, keys: Iterable[str], gated: Iterable[str] = (), assigned: Iterable[str] = ()) -> None:
        self._values: dict[str, set[str]] = {key: set() for key in gated}
        self._keys = tuple(dict.fromkeys((*keys, *self._values)))
        later = frozenset(assigned)
        self._missing = dict.fromkeys(key for key in self._keys if key not in later)
        self._known: set[str] = set()

    def problem(self, metadata: Mapping[str, Any]) -> str:
        """Take in a case, and say why it cannot be in a slice; "" where it can."""
        if self._missing and len(self._known) < _MOST_KNOWN:
            self._known.update(map(str, metadata))
        for key in self._keys:
            value = slice_value(metadata, key)
            if value != NONE:
                self._missing.pop(key, None)
            if value == _OTHER:
                return f"metadata: {key:.80} must be text, a number, true or false, since the run is sliced by it"
            if (values := self._values.get(key)) is not None and len(values) <= MOST_VALUES:
                values.add(value)
        return ""

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """Yield, when all cases were taken in, what is wrong with a key, each with the key."""
        for key in self._keys:
            if key in self._missing:
                yield key, f"no case has {key!r:.80} in its metadata{self._hint(key)}"
            elif len(self._values.get(key, ())) > MOST_VALUES:
                yield key, f"{key!r:.80} has more than {MOST_VALUES} different values; a gate needs a key with fewer"

    def _hint(self, key: str) -> str:
        if not self._known:
            return "; no case has any metadata"
        hint = did_you_mean(key[:_MOST_GUESSED], self._known)
        return hint if len(self._known) <= _MOST_SHOWN else hint.split("; known")[0]
