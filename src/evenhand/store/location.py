"""Where a database is, as it may be shown: with no part of a password, whatever the URL looks like."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import unquote

from evenhand.domain.errors import ConfigError
from evenhand.domain.secret import HIDDEN

# The folder that is made when there is none; nobody else reads in it, and git leaves it alone.
FOLDER: Final = ".evenhand"
UNTOLD: Final = "postgresql://…"

# A URL that can be read in one way only: one @ at most, and before the path; the marks of a URL only where they belong.
# Each part ends at a character that it cannot have in it.
_CERTAIN: Final = re.compile(
    r"(?P<scheme>postgres(?:ql)?)://"
    r"(?:(?P<user>[^:/?#@\s]*)(?::(?P<password>[^/?#@\s]*))?@)?"
    r"(?P<hosts>[^/?#@\s]*)"
    r"(?P<path>/[^/?#@\s]*)?"
    r"(?:\?(?P<query>[^?#@\s]*))?"
)
_HOST: Final = re.compile(r"(?:\[[0-9A-Fa-f:.%]*\]|[^\[\]:,]*)(?::[0-9]*)?")
# What may be shown of a query; of anything else only the name.
_OPEN: Final = frozenset(
    {"host", "hostaddr", "port", "dbname", "user", "sslmode", "connect_timeout", "application_name"}
)
_NAME: Final = re.compile(r"[^=@/\s:]*")
_SETTINGS: Final = re.compile(
    r"(?:^|[\s/])(?:host|hostaddr|port|dbname|user|password|passfile|sslpassword|service)\s{0,40}=", re.IGNORECASE
)


class Location(NamedTuple):
    """A PostgreSQL database: ``where`` it is, the URL as ``written`` without passwords, and the ``passwords``."""

    where: str
    written: str
    passwords: tuple[str, ...]


def location_of(url: str) -> Location | None:
    """Read a URL of PostgreSQL; None where it is not certain which part of it is what."""
    match = _CERTAIN.fullmatch(url)
    if match is None or not all(map(_HOST.fullmatch, match["hosts"].split(","))):
        return None
    settings = [setting.partition("=") for setting in (match["query"] or "").split("&") if setting]
    name = (match["path"] or "")[1:]
    public = {key: value for key, _, value in settings if key in _OPEN}
    if not all(equals for _, equals, _ in settings) or not all(
        _NAME.fullmatch(unquote(database))
        for database in (name, public.get("dbname", ""))  # which may be a whole URL of its own
    ):
        return None
    hosts = ":".join(filter(None, (match["hosts"] or public.get("host"), public.get("port"))))
    login = "" if match["user"] is None else f"{match['user']}{'' if match['password'] is None else f':{HIDDEN}'}@"
    query = "&".join(f"{key}={value if key in _OPEN else HIDDEN}" for key, _, value in settings)
    return Location(
        where=f"postgresql://{hosts}/{public.get('dbname', name)}",
        written=f"{match['scheme']}://{login}{match['hosts']}{match['path'] or ''}{'?' if query else ''}{query}",
        passwords=(match["password"] or "", *(value for key, _, value in settings if key not in _OPEN)),
    )


def is_misread(url: str) -> bool:
    """Return whether a URL has an ``@`` or a ``/`` too many: libpq would take a part of the password for the host."""
    authority, _, rest = url.partition("://")[2].partition("?")[0].partition("/")
    _, _, hosts = authority.rpartition("@")
    return url.count("@") > 1 or "@" in rest or not all(map(_HOST.fullmatch, hosts.split(",")))


def without_password(url: str) -> str:
    """Return the path or URL of a database as it may be shown.

    >>> without_password("postgresql://me:secret@db.example/evals")
    'postgresql://me:***@db.example/evals'
    >>> without_password("postgresql://me:sec/ret@db.example/evals")
    'postgresql://…'
    """
    scheme, slashes, _ = url.partition("://")
    if not slashes:
        return "…" if _SETTINGS.search(url) else url
    if scheme in ("postgresql", "postgres"):
        location = location_of(url)
        return UNTOLD if location is None else location.written
    return url if scheme == "sqlite" and "@" not in url and "password" not in url.lower() else f"{scheme:.20}://…"


def require_location(url: str) -> None:
    """Refuse ``host=… password=…``, which would be the name of a file."""
    if "://" not in url and _SETTINGS.search(url):
        raise ConfigError(
            "a database is the path of a file, or a URL such as postgresql://user:password@host/name; "
            "settings such as host=… and password=… are not read"
        )
