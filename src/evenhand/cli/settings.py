r"""Settings from the environment, from `evenhand.toml` and from `.env`, and the files that may hold them.

A ``.env`` file has names and values, one a line::

    # a comment
    OPENAI_API_KEY=sk-…
    export EVENHAND_JUDGE='openai/gpt-5-mini'
    GREETING="two\nlines"   # in double quotes, \n \r \t \" \\ \$ are escapes

Nothing is put in place of ``$NAME``. What is set already stays as it is.

A flag comes first, then the environment (``EVENHAND_MAX_COST``), then the file: ``evenhand.toml``, or
``[tool.evenhand]`` in ``pyproject.toml``. A ``.env`` in either folder adds to the environment. Folders above are not
looked into: whoever can write there could send the user's keys to an address of their own.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from evenhand.domain.errors import ConfigError, did_you_mean

NAME: Final = "evenhand"
_ROOT: Final = 0


class OwnFile(NamedTuple):
    """The content of a file, and why it cannot be trusted as the user's own; None if it can."""

    content: bytes
    problem: str | None


def user_folder() -> Path | None:
    """Return the folder of the user's own settings; None where there is no home."""
    if sys.platform == "win32":
        base = os.environ.get("APPDATA") or "~/AppData/Roaming"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        # The specification says to ignore one that is not absolute.
        base = os.environ.get("XDG_CONFIG_HOME", "")
        base = base if Path(base).is_absolute() else "~/.config"
    try:
        return Path(base).expanduser() / NAME
    except RuntimeError:
        return None


def read_own_file(path: Path) -> OwnFile:
    """Read a file and check its owner: that of the opened file, since the path may be another one by now."""
    with path.open("rb") as file:
        return OwnFile(file.read(), problem_of(os.fstat(file.fileno()), path))


def problem_of(about: os.stat_result, path: Path) -> str | None:
    """Return why a file cannot be trusted as the user's own, and how to fix that; None if it can."""
    if sys.platform == "win32":
        return None
    # Root can write to any file anyway.
    if about.st_uid not in (os.getuid(), _ROOT):
        return (
            f"it belongs to another user (uid {about.st_uid}), who could send your keys elsewhere; if you trust its "
            f"content, take ownership of it: sudo chown {os.getuid()} {path}"
        )
    everybody = bool(about.st_mode & stat.S_IWOTH)
    if everybody or (about.st_mode & stat.S_IWGRP and not _is_alone_in(about.st_gid)):
        who = "every user" if everybody else "a whole group"
        return f"{who} can write to it, and could send your keys elsewhere; check its content, then: chmod go-w {path}"
    return None


def _is_alone_in(group: int) -> bool:
    """Return whether a group is the user's own, as many systems have one for each user."""
    if sys.platform == "win32":
        return True
    import grp  # noqa: PLC0415 - not on Windows
    import pwd  # noqa: PLC0415

    try:
        entry, user = grp.getgrgid(group), pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return user.pw_gid == group and set(entry.gr_mem) <= {user.pw_name} and entry.gr_name == user.pw_name


MAX_BYTES: Final = 1_000_000

_LINE: Final = re.compile(r"(?:export\s++)?([A-Za-z_][A-Za-z0-9_]*+)\s*+=\s*+(.*)", re.DOTALL)
_SINGLE: Final = re.compile(r"'([^']*)'\s*(?:#.*)?")
_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?')
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


def load_env_file(path: Path) -> list[str]:
    """Set the variables of a file that are not set in the environment, and return their names."""
    added = {name: value for name, value in read_env_file(path).items() if name not in os.environ}
    os.environ.update(added)
    return list(added)


def read_env_file(path: Path) -> Mapping[str, str]:
    """Read a file; an invalid line is reported, but its value is never shown."""
    try:
        content, problem = read_own_file(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the file: {error.strerror}; or give --no-env-file") from None
    if problem is not None:
        raise ConfigError(f"{path}: {problem}; or give --no-env-file")
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{path}: it is larger than {MAX_BYTES:,} bytes; give --no-env-file if it is something else")
    values: dict[str, str] = {}
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            assignment = _assignment_in(line.decode())
        except UnicodeDecodeError:
            raise ConfigError(f"{path}:{number}: not UTF-8") from None
        except ValueError as problem:
            raise ConfigError(f"{path}:{number}: {problem}") from None
        if assignment is None:
            continue
        name, value = assignment
        if name in values:
            raise ConfigError(f"{path}:{number}: duplicate variable {name}")
        values[name] = value
    return values


def _assignment_in(line: str) -> tuple[str, str] | None:
    """Return the name and value in a line, or None for a blank one; messages must not show the value."""
    line = line.strip()
    if not line or line.startswith("#"):
        return None
    assignment = _LINE.fullmatch(line)
    if assignment is None:
        raise ValueError("a line must be NAME=value, or a comment that begins with #")
    name, value = assignment.groups()
    if "\0" in value:
        raise ValueError(f"{name} contains a null byte")
    if value.startswith("'"):
        quoted = _SINGLE.fullmatch(value)
        if quoted is None:
            raise ValueError(f"{name}: the quote ' is not closed on this line, or text follows it")
        return name, quoted[1]
    if value.startswith('"'):
        quoted = _DOUBLE.fullmatch(value)
        if quoted is None:
            raise ValueError(f'{name}: the quote " is not closed on this line, or text follows it')
        return name, _ESCAPE.sub(lambda escape: _unescaped(name, escape[1]), quoted[1])
    # In an unquoted value a comment needs a space before it: the keys of some providers contain #.
    return name, re.split(r"(?:^|\s)#", value, maxsplit=1)[0].rstrip()


def _unescaped(name: str, character: str) -> str:
    if character not in _ESCAPED:
        raise ValueError(f"{name}: unknown escape \\{character}; use single quotes for literal text")
    return _ESCAPED[character]


OWN_FILE: Final = "evenhand.toml"
SHARED_FILE: Final = "pyproject.toml"
ENV_FILE: Final = ".env"
# The settings that a file may have, by name: the type of each, a list if it can be repeated.
Kinds = Mapping[str, Any]

_PATHS: Final = ("db", "log_file", "output")
_NAMES: Final = {bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list of texts"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a file by their names in Python; ``from_env_file`` has the variables that a ``.env`` set."""

    file: Path | None = None
    from_env_file: Mapping[str, Path] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


def load_settings(folder: Path, kinds: Kinds, *, with_env_file: bool = True) -> Settings:
    """Return the settings that apply in a folder; the variables of ``.env`` files go into the environment."""
    own = user_folder()
    folders = [folder] if own is None or own == folder else [folder, own]
    file, table = _first_with_settings(folders)
    values = {} if file is None else dict(_check_settings(file, table, kinds))
    if not with_env_file or values.get("no_env_file"):
        return Settings(file=file, values=values)
    # Not a folder: some name their virtual environment so.
    env_files = [path / ENV_FILE for path in folders if (path / ENV_FILE).is_file()]
    added = {name: path for path in env_files for name in load_env_file(path)}
    return Settings(file=file, values=values, from_env_file=added)


def _first_with_settings(folders: Sequence[Path]) -> tuple[Path | None, Mapping[str, Any]]:
    """Return the file and table of the first folder with settings; those of other folders are ignored."""
    for folder in folders:
        own, shared = folder / OWN_FILE, folder / SHARED_FILE
        section = _section(shared) if shared.is_file() else None
        if own.is_file():
            if section is not None:
                raise ConfigError(f"{own} and [tool.evenhand] in {shared} both have settings; keep one of them")
            return own, _parse_toml(own, _read_settings(own))
        if section is not None:
            return shared, section
    return None, {}


def _section(shared: Path) -> Mapping[str, Any] | None:
    try:
        read = read_own_file(shared)
    except OSError:
        return None
    if b"evenhand" not in read.content:  # most have no settings of ours, and need not be parsed
        return None
    section = _parse_toml(shared, read.content).get("tool", {}).get("evenhand")
    if section is None:
        return None
    if not isinstance(section, Mapping):
        raise ConfigError(f"{shared}: tool.evenhand must be a table")
    _require_own(shared, read)
    return section


def _read_settings(file: Path) -> bytes:
    try:
        read = read_own_file(file)
    except OSError as error:
        raise ConfigError(f"{file}: cannot read the file: {error.strerror}") from None
    _require_own(file, read)
    return read.content


def _require_own(file: Path, read: OwnFile) -> None:
    if read.problem is not None:
        raise ConfigError(f"{file}: {read.problem}")


# The parser takes time with the square of a key's parts: seconds at ten thousand.
_MOST_DOTS: Final = 1_000


def _parse_toml(file: Path, content: bytes) -> Mapping[str, Any]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.count(b".") > _MOST_DOTS:
            raise ConfigError(f"{file}, line {number}: more than {_MOST_DOTS:,} dots; shorten the line")
    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: invalid TOML: {error}") from None


def _check_settings(file: Path, table: Mapping[str, Any], kinds: Kinds) -> Iterator[tuple[str, Any]]:
    seen: dict[str, str] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in kinds:
            known = [setting.replace("_", "-") for setting in kinds]
            raise ConfigError(f"{file}: no setting {key!r:.80}{did_you_mean(name.replace('_', '-'), known)}")
        if name in seen:
            raise ConfigError(f"{file}: {seen[name]} and {key} are the same setting; keep one")
        seen[name] = key
        yield name, _value(file, key, value, kinds[name])


def _value(file: Path, key: str, value: Any, kind: Any) -> Any:
    several = kind == list[str]
    if several and isinstance(value, str):
        value = [value]
    expected: type = list if several else kind
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    is_right = isinstance(value, expected) and (expected is bool or not isinstance(value, bool))
    if not is_right or (several and not all(isinstance(item, str) for item in value)):
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        shown = "not text" if key == "db" else shown  # it may contain a password
        raise ConfigError(f"{file}: {key} is {shown:.80}; it must be {_NAMES[expected]}")
    if key.replace("-", "_") not in _PATHS:
        return value
    return [_relative_to(file.parent, path) for path in value] if several else _relative_to(file.parent, value)


def _relative_to(folder: Path, path: str) -> str:
    """Return a path in a file, which is relative to the folder of that file; the URL of a server is no path."""
    scheme, slashes, rest = path.rpartition("sqlite:///")
    if "://" in rest or (slashes and not rest):
        return path
    return f"{scheme}{slashes}{folder / rest}"
