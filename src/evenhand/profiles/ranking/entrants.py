"""The profiles that are ranked, by their numbers: kept on disk, since they may be many and are wanted in any order."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from evenhand.domain.errors import ConfigError
from evenhand.domain.profile import Profile

MOST_ENTRANTS: Final = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A profile with its number, as it stands in the cases of a run: as one of a group."""

    number: int
    id: str
    text: str
    attributes: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Give the entrant as plain JSON values."""
        known: dict[str, Any] = {"number": self.number, "id": self.id, "text": self.text}
        return known | {"attributes": self.attributes} if self.attributes else known


def entrants_of(profiles: Iterable[Profile]) -> Iterable[Entrant]:
    """Give profiles with their numbers, from 0, in the order in which they come."""
    for number, one in enumerate(profiles):
        yield Entrant(number=number, id=one.id, text=one.text, attributes=dict(one.attributes))


class Entrants:
    """All entrants, in a temporary database that is gone with the process."""

    def __init__(self, entrants: Iterable[Entrant]) -> None:
        # An empty name means a file of its own, deleted as soon as it is made; only what is in use is in memory.
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._database.execute(
            "CREATE TABLE entrants (number INTEGER PRIMARY KEY, id TEXT, text TEXT, attributes TEXT)"
        )
        rows = ((one.number, one.id, one.text, json.dumps(one.attributes)) for one in entrants)
        try:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT INTO entrants VALUES (?, ?, ?, ?)", rows)
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
        """Give some entrants, in the order of the numbers."""
        marks = ", ".join("?" * len(numbers))
        rows = self._database.execute(
            f"SELECT number, id, text, attributes FROM entrants WHERE number IN ({marks})",  # noqa: S608
            list(numbers),
        )
        found = {
            number: Entrant(number=number, id=identity, text=text, attributes=json.loads(attributes))
            for number, identity, text, attributes in rows
        }
        return [found[number] for number in numbers]

    def __del__(self) -> None:
        # Whoever ranks may give up at any moment, and nothing else holds the file.
        if hasattr(self, "_database"):
            self._database.close()
