"""The profiles that are ranked, by number: their texts on disk, their ids in little memory."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, overload

from evenhand.domain.case import Profile
from evenhand.domain.errors import ConfigError

if TYPE_CHECKING:
    from evenhand.stats.rankings import Numbers


class Names:
    """Texts by number, added in any order; a number without a name has ""."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._begins, self._sizes = array("q"), array("i")

    def __len__(self) -> int:
        """One more than the highest number."""
        return len(self._sizes)

    def __getitem__(self, number: int) -> str:
        begin = self._begins[number]
        return self._text[begin : begin + self._sizes[number]].decode("utf-8", "surrogatepass")

    def has(self, number: int) -> bool:
        """Return whether a number has a name."""
        return number < len(self._sizes) and self._sizes[number] > 0

    def put(self, number: int, name: str) -> None:
        """Set the name of a number."""
        if (missing := number + 1 - len(self._sizes)) > 0:
            self._begins.frombytes(bytes(missing * self._begins.itemsize))
            self._sizes.frombytes(bytes(missing * self._sizes.itemsize))
        encoded = name.encode("utf-8", "surrogatepass")
        self._begins[number], self._sizes[number] = len(self._text), len(encoded)
        self._text += encoded


class NamesInOrder(Sequence[str]):
    """Names in an order of their numbers, each read when it is looked at."""

    def __init__(self, names: Names, numbers: Numbers) -> None:
        self._names = names
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self._names[number] for number in self._numbers[index]]
        return self._names[int(self._numbers[index])]


MOST_ENTRANTS: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class Entrant:
    """A profile with its number, as it is in the cases of a run: a member of a group."""

    number: int
    id: str
    text: str
    attributes: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the entrant as plain JSON values."""
        row: dict[str, Any] = {"number": self.number, "id": self.id, "text": self.text}
        return row | {"attributes": self.attributes} if self.attributes else row


def entrants_of(profiles: Iterable[Profile]) -> Iterable[Entrant]:
    """Yield profiles with their numbers, from 0, in the order in which they come."""
    for number, profile in enumerate(profiles):
        yield Entrant(number=number, id=profile.id, text=profile.text, attributes=dict(profile.attributes))


class Entrants:
    """All entrants, in a temporary database that is gone with the process."""

    def __init__(self, entrants: Iterable[Entrant]) -> None:
        # An empty name means a file of its own, deleted as soon as it is made; only what is in use is in memory.
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._database.execute("CREATE TABLE entrants (number INTEGER PRIMARY KEY, content TEXT)")
        # As JSON, which can hold unpaired surrogates too.
        rows = ((each.number, json.dumps([each.id, each.text, each.attributes])) for each in entrants)
        try:
            self._database.execute("BEGIN")
            # A profile may be in two pairs of the first round, from which a run that goes on reads it.
            self._database.executemany("INSERT OR IGNORE INTO entrants VALUES (?, ?)", rows)
            self._database.execute("COMMIT")
            ((self.count,),) = self._database.execute("SELECT COUNT(*) FROM entrants")
        except BaseException:
            self._database.close()
            raise
        if not 2 <= self.count <= MOST_ENTRANTS:
            self._database.close()
            if self.count < 2:
                raise ConfigError("there is only one profile; a ranking needs two or more")
            raise ConfigError(f"there are {self.count:,} profiles; a ranking takes {MOST_ENTRANTS:,} at most")

    def taken(self, numbers: Sequence[int]) -> list[Entrant]:
        """Return some entrants, in the order of the numbers."""
        marks = ", ".join("?" * len(numbers))
        rows = self._database.execute(
            f"SELECT number, content FROM entrants WHERE number IN ({marks})",  # noqa: S608
            list(numbers),
        )
        by_number = {number: Entrant(number, *json.loads(content)) for number, content in rows}
        return [by_number[number] for number in numbers]

    def __del__(self) -> None:
        # Whoever ranks may give up at any moment, and nothing else holds the file.
        if hasattr(self, "_database"):
            self._database.close()
