"""The rows of a run, written with checksums and verified when read: a damaged row is not passed on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from evenhand.domain.errors import StoreError
from evenhand.domain.run import RunRecord
from evenhand.store import checksum, shared_texts
from evenhand.store.database import Database

Row: TypeAlias = tuple[Any, ...]

MENDING: Final = "restore a backup, or delete the run; evenhand runs verify lists the damaged rows"
# The table whose rows share texts.
_SHARING: Final = "evaluations"
# What a column of another type than was written may raise.
NOT_AS_WRITTEN: Final = (TypeError, ValueError, AttributeError, OverflowError, KeyError)


class Table(NamedTuple):
    """A table whose rows belong to a run: what a row is called, the columns before its content, the decimal ones."""

    name: str
    row: str
    columns: tuple[str, ...]
    decimals: tuple[int, ...]
    checksum: Callable[[int, Row, int], int]

    @property
    def insert(self) -> str:
        """The statement that adds a row."""
        names = ("run", *self.columns, "content", "checksum")
        marks = ", ".join("?" * len(names))
        return f"INSERT INTO {self.name} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608 - our own names

    def sealed(self, rows: Iterable[Row]) -> list[Row]:
        """Return rows of ``run``, columns and content with their checksums."""
        seal, half = self.checksum, checksum.content_half
        return [(*row, seal(row[0], row[1:-1], half(row[-1]))) for row in rows]

    def is_sound(self, run: int, columns: Row, stored_checksum: Any, content: Any = None) -> bool:
        """Return whether a row matches its checksum; without the content, whether its columns do."""
        try:
            for place in self.decimals:
                if type(columns[place]) is not float and columns[place] is not None:
                    return False
            half = checksum.half_in(stored_checksum) if content is None else checksum.content_half(content)
            return bool(self.checksum(run, columns, half) == stored_checksum)
        except NOT_AS_WRITTEN:
            return False

    def read(
        self,
        database: Database,
        run: RunRecord,
        where: str,
        values: Sequence[Any],
        *,
        order: str = "position",
        content: bool = True,
        whole: bool = True,
    ) -> list[Row]:
        """Read rows of a run: columns, content and checksum; raise ``StoreError`` if one does not match its checksum.

        Without ``content`` that stays in the database, and the columns alone are verified. If not ``whole``, content
        is without the texts that it shares with other rows, all of which are there.
        """
        names = ", ".join((*self.columns, "content", "checksum") if content else (*self.columns, "checksum"))
        rows = database.rows(
            f"SELECT {names} FROM {self.name} WHERE run = ? AND {where} ORDER BY {order}",  # noqa: S608 - our own names
            [run.number, *values],
        )
        require_sound(self, run, rows, content=content)
        return self._with_texts(database, run, rows, whole=whole) if content and self.name == _SHARING else rows

    def _with_texts(self, database: Database, run: RunRecord, rows: list[Row], *, whole: bool) -> list[Row]:
        """Return rows with the texts that they share with others, or only see to it that these are there."""
        contents = [row[-2] for row in rows]
        try:
            texts = shared_texts.shared_by(database, run.number, contents)
            if not whole or not texts:
                return rows
            contents = shared_texts.restored(contents, texts)
        except ValueError:
            refuse_damage(run, "it does not say which texts its evaluations share")
        except StoreError as error:
            refuse_damage(run, str(error))
        return [(*row[:-2], content, row[-1]) for row, content in zip(rows, contents, strict=True)]

    def place_of(self, row: Row) -> str:
        """Describe where a row is in its run, as far as its columns can be trusted."""
        if self.columns[0] != "position":
            return f"{self.columns[0]} {row[0]!r:.20}"
        position, *more = row
        names = [f"{name} {value!r:.20}" for name, value in zip(self.columns[1:], more, strict=False) if name in _TOLD]
        return ", ".join([f"the case at position {position!r:.20}", *names])


_TOLD: Final = ("id", "place", "sample", "round", "rater")


def require_sound(table: Table, run: RunRecord, rows: Iterable[Row], *, content: bool = False) -> None:
    """Raise ``StoreError`` if one of the rows does not match its checksum.

    Rows have columns, content if it was read, and the checksum; what follows is ignored.
    """
    width = len(table.columns)
    for row in rows:
        stored_checksum, text = row[width + content], row[width] if content else None
        if stored_checksum is None and not run.covered:
            continue
        if (content and type(text) is not str) or not table.is_sound(run.number, row[:width], stored_checksum, text):
            refuse_damage(run, f"the {table.row} of {table.place_of(row)} does not match its checksum")


def by_position(rows: Iterable[Row]) -> dict[int, list[Row]]:
    """Return rows by the position of their case, each in the order in which they came."""
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    return groups


def refuse_damage(run: RunRecord, damage: str) -> NoReturn:
    """Raise ``StoreError`` with what is damaged, and what can be done about it."""
    raise StoreError(f"run {run.id} is damaged: {damage}; {MENDING}")


CASES: Final = Table("cases", "row", ("position", "id", "hash", "expected"), (), checksum.of_case)
ANSWERS: Final = Table("answers", "answer", ("position", "sample", "round"), (), checksum.of_answer)
LABELS: Final = Table("labels", "label", ("position", "number", "evaluator", "rater"), (), checksum.of_label)
DRAWS: Final = Table("label_draws", "draw", ("number",), (), checksum.of_label)
EVALUATIONS: Final = Table(
    "evaluations",
    "evaluation",
    (
        "position", "place", "sample", "round", "evaluator", "key", "status", "score", "verdict", "weight", "required",
        "cost", "seconds",
    ),
    (7, 9, 11, 12),
    checksum.of_evaluation,
)  # fmt: skip
