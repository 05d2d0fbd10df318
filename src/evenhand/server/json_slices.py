"""JSON from outside, parsed strictly; a large body in slices, so that no single call holds the interpreter for long.

A parser in C keeps all other threads from running until it returns, the event loop among them. So a large body is first
looked through for its brackets and commas, and about 64 kB at a time are parsed: ``[1, 2, 3, …]`` as ``[1, 2]``,
``[3, …]`` and so on. What is parsed in slices is the same as what is parsed at once, and so are the errors.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

import orjson

from evenhand.server.problems import Problem

# A smaller body is parsed at once.
LARGE_BYTES: Final = 64 * 1024
# A schema inside a schema inside a prompt needs a few dozen.
MOST_DEPTH: Final = 150
# No honest object has as many fields, and no list as many items.
MOST_FIELDS: Final = 10_000
MOST_ITEMS: Final = 1_000_000
_LONGEST_SHOWN: Final = 80

_SPACE: Final = b" \t\r\n"
_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# An object or a list that is short and has no others in it.
_SHORT: Final = rb"[\[{](?:[^\"\[\]{}]{1,1024}+|" + _STRING + rb"){0,64}+[\]}]"
_PLAIN: Final = rb"[^\"\[\]{},]++"
# Members up to a comma, all of one object or list; else a part of a member, a bracket, or a string that does not end.
# A member has five parts, with the blanks around a name and a value; of more, it would look over the same ones again.
_MEMBERS: Final = rb"(?:(?:" + _PLAIN + rb"|" + _STRING + rb"|" + _SHORT + rb"){0,5}+,){1,500}+"
_TOKENS: Final = re.compile(rb"|".join((_MEMBERS, _STRING, _SHORT, _PLAIN, rb"[\"\[\]{}]")), re.DOTALL)
# An opening bracket that is in no string.
_INNER: Final = re.compile(rb"(?:[^\"\[{]++|" + _STRING + rb")*+[\[{]", re.DOTALL)
_OPENING, _CLOSING = b"[{", b"]}"
_SINGLE: Final = b'"' + _OPENING + _CLOSING
_QUOTE, _COMMA = b'",'


def parse_json(body: bytes) -> Any:
    """Parse JSON: no duplicate fields, nothing too deep, no object with too many fields. Call it in a thread if large.

    >>> parse_json(b'{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    begin = len(body) - len(body.lstrip(_SPACE))
    if len(body) > LARGE_BYTES and body[begin : begin + 1] in (b"[", b"{"):
        return _parse_slices(body, begin)
    value = _loads(body, body, 0)
    _require_shallow(value)
    return value


def _parse_slices(body: bytes, begin: int) -> Any:  # noqa: C901 - one branch for each kind of token
    containers = [_Container(body, begin)]
    for token in _TOKENS.finditer(body, begin + 1):
        at, following = token.span()
        byte = body[at]
        if len(containers) == MOST_DEPTH and _INNER.match(body, at, following):
            _refuse_deep()
        if body[following - 1] == _COMMA:
            containers[-1].comma(following - 1)
        elif following > at + 1 or byte not in _SINGLE:
            pass  # a part of a member
        elif byte == _QUOTE:
            _refuse(body, at, "the string that begins here does not end")
        elif byte in _OPENING:
            containers.append(_Container(body, at))
        else:
            closed = containers.pop()
            if body[closed.start] != _OPENING[_CLOSING.index(byte)]:
                _refuse(body, at, "unexpected bracket")
            if not containers:
                if body[following:].strip(_SPACE):
                    _refuse(body, following, "unexpected content after document")
                return closed.close(at)
            if closed.is_large(at):
                containers[-1].take(closed.start, closed.close(at), following)
    return _refuse(body, len(body), "unexpected end of data")


class _Container:
    """An object or a list that is being read: what is not parsed yet begins at ``slice``, the last of it at ``member``.

    After a member that was large, and is parsed already, ``slice`` is -1, and ``member`` the end of that.
    """

    __slots__ = ("body", "is_object", "member", "slice", "start", "values")

    def __init__(self, body: bytes, start: int) -> None:
        self.body = body
        self.start = start
        self.is_object = body[start : start + 1] == b"{"
        self.slice = self.member = start + 1
        self.values: Any = None

    def is_large(self, at: int) -> bool:
        """Return whether a part of it is parsed already, or it is too large to be part of a slice."""
        return self.values is not None or at - self.start > LARGE_BYTES

    def comma(self, at: int) -> None:
        """Note the end of one or more members."""
        if self.slice < 0:
            first = self.body.find(b",", self.member)
            self._require_blank(self.member, first)
            self.slice = first + 1
        if at - self.slice > LARGE_BYTES:
            self._parse(at)
            self.slice = at + 1
        self.member = at + 1

    def take(self, start: int, value: Any, end: int) -> None:
        """Add a large member, which was parsed by itself."""
        if self.slice < 0:
            _refuse(self.body, start, "expected a comma")
        if self.member > self.slice:
            self._parse(self.member - 1)
        if self.is_object:
            name = _loads(b"{" + self.body[self.member : start] + b"null}", self.body, self.member - 1)
            self._add(dict.fromkeys(name, value))
        else:
            self._require_blank(self.member, start)
            self._add([value])
        self.slice, self.member = -1, end

    def close(self, at: int) -> Any:
        """Return the value; its bracket is closed there."""
        if self.slice < 0:
            self._require_blank(self.member, at)
        else:
            self._parse(at, may_be_empty=self.slice == self.start + 1)
        return self.values

    def _parse(self, at: int, *, may_be_empty: bool = False) -> None:
        piece = self.body[self.slice : at]
        brackets = b"{%b}" if self.is_object else b"[%b]"
        values = _loads(brackets % piece, self.body, self.slice - 1)
        if not values and not may_be_empty:
            _refuse(self.body, at, "unexpected comma or bracket")
        self._add(values)

    def _add(self, values: Any) -> None:
        if self.values is None:
            self.values = {} if self.is_object else []
        if self.is_object:
            for name in values:
                if name in self.values:
                    _refuse_duplicate(name)
            self.values.update(values)
            if len(self.values) > MOST_FIELDS:
                _refuse_many()
        else:
            self.values.extend(values)
            if len(self.values) > MOST_ITEMS:
                raise Problem(422, "Invalid request", f"a list may have at most {MOST_ITEMS:,} items")

    def _require_blank(self, begin: int, end: int) -> None:
        if self.body[begin:end].strip(_SPACE):
            _refuse(self.body, begin, "expected a comma or a bracket")


def _loads(piece: bytes, body: bytes, at: int) -> Any:
    """Parse a piece of a body that begins there."""
    try:
        value = orjson.loads(piece)
    except orjson.JSONDecodeError as error:
        _refuse(body, at + len(error.doc[: error.pos].encode("utf-8", "replace")), error.msg)
    if b"{" in piece:
        # orjson takes the last of several in silence. Numbers are left as they are written: it has read them.
        json.loads(piece, object_pairs_hook=_require_once, parse_int=str, parse_float=str)
    return value


def _require_once(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > MOST_FIELDS:
        _refuse_many()
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            _refuse_duplicate(name)
        seen.add(name)


def _require_shallow(value: Any) -> None:
    level = [value]
    for _ in range(MOST_DEPTH):
        level = [part for container in level for part in _parts(container) if isinstance(part, (dict, list))]
        if not level:
            return
    _refuse_deep()


def _parts(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse_deep() -> NoReturn:
    raise Problem(422, "Invalid request", f"JSON may be nested at most {MOST_DEPTH} levels deep")


def _refuse_many() -> NoReturn:
    raise Problem(422, "Invalid request", f"an object may have at most {MOST_FIELDS:,} fields")


def _refuse_duplicate(name: str) -> NoReturn:
    raise Problem(422, "Invalid request", "duplicate field", field=name[:_LONGEST_SHOWN])


def _refuse(body: bytes, at: int, why: str) -> NoReturn:
    line = body.count(b"\n", 0, at) + 1
    column = len(body[body.rfind(b"\n", 0, at) + 1 : at].decode("utf-8", "replace")) + 1
    raise Problem(422, "Invalid JSON", f"line {line}, column {column}: {why}")
