"""What plain words in YAML mean: numbers, true, false, null; and which ones are refused, since readers disagree.

YAML 1.1 takes ``no`` for false, ``1:30`` for 90 and ``010`` for 8; YAML 1.2 takes none of them so, and people mean
what they see. Whoever writes one has to say what it is.
"""

from __future__ import annotations

import math
import re
from typing import Final

from evenhand.suites.values import TOO_LARGE, is_too_large

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_SWITCHES: Final = {"yes": "true", "on": "true", "no": "false", "off": "false"}

_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_ZERO: Final = re.compile(r"[-+]?0[0-9]+")
_OTHER_BASE: Final = re.compile(r"[-+]?0(?:x[0-9a-fA-F_]+|o[0-7_]+|b[01_]+)")
_UNDERSCORED: Final = re.compile(r"[-+]?(?=[0-9]++_)[0-9_]++(?:\.[0-9_]*+)?")
_BASE_SIXTY: Final = re.compile(r"[-+]?[0-9]++(?::(?>[0-5]?[0-9]))++(?:\.[0-9]*+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

# A plain text that begins with none of these is just text.
SUSPECTS: Final = frozenset("0123456789+-.~nNtTfFyYoO")
_LONGEST_WORD: Final = 5
# Python reads no longer numbers, and no suite needs them.
_MOST_DIGITS: Final = 1_000


class SurpriseError(ValueError):
    """A plain word that some readers of YAML take for something else; says what to write instead."""


def meaning(text: str) -> str | float | bool | None:
    """Return what a plain word means, or raise ``SurpriseError``.

    >>> meaning("Paris"), meaning("1e3"), meaning("~"), meaning("2024-05-01")
    ('Paris', 1000.0, None, '2024-05-01')
    """
    if len(text) <= _LONGEST_WORD:
        if text in _WORDS:
            return _WORDS[text]
        if meant := _SWITCHES.get(text.lower()):
            raise SurpriseError(
                f"{text} is {meant} to some YAML parsers and text to others; write {meant}, or put it in quotes"
            )
    if len(text) > _MOST_DIGITS or text[0] not in "0123456789+-.":
        return text
    return _number(text)


def _number(text: str) -> str | float:
    if _INTEGER.fullmatch(text):
        number = int(text)
        if is_too_large(number):
            raise SurpriseError(f"{text:.40} is {TOO_LARGE}")
        return number
    if _LEADING_ZERO.fullmatch(text):
        problem = "begins with 0, which is base 8 to some YAML parsers; write it without the 0, or put it in quotes"
        raise SurpriseError(f"{text:.40} {problem}")
    if _FLOAT.fullmatch(text):
        decimal = float(text)
        if math.isinf(decimal):
            raise SurpriseError(f"{text:.40} is too large a number")
        return decimal
    if _BASE_SIXTY.fullmatch(text):
        raise SurpriseError(f"{text:.40} is a number in base 60 to some YAML parsers; put it in quotes")
    if _OTHER_BASE.fullmatch(text) or _UNDERSCORED.fullmatch(text):
        problem = "is a number to some YAML parsers and text to others; write plain digits, or put it in quotes"
        raise SurpriseError(f"{text:.40} {problem}")
    if _NOT_FINITE.fullmatch(text):
        raise SurpriseError(f"{text} is not a finite number; put it in quotes if it is text")
    return text
