"""Templates with names in them, filled in once.

Only plain names are places: nothing after the name, no attributes, no formats; ``metadata.x`` is a name too. Values are
inserted and never looked at again, so whatever braces they hold reach the judge byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from evenhand.domain.errors import TemplateError, did_you_mean
from evenhand.domain.message import plain_data

# Before the keys of a case's metadata, the only names with a dot in them.
METADATA: Final = "metadata."

_DOUBLE = re.compile(r"\{\{[ \t]*(metadata\.\w[\w-]*|[^\W\d]\w*)[ \t]*\}\}")
_SINGLE = re.compile(r"\{\{|\}\}|\{([^\W\d]\w*)\}")
# Places as Python's formats and other templates have them: with an attribute, item, conversion, format or filter.
_OTHER_SINGLE = re.compile(r"(?<!\{)\{([^\W\d]\w{0,99})([.\[!:][^{}\n]{0,200})\}(?!\})")
_OTHER_DOUBLE = re.compile(r"\{\{[ \t]{0,9}([^\W\d]\w{0,99})[ \t]{0,9}([.\[!:|][^{}\n]{0,200})\}\}")
# Those that nobody writes as text, whatever the name is.
_UNMISTAKABLE = re.compile(
    r"(?!:)(?:\.[^\W\d]\w{0,99}|\[[^\]\n]{0,100}\]){0,10}(?:![rsa])?(?::[^ \n]{0,20})?[ \t]{0,9}(?:\|.*)?"
)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A place in a template where the value of that name goes."""

    name: str


@dataclass(frozen=True, slots=True)
class Template:
    """Literal text and places, in order.

    >>> Template.with_double_braces("Q: {{ question }}").render({"question": "Why {{ question }}?"})
    'Q: Why {{ question }}?'
    >>> Template.with_single_braces('{outputs} as {"score": 1}').render({"outputs": "42"})
    '42 as {"score": 1}'
    """

    parts: tuple[str | Placeholder, ...]
    doubled: bool = False

    @classmethod
    def with_double_braces(cls, text: str) -> Template:
        """Read a template whose places are written ``{{ name }}``; any other brace is text."""
        parts: list[str | Placeholder] = []
        end = 0
        for match in _DOUBLE.finditer(text):
            parts += [text[end : match.start()], Placeholder(match[1])]
            end = match.end()
        return cls((*parts, text[end:]), doubled=True)

    @classmethod
    def with_single_braces(cls, text: str) -> Template:
        """Read a template whose places are written ``{name}`` (SPEC-F3).

        ``{{`` is a literal brace, and so is a ``}}`` that closes one; any other brace is text, so that JSON survives.
        """
        return cls(tuple(_single_parts(text)))

    @property
    def names(self) -> frozenset[str]:
        """The names that the template uses."""
        return frozenset(part.name for part in self.parts if isinstance(part, Placeholder))

    def require_known(self, known: Iterable[str], *, where: str) -> None:
        """Refuse a template that uses a name which cannot be given."""
        allowed = set(known)
        for name in sorted(self.names - allowed):
            raise TemplateError(f"{where} uses {name!r}, which has no value here{did_you_mean(name, allowed)}")

    def require_plain(self, known: Iterable[str], *, where: str) -> None:
        """Refuse places that are more than a name: they would be sent as they are written.

        Some may be meant as text, such as ``{outputs: …}``; these are refused for the ``known`` names alone.
        """
        allowed = frozenset(known)
        for text in self.parts:
            if isinstance(text, Placeholder):
                continue
            for match in (_OTHER_DOUBLE if self.doubled else _OTHER_SINGLE).finditer(text):
                if match[1] in allowed or _UNMISTAKABLE.fullmatch(match[2]):
                    raise TemplateError(f"{where} has {match[0]:.80}; only {self._as_filled_in(match)}")
            for match in _OTHER_SINGLE.finditer(text) if self.doubled else ():
                if match[1] in allowed:
                    raise TemplateError(f"{where} has {match[0]:.80}; only {self._as_filled_in(match)}")

    def _as_filled_in(self, match: re.Match[str]) -> str:
        if self.doubled:
            name = f"{METADATA}name" if f"{match[1]}." == METADATA else match[1]
            return f"{{{{ {name} }}}} is filled in"
        return f"{{{match[1]}}} is filled in, and {{{match[0]:.80}}} is literal text"

    def render(self, values: Mapping[str, str], *, where: str = "the template") -> str:
        """Fill in the values, once."""
        self.require_known(values, where=where)
        return "".join(values[part.name] if isinstance(part, Placeholder) else part for part in self.parts)


def value_text(value: object) -> str:
    """Return a value as it stands in a prompt: text as it is, anything else as JSON; refuses pictures and the like.

    >>> value_text("Graz"), value_text(True), value_text([1, None])
    ('Graz', 'true', '[1, null]')
    """
    data = plain_data(value)
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)


def _single_parts(text: str) -> Iterator[str | Placeholder]:
    end = unclosed = 0
    for match in _SINGLE.finditer(text):
        yield text[end : match.start()]
        end = match.end()
        if match[1]:
            yield Placeholder(match[1])
        elif match[0] == "{{":
            unclosed += 1
            yield "{"
        elif unclosed:
            unclosed -= 1
            yield "}"
        else:
            yield "}}"
    yield text[end:]
