"""A value that must not be seen."""

from __future__ import annotations

import base64
from typing import Any, NoReturn
from urllib.parse import quote

HIDDEN = "***"


class Secret:
    """An API key: shows as ``***`` wherever it is printed, and cannot be pickled.

    >>> Secret("sk-123")
    ***
    """

    __slots__ = ("_forms", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        encoded = base64.b64encode(value.encode("utf-8", "replace")).decode()
        self._forms = (value, quote(value, safe="", errors="replace"), encoded) if value else ()

    def reveal(self) -> str:
        """Give the value itself, for the one place that sends it."""
        return self._value

    def scrub(self, text: str) -> str:
        """Hide the value in a text that came from elsewhere, also where it stands encoded."""
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return text

    def __repr__(self) -> str:
        return HIDDEN

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Secret is not pickled: pass the name of its variable instead")
