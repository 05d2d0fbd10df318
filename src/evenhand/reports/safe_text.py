"""Text of models and users, made safe to show to people and to write as JSON."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from evenhand.domain.contract import storable

# A control sequence, a string such as a window title up to its end, any other escape. Each runs up to where the next
# could begin, so that a text of nothing but beginnings takes linear time.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
# Controls, marks of direction and other invisible characters, halves of surrogate pairs.
_UNSHOWN = {"Cc", "Cf", "Cs"}
# These two join letters in Persian and Indic scripts, and emoji.
_JOINERS = "\u200c\u200d"

# All that can begin markup, HTML, a link, a footnote or a formula; of a bare address, what makes it one.
_MARKUP: Final = re.compile(r"[\\`*_{}\[\]<>#|~&!$^=:]|(?<=www)\.", re.IGNORECASE)


def plain(text: str, limit: int | None = 200) -> str:
    r"""Return a text as one line that shows what it says and does nothing else; a long one is cut (REL-S4).

    >>> plain("fine\x1b]0;owned\x07\x1b[2J\nall passed")
    'fine all passed'

    No escape sequence, control or mark of direction is left, so the text cannot move the cursor, retitle the window
    or pass for a line of ours.
    """
    line = _ESCAPES.sub("", text)
    if not (line.isascii() and line.isprintable()):
        line = "".join(filter(_shows, line))
    line = " ".join(line.split())
    if limit is not None and len(line) > limit:
        return line[: limit - 1] + "…"
    return line


def plain_lines(text: str) -> str:
    r"""Return a text made safe as ``plain`` does it, but in full, with its lines and its blanks.

    >>> plain_lines("if ok:\r\n\t\x1b[2Jreturn")
    'if ok:\n    return'

    Indent it, so that no line of it passes for one of ours.
    """
    lines = _ESCAPES.sub("", text).expandtabs(4).splitlines()
    return "\n".join(
        "".join(" " if character.isspace() else character for character in line if _shows(character)).rstrip()
        for line in lines
    )


def _shows(character: str) -> bool:
    return character.isspace() or character in _JOINERS or unicodedata.category(character) not in _UNSHOWN


_DEEPEST = 200
# Python refuses to write whole numbers beyond 4,300 digits.
_MOST_BITS = 14_000
# Allowed as they are, but readers exist that end a line at one of them, and terminals that obey them.
_BETTER_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029]")


def strict_json(value: object, *, sort_keys: bool = False) -> str:
    r"""Write a value as one line of strict JSON.

    NaN and infinities become null, halves of surrogate pairs a question mark, and what JSON cannot say its text.

    >>> strict_json({"mean": float("nan"), "said": "a\nb"})
    '{"mean":null,"said":"a\\nb"}'
    """
    import orjson  # noqa: PLC0415 - the command line makes text plain without it

    options = orjson.OPT_NON_STR_KEYS | (orjson.OPT_SORT_KEYS if sort_keys else 0)
    try:
        text = orjson.dumps(value, default=_plain, option=options).decode()
    except TypeError:  # long numbers, deep nesting, halves of surrogate pairs
        text = json.dumps(
            _jsonable(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=sort_keys
        )
    if text.isascii() and "\x7f" not in text:
        return text
    return _BETTER_ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _jsonable(value: object, depth: int = 0) -> object:
    match value:
        case None | bool():
            return value
        case int():
            return value if value.bit_length() <= _MOST_BITS else hex(value)
        case float():
            return value if math.isfinite(value) else None
        case Mapping() | list() | tuple() if depth == _DEEPEST:
            return "(nested too deeply to be written)"
        case Mapping():
            return {storable(str(key)): _jsonable(each, depth + 1) for key, each in value.items()}
        case list() | tuple():
            return [_jsonable(each, depth + 1) for each in value]
        case _:
            return storable(str(value))


def escaped(text: str, limit: int | None = 200) -> str:
    r"""Return a text as one line of Markdown that shows it and does nothing else.

    >>> escaped("<b>|[x](y)\n# all passed")
    '\\<b\\>\\|\\[x\\](y) \\# all passed'
    """
    # The zero-width space keeps mentions from sending notifications.
    return _MARKUP.sub(r"\\\g<0>", plain(text, limit)).replace("@", "@\u200b")
