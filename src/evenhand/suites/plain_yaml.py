"""Read cases in the plainest YAML by a pattern: a key and a text in each line, and nothing that could mean two things.

The events of libyaml cost as much as asking a model over HTTP. What does not look like this is left to them, from the
first case on that does not:

    - id: refund-3
      input: "May I return it?"
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Final

import orjson

from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError
from evenhand.suites.text_file import TextFile
from evenhand.suites.values import Mapped, Piece
from evenhand.suites.yaml_scalars import SUSPECTS, SurpriseError, meaning

_READ: Final = 1 << 16
# A case that is longer is left to the parser, which knows how long one may be.
_LONGEST: Final = 1 << 18
_MOST_KEYS: Final = 64
# To YAML these begin a line too.
_OTHER_LINE_FEEDS: Final = re.compile("[\r\x85\u2028\u2029]")

_KEY: Final = r"[A-Za-z_][A-Za-z0-9_]{0,63}+"
# Printable characters, without those that begin a line.
_WIDE: Final = "\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_QUOTED: Final = rf'"(?:[ !#-\[\]-~{_WIDE}]++|\\[\\"nrt])*+"'
# Without what is special anywhere in a plain text: a colon, a number sign; and no space at its end.
_BARE: Final = r"[A-Za-z](?:[A-Za-z0-9_.,;()/'?!-]++| ++(?=[A-Za-z0-9_.,;()/'?!-]))*+"
_TEXT: Final = rf"(?:{_QUOTED}|{_BARE})"


def case_pattern(indent: str) -> re.Pattern[str]:
    """Return what a plain case looks like, up to the next one or the end."""
    pair = rf"{_KEY}: {_TEXT}\n"
    return re.compile(rf"({indent}- {pair}(?:{indent}  {pair})*+)\n*+(?={indent}- |\Z)")


def plain_cases(file: TextFile, first_line: int) -> Generator[Piece, None, int | None]:
    """Read cases from the line on in which the first begins.

    Return None at the end of the file, or how many were read before one that is not plain.
    """
    count, line = 0, first_line
    try:
        text = _text_from(file, first_line)
        indent = text[: len(text) - len(text.lstrip(" "))]
        pattern, beginning, margin = case_pattern(indent), f"\n{indent}- ", len(indent) + 2
        known: set[str] = set()
        is_end = False
        while not is_end:
            more = file.read(_READ)
            is_end = not more
            text += more
            # Whole ones only: what follows on the last may belong to it.
            end = len(text) if is_end else text.rfind(beginning) + 1
            if not end and len(text) > _LONGEST:
                return count
            part, text = text[:end], text[end:]
            if is_end and not part.endswith("\n"):
                part += "\n"
            place = 0
            while place < end:
                matched = pattern.match(part, place)
                made = None if matched is None else _case(matched[1], margin, line, known)
                if matched is None or made is None:
                    return count
                file.begin(line)
                yield Piece(line, made)
                count += 1
                line += part.count("\n", place, matched.end())
                place = matched.end()
    except ConfigError:  # said by the parser, which may find another mistake before it
        return count
    return None if count else 0


def _text_from(file: TextFile, first_line: int) -> str:
    """Return some text from the beginning of a line on, with all of its indentation."""
    before, text = first_line - 1, ""
    while before or not text.strip(" "):
        file.begin(1)
        chunk = file.read(_READ)
        if not chunk or _OTHER_LINE_FEEDS.search(chunk):
            raise ConfigError("there is no such line, or lines are counted in another way")
        lines = chunk.split("\n", before)
        before -= len(lines) - 1
        text = text + chunk if not before and len(lines) == 1 else lines[-1]
    return text


def _case(text: str, margin: int, line: int, known: set[str]) -> Mapped | None:
    """Return a case whose lines are plain; None if a key or a value is more than a text, or a key comes twice.

    In each line, ``margin`` characters come before the key. ``known`` are keys that are just text.
    """
    made = Mapped(line)
    lines = made.lines
    for pair in text.split("\n"):
        key, _, written = pair[margin:].partition(": ")
        if not written:  # the end
            break
        if key not in known:
            if not _is_text(key) or len(known) > _MOST_KEYS:
                return None
            known.add(key)
        if key in lines:
            return None
        if written[0] == '"':
            value = orjson.loads(written) if "\\" in written else written[1:-1]
            made[key] = value if value.isascii() else storable(value)
        elif written[0] in SUSPECTS and not _is_text(written):
            return None
        else:
            made[key] = written
        lines[key] = line
        line += 1
    return made


def _is_text(word: str) -> bool:
    """Return whether a plain word is just text."""
    try:
        return isinstance(meaning(word), str)
    except SurpriseError:
        return False
