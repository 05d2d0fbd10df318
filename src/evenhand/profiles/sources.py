"""Profiles from where they are: a file or a table, a folder of texts, or what a program gives, one at a time."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any, Final, TypeAlias

from evenhand.domain.case import Profile
from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.engine.compact_sets import IdSet
from evenhand.evaluators.reading import parse_strict
from evenhand.suites.json_reader import JsonReader
from evenhand.suites.parquet import ARROW_TABLES, read_arrow_table
from evenhand.suites.tables import TABLES, read_table
from evenhand.suites.text_file import TextFile
from evenhand.suites.values import MAX_BYTES, Piece, format_fault, plain

# What users may write for a profile, and for several.
ProfileLike: TypeAlias = Profile | Mapping[str, Any] | str
ProfilesLike: TypeAlias = str | os.PathLike[str] | Profile | Mapping[str, Any] | Iterable[ProfileLike]

_TEXT_FILES: Final = (".txt", ".md")
_JSON: Final = ".json"
_LINES: Final = (".jsonl", ".ndjson")
_ACCEPTED: Final = (
    "profiles come from a .jsonl, .json, .csv, .tsv or .parquet file, or from a folder of .txt and .md files"
)
_PROFILE_KEYS: Final = ("id", "text", "cluster", "attributes")


def profiles_from(source: ProfilesLike) -> Iterator[Profile]:
    """Yield the profiles one by one; duplicate ids are refused, and so are no profiles at all.

    >>> [profile.id for profile in profiles_from([{"id": "anna", "text": "A nurse."}, "A baker."])]
    ['anna', 'profile-2']

    A path is read. In mappings and in files, ``id``, ``text``, ``cluster`` and ``attributes`` are what they are in a
    ``Profile``, and whatever else is there is an attribute. What has no id is named by its place.
    """
    seen = IdSet(most=sys.maxsize)
    where = None
    with contextlib.closing(
        _located_profiles(source)
    ) as located:  # so that a file is closed when a mistake ends the reading
        for where, profile in located:
            if seen.add(profile.id) and (first := _first_place(source, profile.id)) != where:
                raise ConfigError(f"{where}: duplicate id {profile.id!r}{first and f', first in {first}'}")
            yield profile
    if where is None:
        name = str(source) if isinstance(source, str | os.PathLike) else "profiles"
        raise ConfigError(f"{name}: there are no profiles")


def _first_place(source: ProfilesLike, identity: str) -> str:
    """Return where an id occurs first; "" where the source cannot be read again."""
    if isinstance(source, Iterator):
        return ""
    with contextlib.closing(_located_profiles(source)) as located:
        return next((where for where, profile in located if profile.id == identity), "")


def _located_profiles(source: ProfilesLike) -> Generator[tuple[str, Profile], None, None]:
    """Yield each profile with its place in the source."""
    if isinstance(source, str | os.PathLike):
        yield from _read(Path(source))
        return
    several: Any = [source] if isinstance(source, Profile | Mapping) else source
    if not isinstance(several, Iterable):
        raise ConfigError(f"profiles must be a path, or a list of Profile, mappings or texts, not {source!r:.80}")
    for number, item in enumerate(several, 1):
        yield f"profile {number}", _parse_profile(item, number, f"profile {number}")


def _read(path: Path) -> Iterator[tuple[str, Profile]]:
    ending = path.suffix.lower()
    try:
        if path.is_dir():
            yield from _folder(path)
        elif ending in _LINES:
            with contextlib.closing(_lines(path)) as lines:
                yield from _jsonl(path, lines)
        elif ending == _JSON and path.exists():
            yield from _json(path)
        elif ending in TABLES:
            yield from _table(path, lambda check: read_table(path, check, such_as="id,text"), missing="")
        elif ending in ARROW_TABLES:
            yield from _table(path, lambda check: read_arrow_table(path, check))
        elif path.exists():
            raise ConfigError(f"{path}: {_ACCEPTED}")
        else:
            raise ConfigError(f"{path}: there is no such file or folder; {_ACCEPTED}")
    except OSError as error:
        raise ConfigError(f"{path}: it cannot be read: {error.strerror}") from None


def _jsonl(path: Path, lines: Iterable[str]) -> Iterator[tuple[str, Profile]]:
    count = 0
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        where = f"{path}:{number}"
        try:
            value = parse_strict(line)
        except ContractError as error:
            raise ConfigError(f"{where}: {error}{_advice(line)}") from None
        count += 1
        yield where, _parse_profile(value, count, where)


def _advice(line: str) -> str:
    """Say what would be right, where a line has more than one value, or part of one, or a number that is none."""
    text, constants = line.strip(), list[str]()
    try:
        _, end = json.JSONDecoder(parse_constant=constants.append).raw_decode(text)
    except json.JSONDecodeError as error:
        is_one = error.pos < len(text)
    except (RecursionError, ValueError):  # nested too deep, or a number with too many digits
        is_one = True
    else:
        is_one = end == len(text)
    if not is_one:
        return "; write one profile per line"
    return "; write null for a value that is missing" if constants else ""


def _json(path: Path) -> Iterator[tuple[str, Profile]]:
    with TextFile(path) as file:
        for count, item in enumerate(JsonReader(file).listed("a file of profiles is a list"), 1):
            if item.faults:
                raise ConfigError(format_fault(path, item.faults[0]))
            where = f"{path}:{item.line}"
            yield where, _parse_profile(plain(item.value), count, where)


def _table(
    path: Path, read: Callable[[Callable[[list[str]], None]], Iterator[Piece]], *, missing: str | None = None
) -> Iterator[tuple[str, Profile]]:
    """Read the rows of a table; ``read`` takes what checks the heading, before it yields the first row.

    ``missing`` is what an attribute is where its cell is empty.
    """
    keys: dict[str, str] = {}
    rows = read(lambda names: keys.update(_keys_of(names)))
    for count, row in enumerate(rows, 1):
        if row.faults:
            raise ConfigError(format_fault(path, row.faults[0]))
        where = f"{path}:{row.line}"
        cells = {keys[name]: missing if value is None else value for name, value in row.value.items()}
        for key in ("cluster", "attributes"):  # a table has no other way to say none
            if not cells.get(key):
                cells.pop(key, None)
        for key in ("id", "text"):  # refused where it is empty: profiles are named only where there is no such column
            if key in cells and cells[key] is None:
                cells[key] = ""
        yield where, _parse_profile(cells, count, where)


def _keys_of(names: list[str]) -> dict[str, str]:
    """Return what each column of a table is: a key of a profile, in whatever case it is written, or an attribute."""
    keys = {}
    for name in names:
        key = name.strip().lower()
        keys[name] = key if key in _PROFILE_KEYS else name
    for key in _PROFILE_KEYS:
        if len(same := [name for name in names if keys[name] == key]) > 1:
            raise ConfigError(f"columns {same[0]!r} and {same[1]!r} both name the {key}; rename or remove one")
    if "text" not in keys.values():
        raise ConfigError("the first line names the columns, and none of them is text; name one of them so")
    return keys


def _folder(path: Path) -> Iterator[tuple[str, Profile]]:
    inside = path.resolve()
    for number, file in enumerate(sorted(entry for entry in path.iterdir() if not entry.name.startswith(".")), 1):
        # Refused rather than skipped: a profile left out would go unnoticed.
        if file.is_symlink() and not file.resolve().is_relative_to(inside):
            raise ConfigError(f"{file}: a symbolic link that leads out of the folder; copy the file into the folder")
        if file.is_dir():
            raise ConfigError(f"{path}: {file.name} is a folder; keep only .txt and .md files here")
        if file.suffix.lower() not in _TEXT_FILES or not file.is_file():
            raise ConfigError(f"{file}: not a .txt or .md file; keep only those in a folder of profiles")
        text = "".join(_lines(file))
        yield str(file), _parse_profile({"id": file.name, "text": text}, number, str(file))


def _lines(path: Path) -> Generator[str, None, None]:
    """Read a file of UTF-8 line by line, with the line ends."""
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_BYTES + 1), b""), 1):
            if len(line) > MAX_BYTES:
                raise ConfigError(f"{path}:{number}: this line has more than {MAX_BYTES // 1_000_000} MB; split it")
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                byte = line[error.start]
                raise ConfigError(
                    f"{path}:{number}: the byte 0x{byte:02x} is not UTF-8; save the file in that encoding"
                ) from None
            yield text.removeprefix("\ufeff") if number == 1 else text


def _parse_profile(item: object, number: int, where: str) -> Profile:
    """Make a profile of an item; its mistakes are reported with the place."""
    if isinstance(item, Profile):
        return item
    if isinstance(item, str):
        item = {"text": item}
    if not isinstance(item, Mapping):
        raise ConfigError(f"{where}: a profile is an object with id and text, not {item!r:.80}")
    if "text" not in item:
        hints = [f"; {key!r:.80} must be written text" for key in item if str(key).strip().lower() == "text"]
        raise ConfigError(f"{where}: the profile has no text{''.join(hints[:1])}")
    others = {str(key): value for key, value in item.items() if key not in _PROFILE_KEYS}
    own = item.get("attributes") or {}
    identity, text = item.get("id"), item["text"]
    if isinstance(identity, Integral) and not isinstance(identity, bool):
        identity = str(identity)  # tables and databases number their rows
    try:
        if not isinstance(own, Mapping):
            raise ConfigError(f"attributes must be an object, not {own!r:.80}")
        if doubles := sorted(others.keys() & own.keys()):
            raise ConfigError(f"{doubles[0]!r} is both a field and an attribute; leave one out")
        return Profile(
            id=f"profile-{number}" if identity is None else identity,
            text=storable(text) if isinstance(text, str) else text,
            attributes={**own, **others},
            cluster=item.get("cluster"),
        )
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
