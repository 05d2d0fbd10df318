"""Values of a file with their lines, and the mistakes in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from evenhand.domain.errors import ConfigError

# Bounds on one case, and on everything beside the cases together: no honest file comes near them.
MAX_BYTES: Final = 10_000_000
MAX_DEPTH: Final = 50
MAX_VALUES: Final = 100_000

# How much of an unknown name is compared with the known ones: a long one would take long.
MOST_GUESSED: Final = 80

TOO_DEEP: Final = f"this is nested more than {MAX_DEPTH} levels deep"
TOO_MANY: Final = f"this has more than {MAX_VALUES:,} values; split it"
TOO_LARGE: Final = "too large a whole number; put it in quotes"


class Fault(NamedTuple):
    """A mistake: its line, and what would be right."""

    line: int
    text: str


def format_fault(file: object, fault: Fault, case: str = "") -> str:
    """Return a mistake with its place: ``suite.yaml:14, case "refund-3": …``."""
    return f"{file}:{fault.line}{case}: {fault.text}"


class Mapped(dict[str, Any]):
    """A mapping from a file; ``lines`` has the line of each key."""

    __slots__ = ("line", "lines")

    def __init__(self, line: int) -> None:
        self.line = line
        self.lines: dict[str, int] = {}

    def with_value(self, key: str, value: Any) -> Mapped:
        """Return the mapping with another value under a key."""
        made = Mapped(self.line)
        made.update({**self, key: value})
        made.lines.update(self.lines)
        return made

    def without(self, key: str) -> Mapped:
        """Return the mapping without a key."""
        made = self.with_value(key, None)
        del made[key], made.lines[key]
        return made


class Listed(list[Any]):
    """A list from a file; ``lines`` has the line of each item."""

    __slots__ = ("line", "lines")

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: list[int] = []


class Piece(NamedTuple):
    """One part of a file as it is read: a key of the suite with its value, or, without a key, a case.

    A key whose value is ``INLINE`` is the list of cases: they follow as pieces of their own. ``faults`` are mistakes
    in how it is written; what could not be read for one is None.
    """

    line: int
    value: Any
    faults: tuple[Fault, ...] = ()
    key: str | None = None


INLINE: Final = object()


def plain(value: Any) -> Any:
    """Return a value from a file as plain JSON values."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def walk(value: Any, line: int) -> Iterator[tuple[str | None, Any, int]]:
    """Yield every value in a value, itself first, with the key that it has in a mapping and its line."""
    pending: list[tuple[str | None, Any, int]] = [(None, value, line)]
    while pending:
        key, item, line = pending.pop()
        yield key, item, line
        if isinstance(item, dict):
            lines = getattr(item, "lines", {})
            pending += [(name, member, lines.get(name, line)) for name, member in item.items()]
        elif isinstance(item, list):
            pending += [(key, member, getattr(member, "line", line)) for member in item]


def is_too_large(number: int) -> bool:
    """Return whether an integer is larger than those that are stored and hashed."""
    return number.bit_length() > 63


def kind(value: object) -> str:
    """Name the kind of a value as people do."""
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", type(None): "nothing"}
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else names.get(type(value), type(value).__name__)


# One more than are shown: each costs as much as looking through the mapping.
_MOST_MISTAKES: Final = 101
# The names in a message are at its beginning, unless they are longer than names usually are.
_LONGEST_COMPLAINT: Final = 2_000


def mistakes_in(
    value: Any, line: int, take: Callable[[Any], object], *, message_of: Callable[[Exception], str] = str
) -> Iterator[Fault]:
    """Let ``take`` say what is wrong with a value: once, and of a mapping again without each key that it named.

    What comes up only because a key was left out is no mistake: it names no key that is left, or one that is not.
    """
    rest, gone = plain(value), set[str]()
    for _ in range(_MOST_MISTAKES):
        try:
            take(rest)
        except (ConfigError, TypeError, ValueError) as error:  # evaluators may come from plugins
            text = message_of(error)
            keys = named_in(text, rest) if isinstance(rest, Mapping) else []
            if not gone or (keys and not named_in(text, gone)):
                yield Fault(line_for(value, text, line), text)
            if not keys or named_in(text, gone):
                return
            gone.add(keys[0])
            rest = {key: item for key, item in rest.items() if key != keys[0]}
        else:
            return


def named_in(text: str, keys: Mapping[str, Any] | set[str]) -> list[str]:
    """Return the keys that a message names, in its order."""
    # The part before that names the evaluator, whose name may be that of a key.
    complaint = (text.partition("): ")[2] or text)[:_LONGEST_COMPLAINT]
    places = {key: place for key in keys if (place := _place_of(str(key), complaint)) is not None}
    return sorted(places, key=places.__getitem__)


def _place_of(word: str, text: str) -> int | None:
    """Return where a word is in a text, and not part of another."""
    place = text.find(word)
    while place >= 0:
        if not (_is_of_a_word(text[max(0, place - 1) : place]) or _is_of_a_word(text[place + len(word) :][:1])):
            return place
        place = text.find(word, place + 1)
    return None


def _is_of_a_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def line_for(value: Any, text: str, line: int) -> int:
    """Find the line that a message is about: of the key that it names first, else of the whole."""
    keys = named_in(text, value.lines) if isinstance(value, Mapped) else []
    return int(value.lines[keys[0]]) if keys else line
