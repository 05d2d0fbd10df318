"""Reading a judge's reply: the verdict, whatever stands around it, and nobody else's.

The rule (SPEC-R2): the whole reply, if it satisfies the contract; else the first object, from left to right, that is
strict JSON, satisfies the contract, and does not merely repeat an object that stood in the prompt. Nothing is closed,
cleaned or guessed, and no score is taken from prose.

The work is linear in the length of the reply (SPEC-R3), although every opening brace is tried. A scan that dies has
settled all objects nested in it, so only braces inside its strings are tried again; and of any three scans that would
cover one place, the third would begin where one of the others stands between strings, and be settled by that one.
"""

from __future__ import annotations

import collections
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, NoReturn

from evenhand.domain.contract import Accepted, Contract
from evenhand.domain.errors import ContractError
from evenhand.domain.evaluation import MAX_RAW

MAX_REPLY: Final = MAX_RAW
MAX_DEPTH: Final = 100
# How deep to look for objects that the prompt spells inside strings, inside strings.
MAX_QUOTING: Final = 3

EMBEDDED = "embedded"
ECHO_SKIPPED = "echo_skipped"
AMBIGUOUS = "ambiguous"

_SPACE = " \t\n\r"
_SPACES = re.compile(r"[ \t\n\r]*+")
_STRING_BODY = re.compile(r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null")
# An object begins where a brace is followed by a key or by its end; `{curly}` words cost nothing.
_OBJECT_START = re.compile(r'\{(?=[ \t\n\r]*+["}])')
_VALUE_START = re.compile(r'\{(?=[ \t\n\r]*+["}])|\[')
_FENCED = re.compile(r"\s*```[A-Za-z]*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)
_LITERAL = re.compile(rf'"(?P<body>{_STRING_BODY.pattern})"')


class Scanner:
    """Finds the JSON objects of a text by their brackets, in one pass; ``work`` counts the characters looked at."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.work = 0
        self.stopped_at = 0
        self._ends: dict[int, int | None] = {}

    def spans(self, start: re.Pattern[str] = _OBJECT_START) -> Iterator[tuple[int, int]]:
        """Give where objects begin and end, left to right; never one inside another that is whole."""
        position = 0
        while found := start.search(self.text, position):
            begin = found.start()
            end = self.end_of(begin)
            if end is None:
                position = begin + 1
            else:
                yield begin, end
                position = end

    def end_of(self, begin: int) -> int | None:
        """Tell where the object or array that begins here ends; None if it is not strict JSON or too deep."""
        if begin not in self._ends:
            self._scan(begin)
        return self._ends[begin]

    def _scan(self, begin: int) -> None:
        """Follow the grammar from an opening bracket; settles it and every bracket nested in it."""
        opened = [begin]
        position: int | None = begin + 1
        while opened and position is not None:
            self.stopped_at = position
            position = self._step(opened, position)
        for unfinished in opened:
            self._ends[unfinished] = None
        self.work += (position or self.stopped_at) - begin

    def _step(self, opened: list[int], position: int) -> int | None:
        """Step over a closing bracket, or over one member and what stands before it; None where the grammar ends."""
        text, start = self.text, opened[-1]
        is_first = position == start + 1
        position = self._after_space(position)
        if text.startswith("}" if text[start] == "{" else "]", position):
            self._ends[opened.pop()] = position + 1
            return position + 1
        if not is_first:
            if not text.startswith(",", position):
                return None
            position = self._after_space(position + 1)
        if text[start] == "{":
            after_key = self._after_key(position)
            if after_key is None:
                return None
            position = after_key
        if text.startswith(("{", "["), position):
            if len(opened) == MAX_DEPTH:
                return None
            opened.append(position)
            return position + 1
        if text.startswith('"', position):
            return self._after_string(position)
        scalar = _SCALAR.match(text, position)
        return scalar.end() if scalar else None

    def _after_key(self, position: int) -> int | None:
        """Step over a key, its colon and the space behind it."""
        end = self._after_string(position)
        if end is None:
            return None
        end = self._after_space(end)
        return self._after_space(end + 1) if self.text.startswith(":", end) else None

    def _after_string(self, position: int) -> int | None:
        if not self.text.startswith('"', position):
            return None
        end = self._reached(_STRING_BODY, position + 1)
        return end + 1 if self.text.startswith('"', end) else None

    def _after_space(self, position: int) -> int:
        return self._reached(_SPACES, position)

    def _reached(self, pattern: re.Pattern[str], position: int) -> int:
        """Go as far as a pattern does that also matches nothing."""
        found = pattern.match(self.text, position)
        self.stopped_at = found.end() if found else position
        return self.stopped_at


def parse_strict(text: str) -> object:
    """Read a text that is JSON and nothing else: no duplicate keys, no NaN, no infinities, nothing too deep.

    >>> parse_strict('{"score": 0.5}')
    {'score': 0.5}
    """
    trimmed = text.rstrip(_SPACE)
    begin = len(trimmed) - len(trimmed.lstrip(_SPACE))
    if begin == len(trimmed):
        raise ContractError("there is no text", kind="empty")
    if trimmed[begin] in "{[" and not _is_shallow(trimmed):
        scanner = Scanner(trimmed)
        if scanner.end_of(begin) is None:
            raise ContractError(
                f"not JSON, or nested too deep, {_place(trimmed, scanner.stopped_at)}", kind="unparsable"
            )
    return _decode(trimmed, begin)


def first_value(text: str) -> object:
    """Read the first JSON object or array in a text, whatever stands around it.

    >>> first_value('Here you are: [1, 2]. Good luck!')
    [1, 2]
    """
    for begin, end in Scanner(text).spans(_VALUE_START):
        try:
            return _decode(text[begin:end])
        except ContractError:
            continue
    raise ContractError("there is no JSON object or array in the text", kind="unparsable")


class Reading(NamedTuple):
    """What was read: the accepted values, flags for how, and where in the reply they stood."""

    accepted: Accepted
    flags: tuple[str, ...]
    span: tuple[int, int]


def read_reply(text: str, contract: Contract, *, material: Iterable[str] = (), strict: bool = False) -> Reading:
    """Find the verdict in a reply, or raise ``ContractError`` with the class of what was wrong.

    ``material`` is all text that was put into the prompt. ``strict`` makes two different verdicts in one reply a
    failure; otherwise the first one counts and is flagged ``ambiguous``.
    """
    if len(text) > MAX_REPLY:
        raise ContractError(f"the reply has {len(text)} characters; at most {MAX_REPLY} are read", kind="too_long")
    if not text or text.isspace():
        raise ContractError("the reply is empty", kind="empty")
    try:
        return _read_whole(text, contract)
    except ContractError as error:
        return _read_embedded(text, contract, material, strict=strict, whole=error)


def _read_whole(text: str, contract: Contract) -> Reading:
    """Read a reply that is one object, bare or in one fence, and nothing else: nobody is quoted there."""
    fenced = _FENCED.fullmatch(text) if "```" in text else None
    if fenced is None or "```" in fenced[1]:
        accepted = contract.accept(parse_strict(text))
        return Reading(accepted, accepted.flags, (0, len(text)))
    accepted = contract.accept(parse_strict(fenced[1]))
    return Reading(accepted=accepted, flags=(EMBEDDED, *accepted.flags), span=fenced.span(1))


def _read_embedded(
    text: str, contract: Contract, material: Iterable[str], *, strict: bool, whole: ContractError
) -> Reading:
    echoes: frozenset[bytes] | None = None
    found: list[Reading] = []
    skipped = False
    complaint: ContractError | None = None
    for begin, end in Scanner(text).spans():
        try:
            accepted = contract.accept(_decode(text[begin:end]))
        except ContractError as error:
            complaint = complaint or error
            continue
        if echoes is None:
            echoes = frozenset(one for each in material for one in fingerprints(each))
        if _fingerprint(text[begin:end]) in echoes:
            skipped = True
            continue
        found.append(Reading(accepted=accepted, flags=accepted.flags, span=(begin, end)))
    if not found:
        raise _why_nothing(text, whole, complaint, skipped=skipped)
    first = found[0]
    flags = [EMBEDDED, *first.flags]
    if skipped:
        flags.append(ECHO_SKIPPED)
    if any(contract.decision(other.accepted) != contract.decision(first.accepted) for other in found[1:]):
        if strict:
            raise ContractError(f"the reply has {len(found)} verdicts that differ; give one", kind="ambiguous")
        flags.append(AMBIGUOUS)
    return Reading(accepted=first.accepted, flags=tuple(flags), span=first.span)


def _why_nothing(text: str, whole: ContractError, complaint: ContractError | None, *, skipped: bool) -> ContractError:
    """Choose the failure that tells most: of an object that nearly was the verdict, else of the reply as a whole."""
    if skipped:
        return ContractError("the reply only repeats a JSON object that stands in the prompt", kind="echo")
    if complaint is not None:
        return complaint
    if whole.kind == "contract" or text.lstrip().startswith("{"):
        return whole
    return ContractError("the reply has no complete JSON object", kind="unparsable")


def _is_shallow(text: str) -> bool:
    return text.count("{") + text.count("[") <= MAX_DEPTH


def _decode(text: str, begin: int = 0) -> object:
    """Decode a text that has JSON, from ``begin`` to its very end, or nothing of use."""
    try:
        value, end = _DECODER.raw_decode(text, begin)
    except json.JSONDecodeError as error:
        raise ContractError(f"not JSON {_place(text, error.pos)}: {error.msg}", kind="unparsable") from None
    except ValueError as error:  # an integer of thousands of digits
        raise ContractError(f"not JSON: {error}", kind="unparsable") from None
    if end < len(text):
        raise ContractError(f"not JSON {_place(text, end)}: Extra data", kind="unparsable")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = collections.Counter(key for key, _ in pairs)
        told = "a key stands twice in one object"
        raise ContractError(f"{told}: {keys.most_common(1)[0][0]!r:.60}", kind="unparsable", told=told)
    return made


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ContractError(f"{digits:.40} is too large a number", kind="unparsable")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ContractError(f"{name} is not JSON", kind="unparsable")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_duplicates, parse_float=_finite, parse_constant=_no_constant, strict=True
)


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    return f"at line {line} column {position - text.rfind(chr(10), 0, position)}"


def fingerprints(text: str, quoting: int = 0) -> Iterator[bytes]:
    """Give a fingerprint for every object in a text: also nested ones, and those that it spells inside strings.

    Here nothing is strict: whatever a judge might take for an object, and repeat, counts.
    """
    for begin, end in Scanner(text).spans(_VALUE_START):
        found: list[bytes] = []
        _lenient_decoder(found).decode(text[begin:end])
        yield from found
    if quoting < MAX_QUOTING and '\\"' in text:
        for literal in _literals(text):
            yield from fingerprints(literal, quoting + 1)


def _literals(text: str) -> Iterator[str]:
    """Give what the string literals of a text mean; since nobody knows where the first begins, both ways of pairing."""
    for start in (0, text.index('"') + 1):
        for found in _LITERAL.finditer(text, start):
            if '\\"' in found["body"]:
                yield json.loads(found[0])


def _fingerprint(text: str) -> bytes:
    """Give the fingerprint of one object; equal values make equal ones, whatever their order and spelling."""
    found: list[bytes] = []
    _lenient_decoder(found).decode(text)
    return found[-1]


class _Printed(bytes):
    """The fingerprint of an object, in the place of the object."""


def _lenient_decoder(found: list[bytes]) -> json.JSONDecoder:
    """Make a decoder that puts a fingerprint in the place of each object, from the inside out, and lists them."""

    def printed(pairs: list[tuple[str, Any]]) -> _Printed:
        last_wins = dict(pairs)
        if len(last_wins) < len(pairs):  # a reader may as well take the first of two equal keys
            found.append(_print_of(dict(reversed(pairs))))
        found.append(_print_of(last_wins))
        return _Printed(found[-1])

    # Numbers as floats: a judge that repeats 1.0 as 1 still repeats it.
    return json.JSONDecoder(object_pairs_hook=printed, parse_float=float, parse_int=float, strict=False)


def _print_of(members: dict[str, Any]) -> bytes:
    plain = json.dumps(sorted((key, _plain(value)) for key, value in members.items()))
    return hashlib.blake2b(plain.encode(), digest_size=16).digest()


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return {"": value.hex()} if isinstance(value, _Printed) else value
