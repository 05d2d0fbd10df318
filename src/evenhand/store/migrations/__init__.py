"""Migrations of the database: numbered SQL files, all within one transaction.

A database of a newer version is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from evenhand.domain.errors import StoreError
from evenhand.store.database import Database


def known() -> list[str]:
    """Return the migrations of this program, the first one first."""
    files = resources.files(__package__).iterdir()
    return [
        file.read_text(encoding="utf-8") for file in sorted(files, key=lambda file: file.name) if _is_sql(file.name)
    ]


def named(name: str) -> str:
    """Return one migration, by the name of its file."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def version_of(database: Database) -> int:
    """Return the last migration of a database."""
    if not database.has_table("schema_version"):
        return 0
    rows = database.rows("SELECT version FROM schema_version")
    if len(rows) != 1 or not isinstance(rows[0][0], int):
        raise StoreError(f"{database.where} is damaged: it does not say which version wrote it; restore a backup")
    return int(rows[0][0])


def require_current(database: Database) -> None:
    """Raise ``StoreError`` unless a database has the tables that this program knows, neither older nor newer ones."""
    newest = len(known())
    if not _refuse_newer(database, newest):
        raise StoreError(
            f"{database.where} has the tables of schema {version_of(database)}, where this Evenhand needs {newest}; "
            "start it again, which brings them up to date"
        )


def migrate(database: Database, migrations: Sequence[str]) -> None:
    """Apply the migrations that a database lacks; when one fails or the process dies, none is applied."""
    if _refuse_newer(database, len(migrations)):
        return
    if database.read_only:
        version = version_of(database)
        state = f"the tables of an older Evenhand (schema {version})" if version else "no tables of Evenhand"
        raise StoreError(
            f"{database.where} is read-only and has {state}, where this one needs schema {len(migrations)}; copy it to "
            "where you may write, and open it there: that brings it up to date"
        )
    with database.transaction():
        database.lock()
        if _refuse_newer(database, len(migrations)):  # another process may have been quicker
            return
        version = version_of(database)
        if version == 0:
            database.execute("CREATE TABLE schema_version (version BIGINT NOT NULL)")
            database.execute("INSERT INTO schema_version (version) VALUES (0)")
        for text in migrations[version:]:
            apply(database, text)
        database.execute("UPDATE schema_version SET version = ?", [len(migrations)])


def apply(database: Database, text: str) -> None:
    """Run the statements of a migration, in the dialect of a database."""
    for statement in _statements(text):
        for name in ("serial", "clustered", "bytewise", "binary"):
            statement = statement.replace(f"{{{name}}}", getattr(database, name))  # noqa: PLW2901 - word by word
        database.execute(statement)


def _refuse_newer(database: Database, newest: int) -> bool:
    """Return whether a database is up to date; one of a newer version is an error."""
    version = version_of(database)
    if version > newest:
        raise StoreError(
            f"{database.where} was written by a newer Evenhand (schema {version}, this one knows {newest}); "
            "upgrade, or give another database with --db"
        )
    return version == newest


def _statements(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    return [statement for part in "\n".join(lines).split(";") if (statement := part.strip())]


def _is_sql(name: str) -> bool:
    return name.endswith(".sql")
