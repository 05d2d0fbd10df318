"""A SQL database: what SQLite and PostgreSQL have in common here.

Statements are written once, with ``?`` for values. What differs between the two is in their own modules: how to
connect, how to begin a transaction, and what an automatic number is called.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final, NamedTuple, TypeVar, cast

from evenhand.domain.errors import ConnectionLostError, ReadOnlyError, StoreError

# So often a read or a transaction is begun, each time with a new connection, before the loss of one is reported.
MOST_TRIES: Final = 20

Result = TypeVar("Result")
Method = TypeVar("Method", bound=Callable[..., Any])


class Space(NamedTuple):
    """How many bytes the tables take, and how many of these are free for new rows; None if only the server knows."""

    taken: int
    free: int | None


class Database(ABC):
    """One connection, which threads may share; a transaction is one thread's at a time.

    A connection that was lost is replaced: for a read outside a transaction, and when a transaction begins. What was
    within a transaction is undone then, so whoever can do it again says so with ``repeated`` or ``atomically``.
    """

    serial: ClassVar[str]
    # What follows the columns of a table whose rows are kept in the order of its key, where it has to be asked for.
    clustered: ClassVar[str] = ""
    # What follows a column of text that is sorted by its bytes, where that is not so by itself.
    bytewise: ClassVar[str] = ""
    # What a column of bytes is called.
    binary: ClassVar[str] = "BLOB"
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
        # Of texts that evaluations share, those that were read lately, by their hashes.
        self.shared_texts: dict[str, str] = {}
        self._mine = threading.RLock()
        self._within = False
        self._broken = False

    @property
    def is_taken(self) -> bool:
        """Whether another thread uses the connection, so that one would have to wait for it."""
        if self._mine.acquire(blocking=False):
            self._mine.release()
            return False
        return True

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Do everything inside, or nothing of it; one within another is part of that.

        After an error inside, all of it is rolled back, even if the caller continues: PostgreSQL would accept the
        commit and store nothing. If the connection is lost inside, ``ConnectionLostError`` is raised: nothing of it is
        stored then, not even where only word of the commit was lost.
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
            self._with_connection("write to", self._begin)
            self._within, self._broken = True, False
            try:
                yield
                if self._broken:
                    raise StoreError(f"cannot write to {self.where}: a part of it failed, so all of it was rolled back")
                self._commit()
            except BaseException:
                with contextlib.suppress(*self.trouble):  # the first trouble is the one to report
                    self._run("ROLLBACK")
                raise
            finally:
                self._within = False

    def repeated(self, act: Callable[[], Result]) -> Result:
        """Return what ``act`` returns; it is called again if it fails because the connection was lost.

        It writes in one transaction at most. Within a transaction it is called once: the whole of that is repeated.
        """
        with self._mine:
            tries = 1 if self._within else MOST_TRIES
        for _ in range(tries - 1):
            with contextlib.suppress(ConnectionLostError):
                return act()
        return act()

    def atomically(self, act: Callable[[], Result]) -> Result:
        """Return what ``act`` returns, in a transaction that is repeated if the connection is lost."""

        def once() -> Result:
            with self.transaction():
                return act()

        return self.repeated(once)

    def require_writable(self) -> None:
        """Raise ``ReadOnlyError`` if the database can only be read, before anything is started that must be stored."""
        if self.read_only:
            raise ReadOnlyError(
                f"{self.where} is read-only, and this would write to it; give another database with --db, or copy it "
                "to where you may write"
            )

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a query, which changes nothing, and return its rows."""
        with self._mine:
            rows: list[tuple[Any, ...]] = self._with_connection("read", lambda: self._run(sql, values).fetchall())
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

    def add_rows(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, replace: bool = False
    ) -> None:
        """Add many rows to a table, by the quickest way there is; if ``replace``, in place of those of the same key."""
        if not rows:
            return
        with self._mine:
            try:
                self._add_rows(table, columns, rows, replace=replace)
            except self.trouble as error:
                self._broken = True
                raise self._error("write to", error) from error

    def _with_connection(self, action: str, act: Callable[[], Result]) -> Result:
        """Do what can be done twice; outside a transaction, with another connection if this one is lost."""
        tries = MOST_TRIES
        while True:
            tries -= 1
            try:
                return act()
            except self.trouble as error:
                self._broken = True
                if self._within or not tries or not self._is_lost:
                    raise self._error(action, error) from error
            self._reconnect()

    def _commit(self) -> None:
        self.execute("COMMIT")

    def _error(self, action: str, error: Exception) -> StoreError:
        """Make an error: what could not be done, where, why, and what would help."""
        kind = ConnectionLostError if self._is_lost else StoreError
        return kind(f"cannot {action} {self.where}: {error}{self._advice(error)}")

    @property
    def _is_lost(self) -> bool:
        """Whether the connection was lost; one to a file never is."""
        return False

    def _reconnect(self) -> None:  # noqa: B027 - a file needs none
        """Replace a connection that was lost, or raise ``ConnectionLostError``."""

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
    def _add_rows(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, replace: bool) -> None:
        """Add many rows to a table."""

    @abstractmethod
    def among(self, column: str, numbers: Sequence[int]) -> tuple[str, Any]:
        """Return the condition that a column has one of many numbers, and the one value that it takes."""

    @abstractmethod
    def containing(self, column: str, text: str) -> tuple[str, Any]:
        """Return the condition that a column has a text in it, letter by letter, and the one value that it takes."""

    @abstractmethod
    def survey(self, table: str) -> None:
        """Let the database see how much a table holds by now, where it plans queries by that."""

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Return whether there is a table of that name."""

    @abstractmethod
    def space(self) -> Space:
        """Return how much space the tables take."""

    @abstractmethod
    def vacuum(self) -> None:
        """Return the space of what was deleted to the disk. Nobody else can use the tables meanwhile."""

    @abstractmethod
    def lock(self) -> None:
        """Within a transaction, wait until no other process is in one that asked for the same."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    @abstractmethod
    def check(self, table: str | None = None) -> None:
        """Raise ``StoreError`` if the database, or one table of it, is damaged."""


def atomic(method: Method) -> Method:
    """Make a method one transaction of its ``_db``, which is repeated if the connection is lost."""

    @functools.wraps(method)
    def whole(tables: Any, *args: Any, **kwargs: Any) -> Any:
        database: Database = tables._db
        return database.atomically(lambda: method(tables, *args, **kwargs))

    return cast("Method", whole)
