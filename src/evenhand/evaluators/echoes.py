"""Echoes: objects in a reply that merely repeat one of the prompt, and so are nobody's verdict.

An object is an echo in two cases, each of which would do:

* it *equals* one in the prompt, key by key and value by value, whatever the order of the keys and the spelling;
* it *is* in the prompt word for word, once backslashes and white space are left out on both sides.

The second holds wherever in the prompt the object is: nested in others or behind any brackets, after broken JSON, in a
string, in a string in a string, since quoting a text adds nothing but backslashes. For the first, the prompt is read
as it is and with its escapes undone, up to ``MAX_QUOTING`` times.

The work is linear in the prompt, and ``work`` counts it. Undoing escapes and leaving out backslashes are each one
substitution whose pattern never gives a character back; the scanner says itself why it is linear; and searching for a
text takes time in proportion to the prompt, which is done at most ``MOST_SEARCHES`` times for one reply.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any, Final

from evenhand.domain.errors import ContractError
from evenhand.evaluators.scanner import Scanner

# How deep to look for objects that the prompt spells inside strings, inside strings.
MAX_QUOTING: Final = 3
# How many objects of one reply are looked for in the prompt word for word.
MOST_SEARCHES: Final = 64

_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt])|u([0-9a-fA-F]{4}))')
_ESCAPES = re.compile(r"\\+(?:([bfnrt])|u([0-9a-fA-F]{4}))?")
_LETTERS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SURROGATE = re.compile("[\ud800-\udfff]")


class Echoes:
    """The objects of a prompt, and whether one in a reply repeats one of them; ``work`` counts characters looked at."""

    def __init__(self, material: Iterable[str]) -> None:
        self.work = 0
        # Without a brace, or an escape that may stand for one, there is nothing to repeat.
        self._texts = [text for text in material if "{" in text or "\\u" in text]
        self._prints: frozenset[bytes] | None = None
        self._bare: str | None = None
        self._searches = 0

    def __contains__(self, text: str) -> bool:
        """Return whether an object, as a reply has it, repeats one of the prompt."""
        if not self._texts:
            return False
        self.work += len(text)
        return fingerprint(text) in self._prompt_prints() or self._is_verbatim(text)

    def _prompt_prints(self) -> frozenset[bytes]:
        if self._prints is None:
            prints: list[bytes] = []
            decoder = _decoder(prints)
            for text in self._texts:
                self._add_prints(text, decoder)
            self._prints = frozenset(prints)
        return self._prints

    def _add_prints(self, text: str, decoder: json.JSONDecoder) -> None:
        """Take the fingerprint of every object in a text, as it is and with its escapes undone, again and again."""
        for quoting in range(MAX_QUOTING + 1):
            scanner = Scanner(text)
            for begin, end in scanner.spans():
                self.work += end - begin
                decoder.raw_decode(text, begin)
            self.work += len(text) + scanner.work
            if quoting == MAX_QUOTING or "\\" not in text:
                return
            text = unescaped(text)

    def _is_verbatim(self, text: str) -> bool:
        """Return whether an object is in the prompt word for word, but for backslashes and white space."""
        if self._bare is None:
            self._bare = "\0".join(map(bare, self._texts))
            self.work += sum(map(len, self._texts))
        self._searches += 1
        if self._searches > MOST_SEARCHES:
            raise ContractError(
                f"the reply has more than {MOST_SEARCHES} objects that could be its verdict; give one",
                kind="too_many",
            )
        self.work += len(self._bare)
        return bare(text) in self._bare


def unescaped(text: str) -> str:
    r"""Undo the escapes of JSON strings in a text once, wherever they stand.

    >>> unescaped(r'say {\"a\": \"\\\"\"}')
    'say {"a": "\\""}'
    """
    return _ESCAPE.sub(_unescape_match, text)


def bare(text: str) -> str:
    r"""Leave out what quoting a text in a JSON string adds, however often, and white space with it.

    >>> bare('{"a": 1}') == bare(r'{\\\"a\\\":\\n 1}')
    True
    """
    if "\\" in text:
        text = _ESCAPES.sub(_unescape_match, text)
        if _SURROGATE.search(text):  # two escapes that are one character together
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return "".join(text.split())


def _unescape_match(match: re.Match[str]) -> str:
    letter, code = match.groups()
    if code:
        return chr(int(code, 16))
    return _LETTERS.get(letter, letter) if letter else ""


def fingerprint(text: str) -> bytes:
    """Return the fingerprint of one object; equal values make equal ones, whatever their order and spelling."""
    prints: list[bytes] = []
    _decoder(prints).raw_decode(text)
    return prints[-1]


def _decoder(prints: list[bytes]) -> json.JSONDecoder:
    """Make a decoder that lists the fingerprints of all objects, from the inside out.

    Here nothing is strict: whatever a judge might take for an object, and repeat, counts.
    """

    def printed(pairs: list[tuple[str, Any]]) -> _Printed:
        last_wins = dict(pairs)
        if len(last_wins) < len(pairs):  # a reader may as well take the first of two equal keys
            prints.append(_print_of(dict(reversed(pairs))))
        prints.append(_print_of(last_wins))
        return _Printed(prints[-1])

    # Numbers as floats: a judge that repeats 1.0 as 1 still repeats it.
    return json.JSONDecoder(object_pairs_hook=printed, parse_float=float, parse_int=float, strict=False)


class _Printed(bytes):
    """The fingerprint of an object, in the place of the object."""


def _print_of(members: dict[str, Any]) -> bytes:
    plain = json.dumps(sorted((key, _plain(value)) for key, value in members.items()))
    return hashlib.blake2b(plain.encode(), digest_size=16).digest()


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {"": value.hex()} if isinstance(value, _Printed) else value
