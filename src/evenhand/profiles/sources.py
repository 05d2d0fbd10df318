"""Profiles from where they are: a JSONL or CSV file, a folder of texts, or what a program gives, one at a time."""

from __future__ import annotations

import contextlib
import csv
import os
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from evenhand.domain.case import Profile
from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.engine.compact_sets import IdSet
from evenhand.evaluators.reading import parse_strict

# What users may write for a profile, and for several.
ProfileLike: TypeAlias = Profile | Mapping[str, Any] | str
ProfilesLike: TypeAlias = str | os.PathLike[str] | Profile | Mapping[str, Any] | Iterable[ProfileLike]

_TEXT_FILES: Final = (".txt", ".md")
_KNOWN: Final = "profiles come from a .jsonl or .csv file, or from a folder of .txt and .md files"
_OWN: Final = ("id", "text", "cluster", "attributes")


def profiles_from(given: ProfilesLike) -> Iterator[Profile]:
    """Give the profiles one by one; two of the same id are refused, and so is none at all.

    >>> [profile.id for profile in profiles_from([{"id": "anna", "text": "A nurse."}, "A baker."])]
    ['anna', 'profile-2']

    A path is read. In mappings and in files, ``id``, ``text``, ``cluster`` and ``attributes`` are what they are in a
    ``Profile``, and whatever else is there is an attribute. What has no id is called by its place.
    """
    seen = IdSet(most=sys.maxsize)
    where = None
    with contextlib.closing(_found(given)) as found:  # so that a file is closed when a mistake ends the reading
        for where, profile in found:
            if seen.add(profile.id) and (first := _first_place(given, profile.id)) != where:
                raise ConfigError(f"{where}: duplicate id {profile.id!r}{first and f', first in {first}'}")
            yield profile
    if where is None:
        told = str(given) if isinstance(given, str | os.PathLike) else "profiles"
        raise ConfigError(f"{told}: there are no profiles")


def _first_place(given: ProfilesLike, identity: str) -> str:
    """Look where an id stands first; "" where what was given cannot be read again."""
    if isinstance(given, Iterator):
        return ""
    with contextlib.closing(_found(given)) as found:
        return next((where for where, profile in found if profile.id == identity), "")


def _found(given: ProfilesLike) -> Generator[tuple[str, Profile], None, None]:
    """Yield each profile with the place where it stands."""
    if isinstance(given, str | os.PathLike):
        yield from _read(Path(given))
        return
    several: Any = [given] if isinstance(given, Profile | Mapping) else given
    if not isinstance(several, Iterable):
        raise ConfigError(f"profiles must be a path, or a list of Profile, mappings or texts, not {given!r:.80}")
    for number, one in enumerate(several, 1):
        yield f"profile {number}", _profile(one, number, f"profile {number}")


def _read(path: Path) -> Iterator[tuple[str, Profile]]:
    try:
        if path.is_dir():
            yield from _folder(path)
        elif path.suffix.lower() == ".jsonl":
            with contextlib.closing(_lines(path)) as lines:
                yield from _jsonl(path, lines)
        elif path.suffix.lower() == ".csv":
            with contextlib.closing(_lines(path)) as lines:
                yield from _csv(path, lines)
        elif path.exists():
            raise ConfigError(f"{path}: {_KNOWN}")
        else:
            raise ConfigError(f"{path}: there is no such file or folder; {_KNOWN}")
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
            # The line is one of the file, not the first of a text.
            raise ConfigError(f"{where}: {str(error).replace('at line 1 ', 'at ')}; write one profile a line") from None
        count += 1
        yield where, _profile(value, count, where)


def _csv(path: Path, lines: Iterable[str]) -> Iterator[tuple[str, Profile]]:
    reader = csv.reader(lines, strict=True)
    try:
        heading = next(reader, [])
        if "text" not in heading:
            raise ConfigError(f"{path}:1: the first line names the columns, and none of them is text")
        if doubles := sorted({name for name in heading if heading.count(name) > 1}):
            raise ConfigError(f"{path}:1: duplicate column {doubles[0]!r}")
        count = 0
        for row in reader:
            if not row:  # a blank line
                continue
            where = f"{path}:{reader.line_num}"
            if len(row) != len(heading):
                raise ConfigError(f"{where}: {len(row)} cells, where the first line names {len(heading)} columns")
            count += 1
            cells: dict[str, Any] = dict(zip(heading, row, strict=True))
            if not cells.get("cluster"):  # a table has no other way to say none
                cells.pop("cluster", None)
            yield where, _profile(cells, count, where)
    except csv.Error as error:
        raise ConfigError(f"{path}:{reader.line_num}: not CSV: {error}; JSONL takes any text") from None


def _folder(path: Path) -> Iterator[tuple[str, Profile]]:
    for number, file in enumerate(sorted(one for one in path.iterdir() if not one.name.startswith(".")), 1):
        # Refused and not passed over: a profile that nobody scored would not be missed.
        if file.suffix.lower() not in _TEXT_FILES or not file.is_file():
            raise ConfigError(f"{file}: not a .txt or .md file; keep only those in a folder of profiles")
        text = "".join(_lines(file))
        yield str(file), _profile({"id": file.name, "text": text}, number, str(file))


def _lines(path: Path) -> Generator[str, None, None]:
    """Read a file of UTF-8 line by line, with the line ends."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                byte = line[error.start]
                raise ConfigError(
                    f"{path}:{number}: the byte 0x{byte:02x} is not UTF-8; save the file in that encoding"
                ) from None
            yield text.removeprefix("\ufeff") if number == 1 else text


def _profile(given: object, number: int, where: str) -> Profile:
    """Make a profile of what stands somewhere; its mistakes are told with the place."""
    if isinstance(given, Profile):
        return given
    if isinstance(given, str):
        given = {"text": given}
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where}: a profile is an object with id and text, not {given!r:.80}")
    if "text" not in given:
        raise ConfigError(f"{where}: the profile has no text")
    others = {str(key): value for key, value in given.items() if key not in _OWN}
    own = given.get("attributes") or {}
    text = given["text"]
    try:
        if not isinstance(own, Mapping):
            raise ConfigError(f"attributes must be an object, not {own!r:.80}")
        if doubles := sorted(others.keys() & own.keys()):
            raise ConfigError(f"{doubles[0]!r} is both a field and an attribute; leave one out")
        return Profile(
            id=f"profile-{number}" if given.get("id") is None else given["id"],
            text=storable(text) if isinstance(text, str) else text,
            attributes={**own, **others},
            cluster=given.get("cluster"),
        )
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
