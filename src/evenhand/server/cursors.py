"""Cursors: where a page of a list ended, written so that nobody has to know how."""

from __future__ import annotations

import base64
import binascii
from typing import Any, NoReturn

import orjson

from evenhand.server.problems import Problem


def written(place: Any) -> str:
    """Write a place in a list.

    >>> read(written([3, "score"]))
    [3, 'score']
    """
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def read(cursor: str) -> Any:
    """Read a place in a list, or refuse what was not written here."""
    try:
        return orjson.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError):
        refuse()


def refuse() -> NoReturn:
    """Refuse a cursor."""
    raise Problem(422, "Not valid", "it is not the next of a page of this list", field="cursor")


def offset_written(offset: int) -> str:
    """Write how many come before."""
    return written([offset])


def offset_in(cursor: str | None) -> int:
    """Read how many come before."""
    match [0] if cursor is None else read(cursor):
        case [int(offset)] if 0 <= offset < 2**53 and not isinstance(offset, bool):
            return offset
        case _:
            refuse()
