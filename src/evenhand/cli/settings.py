"""Settings: each option may also stand in the environment, or in a file where one is, or in the user's own folder.

A flag comes first, then the environment (``EVENHAND_MAX_COST``), then the file: ``evenhand.toml``, or
``[tool.evenhand]`` in ``pyproject.toml``. A ``.env`` in either folder adds to the environment. Folders above are not
looked into: whoever can write there could send the user's keys to an address of their own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evenhand.cli.envfile import load_env_file
from evenhand.cli.own_file import OwnFile, read_own_file, user_folder
from evenhand.domain.errors import ConfigError, did_you_mean

OWN_FILE: Final = "evenhand.toml"
SHARED_FILE: Final = "pyproject.toml"
ENV_FILE: Final = ".env"
# What may stand in a file: the kind of each setting, a list where there may be several.
Kinds = Mapping[str, Any]

_PATHS: Final = ("db", "log_file", "output")
_NAMES: Final = {bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list of texts"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a file sets, by the names that options have in Python; ``from_env_file`` has what came from a ``.env``."""

    file: Path | None = None
    from_env_file: Mapping[str, Path] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


def load_settings(folder: Path, kinds: Kinds, *, with_env_file: bool = True) -> Settings:
    """Find and read the settings that count in a folder; what ``.env`` adds goes into the environment."""
    own = user_folder()
    folders = [folder] if own is None or own == folder else [folder, own]
    file, table = _found(folders)
    values = {} if file is None else dict(_checked(file, table, kinds))
    if not with_env_file or values.get("no_env_file"):
        return Settings(file=file, values=values)
    # Some call the folder of their virtual environment so.
    env_files = [one / ENV_FILE for one in folders if (one / ENV_FILE).is_file()]
    added = {name: one for one in env_files for name in load_env_file(one)}
    return Settings(file=file, values=values, from_env_file=added)


def _found(folders: Sequence[Path]) -> tuple[Path | None, Mapping[str, Any]]:
    """Find the first folder with settings, which count alone."""
    for folder in folders:
        own, shared = folder / OWN_FILE, folder / SHARED_FILE
        section = _section(shared) if shared.is_file() else None
        if own.is_file():
            if section is not None:
                raise ConfigError(f"{own} and [tool.evenhand] in {shared} both have settings; keep one of them")
            return own, _parsed(own, _read(own))
        if section is not None:
            return shared, section
    return None, {}


def _section(shared: Path) -> Mapping[str, Any] | None:
    try:
        read = read_own_file(shared)
    except OSError:
        return None
    if b"evenhand" not in read.content:  # most are about something else, and need not be read to know it
        return None
    section = _parsed(shared, read.content).get("tool", {}).get("evenhand")
    if section is None:
        return None
    if not isinstance(section, Mapping):
        raise ConfigError(f"{shared}: tool.evenhand must be a table")
    _require_own(shared, read)
    return section


def _read(file: Path) -> bytes:
    try:
        read = read_own_file(file)
    except OSError as error:
        raise ConfigError(f"{file}: it cannot be read: {error.strerror}") from None
    _require_own(file, read)
    return read.content


def _require_own(file: Path, read: OwnFile) -> None:
    if read.problem is not None:
        raise ConfigError(f"{file}: {read.problem}")


def _parsed(file: Path, content: bytes) -> Mapping[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: it is not TOML: {error}") from None


def _checked(file: Path, table: Mapping[str, Any], kinds: Kinds) -> Iterator[tuple[str, Any]]:
    seen: dict[str, str] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in kinds:
            known = [one.replace("_", "-") for one in kinds]
            raise ConfigError(f"{file}: no setting {key!r:.80}{did_you_mean(name.replace('_', '-'), known)}")
        if name in seen:
            raise ConfigError(f"{file}: {seen[name]} and {key} are the same setting; give one")
        seen[name] = key
        yield name, _value(file, key, value, kinds[name])


def _value(file: Path, key: str, value: Any, kind: Any) -> Any:
    several = kind == list[str]
    if several and isinstance(value, str):
        value = [value]
    wanted: type = list if several else kind
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    is_right = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
    if not is_right or (several and not all(isinstance(one, str) for one in value)):
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        shown = "something else" if key == "db" else shown  # which may have a password in it
        raise ConfigError(f"{file}: {key} is {shown:.80}; it must be {_NAMES[wanted]}")
    if key.replace("-", "_") not in _PATHS:
        return value
    return [_seen_from(file.parent, one) for one in value] if several else _seen_from(file.parent, value)


def _seen_from(folder: Path, path: str) -> str:
    """Give a path that a file names as it is seen from that file; the URL of a server is no path."""
    scheme, slashes, rest = path.rpartition("sqlite:///")
    if "://" in rest or (slashes and not rest):
        return path
    return f"{scheme}{slashes}{folder / rest}"
