"""What a server answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

_LONGEST_PAGE = 64 * 1024


class Response(NamedTuple):
    """A response, whole; the names of its headers are in lower case, and what came twice is joined by commas."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        """The body as JSON; None when it is none."""
        try:
            return orjson.loads(self.content)
        except ValueError:
            pass
        try:
            # More patient: with bytes that are no UTF-8, and with lone surrogates.
            return json.loads(self.content.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None

    @property
    def page(self) -> str:
        """The body as text, where it is no JSON, or nobody's error object."""
        return self.content[:_LONGEST_PAGE].decode("utf-8", "replace").strip() or "an empty body"
