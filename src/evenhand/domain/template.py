"""Templates with names in them, filled in once.

Only plain names are places: nothing after the name, no attributes, no formats. Values are inserted and never looked
at again, so whatever braces they hold reach the judge byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from evenhand.domain.errors import TemplateError, did_you_mean

_DOUBLE = re.compile(r"\{\{[ \t]*([^\W\d]\w*)[ \t]*\}\}")
_SINGLE = re.compile(r"\{\{|\}\}|\{([^\W\d]\w*)\}")


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

    @classmethod
    def with_double_braces(cls, text: str) -> Template:
        """Read a template whose places are written ``{{ name }}``; any other brace is text."""
        parts: list[str | Placeholder] = []
        end = 0
        for match in _DOUBLE.finditer(text):
            parts += [text[end : match.start()], Placeholder(match[1])]
            end = match.end()
        return cls((*parts, text[end:]))

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

    def render(self, values: Mapping[str, str], *, where: str = "the template") -> str:
        """Fill in the values, once."""
        self.require_known(values, where=where)
        return "".join(values[part.name] if isinstance(part, Placeholder) else part for part in self.parts)


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
