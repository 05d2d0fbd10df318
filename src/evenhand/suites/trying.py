"""Finding every mistake in a mapping by the one that its user tells of first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from evenhand.domain.errors import ConfigError
from evenhand.suites.values import Fault, Mapped, plain

# One more than are shown: each costs as much as looking through the mapping.
_MOST_MISTAKES: Final = 101
# The names in a message stand at its beginning, unless they are longer than names are.
_LONGEST_COMPLAINT: Final = 2_000


def mistakes_in(
    given: Any, line: int, take: Callable[[Any], object], *, told: Callable[[Exception], str] = str
) -> Iterator[Fault]:
    """Let ``take`` say what is wrong with a value: once, and of a mapping again without each key that it named.

    What comes up only because a key was left out is no mistake: it names no key that is left, or one that is not.
    """
    rest, gone = plain(given), set[str]()
    for _ in range(_MOST_MISTAKES):
        try:
            take(rest)
        except (ConfigError, TypeError, ValueError) as error:  # evaluators are anybody's
            text = told(error)
            keys = named_in(text, rest) if isinstance(rest, Mapping) else []
            if not gone or (keys and not named_in(text, gone)):
                yield Fault(line_for(given, text, line), text)
            if not keys or named_in(text, gone):
                return
            gone.add(keys[0])
            rest = {key: value for key, value in rest.items() if key != keys[0]}
        else:
            return


def named_in(text: str, keys: Mapping[str, Any] | set[str]) -> list[str]:
    """Give the keys that a message names, in its order."""
    # Before that stands who complains, which may be called like a key.
    complaint = (text.partition("): ")[2] or text)[:_LONGEST_COMPLAINT]
    places = {key: place for key in keys if (place := _place_of(str(key), complaint)) is not None}
    return sorted(places, key=places.__getitem__)


def _place_of(word: str, text: str) -> int | None:
    """Find where a word stands in a text, and is not part of another."""
    place = text.find(word)
    while place >= 0:
        if not (_is_of_a_word(text[max(0, place - 1) : place]) or _is_of_a_word(text[place + len(word) :][:1])):
            return place
        place = text.find(word, place + 1)
    return None


def _is_of_a_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def line_for(given: Any, text: str, line: int) -> int:
    """Find the line that a message is about: of the key that it names first, else of the whole."""
    keys = named_in(text, given.lines) if isinstance(given, Mapped) else []
    return int(given.lines[keys[0]]) if keys else line
