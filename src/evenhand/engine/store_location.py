"""Where a program's runs are kept: in a database that is opened when needed, or in memory."""

from __future__ import annotations

import contextlib
import os
import shlex
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from evenhand.domain.errors import ConfigError, RunNotFoundError
from evenhand.store.location import require_location, without_password
from evenhand.store.store import DEFAULT_URL, IN_MEMORY, Store, open_store

DEFAULT: Final = "default"
VARIABLE: Final = "EVENHAND_DB"

_FILE: Final = "sqlite:///"


class StoreLocation:
    """A place for runs. A database is open only while it is used, so that nothing is left open, not even by a fork.

    None is a database in memory, which is gone with the last that holds on to this place.
    """

    @classmethod
    def of(cls, location: PlaceLike) -> StoreLocation:
        """Return the location that a user wrote, in any of its forms."""
        return location if isinstance(location, StoreLocation) else cls(location)

    def __init__(self, location: Store | str | os.PathLike[str] | None) -> None:
        if location is not None and not isinstance(location, (Store, str, os.PathLike)):
            kind = type(location).__name__
            raise ConfigError(f"store must be a path, a URL such as postgresql://host/name, or None, not {kind}")
        self._url = IN_MEMORY
        self._store: Store | None = None
        if isinstance(location, Store):
            self._store = location
        elif location is not None:
            url = _default_url() if location == DEFAULT else os.fspath(location)
            self._url = _absolute_url(url)
        if self._store is None and self._url == IN_MEMORY:
            self._store = open_store(IN_MEMORY)
            weakref.finalize(self, self._store.close)

    @property
    def address(self) -> str:
        """The path or URL that opens it, without a password."""
        return without_password(self._url) if self._store is None else self._store.address

    @contextlib.contextmanager
    def opened(self, *, to_read: bool = False, or_read_only: bool = False) -> Iterator[Store]:
        """Open the store; it is closed again unless it was open before. Who only reads makes no new file.

        One that can only be read is refused unless it is opened ``to_read``, or ``or_read_only``.
        """
        if self._store is not None:
            yield self._store
            return
        if to_read and "://" not in self._url and not Path(self._url).exists():
            raise RunNotFoundError(f"there is no {self._url}; the runs are stored elsewhere, or there are none yet")
        store = open_store(self._url)
        try:
            if not (to_read or or_read_only):
                store.require_writable()
            yield store
        finally:
            store.close()


def db_option(address: str) -> str | None:
    """Return the option by which a command finds a database, after a blank; empty for the default one.

    None for a database in memory, which no command finds.

    >>> db_option("runs.db")
    ' --db runs.db'
    >>> db_option(".evenhand/evenhand.db")
    ''
    """
    url, default = (without_password(_absolute_url(url)) for url in (address, _default_url()))
    if url == IN_MEMORY:
        return None
    if url == default:
        return ""
    return f" --db {shlex.quote(without_password(address).removeprefix(f'{Path.cwd()}{os.sep}'))}"


def run_command(name: str, run_id: str, address: str) -> str:
    """Return a command about a run in a database, to be copied.

    >>> run_command("resume", "20261115-093000-k7mq", "runs.db")
    'evenhand resume 20261115-093000-k7mq --db runs.db'
    """
    return f"evenhand {name} {run_id}{db_option(address) or ''}"


def _default_url() -> str:
    return os.environ.get(VARIABLE) or DEFAULT_URL


def _absolute_url(url: str) -> str:
    """Return the absolute path of a file, which stays the same one when the working directory changes."""
    require_location(url)
    path, mark, query = url.removeprefix(_FILE).partition("?") if url.startswith(_FILE) else (url, "", "")
    if path == ":memory:":
        return IN_MEMORY
    if "://" in path:
        return url
    return f"{_FILE if mark else ''}{Path(path).absolute()}{mark}{query}"


# ``default`` is what the variable names, or a file in the working directory.
PlaceLike: TypeAlias = StoreLocation | Store | str | os.PathLike[str] | None


@contextlib.contextmanager
def open_or_empty(db: str | Store) -> Iterator[Store]:
    """Open a database to read it, or an empty one in memory if there is none."""
    with contextlib.ExitStack() as stack:
        try:
            store = stack.enter_context(StoreLocation(db).opened(to_read=True))
        except RunNotFoundError:
            store = stack.enter_context(StoreLocation(None).opened())
        yield store
