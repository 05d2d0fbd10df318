"""Settings from the environment, from `evenhand.toml` and from `.env`, and the files that may hold them."""

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
    """What is in a file, and what keeps it from being the user's own; None where it is that."""

    content: bytes
    problem: str | None


def user_folder() -> Path | None:
    """Return the folder of the user's own settings; None where there is no home."""
    if sys.platform == "win32":
        base = os.environ.get("APPDATA") or "~/AppData/Roaming"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        # One that is not absolute is to be passed over, says the specification.
        base = os.environ.get("XDG_CONFIG_HOME", "")
        base = base if Path(base).is_absolute() else "~/.config"
    try:
        return Path(base).expanduser() / NAME
    except RuntimeError:
        return None


def read_own_file(path: Path) -> OwnFile:
    """Read a file, and look whose it is: at the file that was opened, which may not be at that path any more."""
    with path.open("rb") as file:
        return OwnFile(file.read(), problem_of(os.fstat(file.fileno()), path))


def problem_of(about: os.stat_result, path: Path) -> str | None:
    """Say what keeps a file from being the user's own, and how to mend it; None where it is that."""
    if sys.platform == "win32":
        return None
    # Who is root can write anything anyhow.
    if about.st_uid not in (os.getuid(), _ROOT):
        return (
            f"it belongs to another user (number {about.st_uid}), and could send your keys elsewhere; if you trust "
            f"what is in it, make it yours: sudo chown {os.getuid()} {path}"
        )
    everybody = bool(about.st_mode & stat.S_IWOTH)
    if everybody or (about.st_mode & stat.S_IWGRP and not _is_alone_in(about.st_gid)):
        who = "everybody" if everybody else "a whole group"
        return f"{who} can write to it, and could send your keys elsewhere; look at it, then: chmod go-w {path}"
    return None


def _is_alone_in(group: int) -> bool:
    """Tell whether a group is the user's own, as many systems make one for each user."""
    if sys.platform == "win32":
        return True
    import grp
    import pwd

    try:
        known, me = grp.getgrgid(group), pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return me.pw_gid == group and set(known.gr_mem) <= {me.pw_name} and known.gr_name == me.pw_name


MAX_BYTES: Final = 1_000_000

_LINE: Final = re.compile(r"(?:export\s++)?([A-Za-z_][A-Za-z0-9_]*+)\s*+=\s*+(.*)", re.DOTALL)
_SINGLE: Final = re.compile(r"'([^']*)'\s*(?:#.*)?")
_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?')
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


def load_env_file(path: Path) -> list[str]:
    """Put what a file says into the environment, where it is not set, and give the names of what was put there."""
    added = {name: value for name, value in read_env_file(path).items() if name not in os.environ}
    os.environ.update(added)
    return list(added)


def read_env_file(path: Path) -> Mapping[str, str]:
    """Read a file; a line that cannot be right is named, its value never shown."""
    try:
        content, problem = read_own_file(path)
    except OSError as error:
        raise ConfigError(f"{path}: it cannot be read: {error.strerror}; or give --no-env-file") from None
    if problem is not None:
        raise ConfigError(f"{path}: {problem}; or give --no-env-file")
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{path}: it has more than {MAX_BYTES:,} bytes; give --no-env-file if it is something else")
    values: dict[str, str] = {}
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            found = _assignments_in(line.decode())
        except UnicodeDecodeError:
            raise ConfigError(f"{path}:{number}: this is not UTF-8") from None
        except ValueError as problem:
            raise ConfigError(f"{path}:{number}: {problem}") from None
        if found is None:
            continue
        name, value = found
        if name in values:
            raise ConfigError(f"{path}:{number}: {name} stands here again; give it once")
        values[name] = value
    return values


def _assignments_in(line: str) -> tuple[str, str] | None:
    """Read a line; None where it says nothing. Messages must not show what may be a secret."""
    line = line.strip()
    if not line or line.startswith("#"):
        return None
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError("a line is NAME=value, or a comment that begins with #")
    name, value = found.groups()
    if "\0" in value:
        raise ValueError(f"{name} holds a zero byte")
    if value.startswith("'"):
        quoted = _SINGLE.fullmatch(value)
        if quoted is None:
            raise ValueError(f"{name}: the quote ' is not closed on this line, or something follows on it")
        return name, quoted[1]
    if value.startswith('"'):
        quoted = _DOUBLE.fullmatch(value)
        if quoted is None:
            raise ValueError(f'{name}: the quote " is not closed on this line, or something follows on it')
        return name, _ESCAPE.sub(lambda one: _unescaped(name, one[1]), quoted[1])
    # In a value without quotes a comment begins after a space: the keys of some providers have # in them.
    return name, re.split(r"(?:^|\s)#", value, maxsplit=1)[0].rstrip()


def _unescaped(name: str, character: str) -> str:
    if character not in _ESCAPED:
        raise ValueError(f"{name}: no escape begins with \\{character}; use single quotes for text as it stands")
    return _ESCAPED[character]


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
            return own, _parsed(own, _read_settings(own))
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


def _read_settings(file: Path) -> bytes:
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
    """Return a path that a file names as it is seen from that file; the URL of a server is no path."""
    scheme, slashes, rest = path.rpartition("sqlite:///")
    if "://" in rest or (slashes and not rest):
        return path
    return f"{scheme}{slashes}{folder / rest}"
