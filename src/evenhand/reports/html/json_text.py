"""JSON that a model wrote, indented for people: its tokens stay as they are, and errors are shown in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import orjson
from markupsafe import Markup

from evenhand.domain.json_path import path_text
from evenhand.reports.html.markup import join, tag, text
from evenhand.reports.html.verbatim import HEAD, TAIL, in_lines, verbatim

_INDENT: Final = "  "
_DEEPEST: Final = 40
_CLOSES: Final = {"{": "}", "[": "]"}
_ENDS: Final = frozenset(',:{}[]" \t\r\n')


class Line(NamedTuple):
    """A line of indented JSON; ``path`` is that of the value that begins on it, None where only one ends."""

    text: str
    path: str | None


def judged_text(content: str, errors: Sequence[tuple[str, str]] = ()) -> Markup:
    """Show an answer: JSON indented, with the errors that a schema found below the values they are about.

    Any other text is shown as it is.
    """
    lines = indented(content)
    if lines is None:
        return verbatim(content)
    messages: dict[str, list[str]] = {}
    for path, message in errors:
        messages.setdefault(path, []).append(message)
    shown = join(*(_marked(line, messages) for line in lines))
    return in_lines(shown, "\n".join(line.text for line in lines))


def _marked(line: Line, messages: Mapping[str, Sequence[str]]) -> Markup:
    found = messages.get(line.path, ()) if line.path is not None else ()
    margin = line.text[: len(line.text) - len(line.text.lstrip(" "))]
    notes = [join(margin, tag("mark", f"✗ {message}", class_="fault"), "\n") for message in found]
    return join(text(f"{line.text}\n"), *notes)


def indented(content: str) -> list[Line] | None:
    """Return JSON line by line; None for any other text, a single value, or what is too long or too deep to show.

    >>> [line.text for line in indented('{"n": 1.50, "tags": []}')]
    ['{', '  "n": 1.50,', '  "tags": []', '}']
    """
    if len(content) > HEAD + TAIL or content.lstrip()[:1] not in ("{", "["):
        return None
    try:
        orjson.loads(content)
    except ValueError:
        return None
    return _lines(list(_tokens(content)))


def _tokens(content: str) -> Iterator[str]:
    """Yield the tokens of valid JSON as they are written."""
    place, end = 0, len(content)
    while place < end:
        first = place
        if content[place] == '"':
            place += 1
            while content[place] != '"':
                place += 2 if content[place] == "\\" else 1
            place += 1
        elif content[place] in _ENDS:
            place += 1
        else:
            while place < end and content[place] not in _ENDS:
                place += 1
        token = content[first:place]
        if not token.isspace():
            yield token


class _Indenter:
    """Puts tokens into lines. ``steps`` lead to the value that comes next, ``kinds`` are the brackets around it."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._steps: list[str | int] = []
        self._kinds: list[str] = []
        self._text = ""
        self._path: str | None = "$"

    @property
    def depth(self) -> int:
        return len(self._kinds)

    @property
    def is_in_object(self) -> bool:
        return self._kinds[-1:] == ["{"]

    def write(self, written: str) -> None:
        self._text += written

    def name(self, written: str) -> None:
        """Begin a member of an object, by its key."""
        self._steps[-1] = str(orjson.loads(written))
        self._text += f"{written}: "
        self._path = path_text(self._steps)

    def open(self, bracket: str) -> None:
        self._text += bracket
        self.end_line()
        self._kinds.append(bracket)
        self._steps.append(0)
        self._begin()

    def close(self, bracket: str) -> None:
        self.end_line()
        self._kinds.pop()
        self._steps.pop()
        self._text, self._path = _INDENT * self.depth + bracket, None

    def separate(self) -> None:
        self._text += ","
        self.end_line()
        last = self._steps[-1]
        self._steps[-1] = last + 1 if isinstance(last, int) else last
        self._begin()

    def end_line(self) -> None:
        self.lines.append(Line(self._text, self._path))

    def _begin(self) -> None:
        self._text, self._path = _INDENT * self.depth, path_text(self._steps)


def _lines(tokens: Sequence[str]) -> list[Line] | None:
    indenter = _Indenter()
    left = iter(zip(tokens, [*tokens[1:], ""], strict=True))
    for written, following in left:
        if _CLOSES.get(written, "") == following != "":
            indenter.write(written + following)
            next(left)
        elif written in _CLOSES:
            indenter.open(written)
            if indenter.depth > _DEEPEST:
                return None
        elif written in _CLOSES.values():
            indenter.close(written)
        elif written == ",":
            indenter.separate()
        elif following == ":" and indenter.is_in_object:
            indenter.name(written)
            next(left)
        else:
            indenter.write(written)
    indenter.end_line()
    return indenter.lines
