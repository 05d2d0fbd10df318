"""A SQL database: what SQLite and PostgreSQL have in common here.

Statements are written once, with ``?`` for values. What differs between the two is in their own modules: how to
connect, how to begin a transaction, and what an automatic number is called.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from evenhand.domain.errors import ReadOnlyError, StoreError


class Database(ABC):
    """One connection, which threads may share; a transaction is one thread's at a time."""

    serial: ClassVar[str]
    # Whether a commit returns quickly enough to be waited for on an event loop.
    quick: ClassVar[bool]
    # What follows a SELECT within a transaction, so that nobody changes the row before it ends, or reads it to.
    for_share: ClassVar[str] = ""
    for_update: ClassVar[str] = ""

    def __init__(self, where: str, *, trouble: tuple[type[Exception], ...]) -> None:
        self.where = where
        # What the driver raises when the database is in trouble.
        self.trouble = trouble
        # Whether it can only be read.
        self.read_only = False
        self._mine = threading.RLock()
        self._within = False
        self._broken = False

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Do everything inside, or nothing of it; one within another is part of that.

        After an error inside, all of it is rolled back, even if the caller continues: PostgreSQL would accept the
        commit and store nothing.
        """
        with self._mine:
            if self._within:
                try:
                    yield
                except BaseException:
                    self._broken = True
                    raise
                return
            self.require_writable()
            try:
                self._begin()
            except self.trouble as error:
                raise self._error("write to", error) from error
            self._within, self._broken = True, False
            try:
                yield
                if self._broken:
                    raise StoreError(f"cannot write to {self.where}: a part of it failed, so all of it was rolled back")
                self.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(*self.trouble):  # the first trouble is the one to report
                    self._run("ROLLBACK")
                raise
            finally:
                self._within = False

    def require_writable(self) -> None:
        """Raise ``ReadOnlyError`` if the database can only be read, before anything is started that must be stored."""
        if self.read_only:
            raise ReadOnlyError(
                f"{self.where} is read-only, and this would write to it; give another database with --db, or copy it "
                "to where you may write"
            )

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a query and return its rows."""
        with self._mine:
            try:
                rows: list[tuple[Any, ...]] = self._run(sql, values).fetchall()
            except self.trouble as error:
                self._broken = True
                raise self._error("read", error) from error
        return rows

    def execute(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement, and return how many rows changed."""
        with self._mine:
            try:
                count: int = self._run(sql, values).rowcount
            except self.trouble as error:
                self._broken = True
                raise self._error("write to", error) from error
        return count

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement with many rows of values."""
        if not rows:
            return
        with self._mine:
            try:
                self._run_many(sql, rows)
            except self.trouble as error:
                self._broken = True
                raise self._error("write to", error) from error

    def _error(self, action: str, error: Exception) -> StoreError:
        """Make an error: what could not be done, where, why, and what would help."""
        return StoreError(f"cannot {action} {self.where}: {error}{self._advice(error)}")

    def _advice(self, error: Exception) -> str:  # noqa: ARG002 - for the dialects that have some
        """Return what would help, if that is known."""
        return ""

    @abstractmethod
    def _begin(self) -> None:
        """Begin a transaction that will write, waiting for those of others."""

    @abstractmethod
    def _run(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Run a statement and return its cursor."""

    @abstractmethod
    def _run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement with many rows of values."""

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Return whether there is a table of that name."""

    @abstractmethod
    def lock(self) -> None:
        """Within a transaction, wait until no other process is in one that asked for the same."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    @abstractmethod
    def check(self, table: str | None = None) -> None:
        """Raise ``StoreError`` if the database, or one table of it, is damaged."""
