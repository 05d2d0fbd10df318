"""Files of results that other tools have written: strict JSON, lines of it, or a zip file with it, within limits."""

from __future__ import annotations

import hashlib
import importlib
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from evenhand.domain.errors import ConfigError
from evenhand.store.import_validation import parse_object
from evenhand.store.transfer import MAX_LINE_BYTES, lines_of
from evenhand.suites.text_file import require_file

# JSON of this size takes a few times as much memory.
MOST_BYTES: Final = 200_000_000
_MOST_TOTAL: Final = 20_000_000_000
_MOST_INDEX: Final = 16_000_000
_MOST_RATIO: Final = 250
# Of less than this, any ratio is harmless.
_SMALL: Final = 50_000_000
_CHUNK: Final = 1 << 20
_MB: Final = 1_000_000

_ENCRYPTED: Final = 0x1
_ZSTANDARD: Final = 93
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTANDARD)
_HAS_ZSTANDARD: Final = sys.version_info >= (3, 14)


class Row(NamedTuple):
    """An object in a file, with its place."""

    where: str
    fields: Mapping[str, Any]


def row_at(value: object, where: str) -> Row:
    """Return an object with its place; anything else is refused."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} is {value!r:.60}; it must be an object")
    return Row(where, value)


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file, by which it is known again."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def is_zip(path: Path) -> bool:
    """Return whether a file is a zip file, whatever its name is; one that is not there is refused."""
    require_file(path)
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


def read_document(path: Path, *, allows_nan: bool = False) -> dict[str, Any]:
    """Read a file that is one JSON object."""
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise ConfigError(
            f"{path.name}: the file has {size // _MB:,} MB, and JSON is read as a whole, up to {MOST_BYTES // _MB} MB; "
            "promptfoo writes results.jsonl line by line, and Inspect .eval files (inspect log convert --to eval), "
            "which may be larger"
        )
    document: dict[str, Any] = parse_object(path.read_bytes(), path.name, allows_nan=allows_nan)
    return document


def require_strict(path: Path) -> None:
    """Refuse a file of a tool that has no NaN in its JSON, where there is one."""
    content = path.read_bytes()
    if b"NaN" in content or b"Infinity" in content:  # which may well be in a text
        parse_object(content, path.name)


def read_lines(path: Path) -> Iterator[Row]:
    """Yield the objects of a file of JSON lines, each with its place; empty lines are left out."""
    with path.open("rb") as file:
        for number, line in enumerate(lines_of(file), 1):
            if line.strip():
                where = f"{path.name}:{number}"
                if len(line) > MAX_LINE_BYTES:
                    raise ConfigError(f"{where}: the line has more than {MAX_LINE_BYTES // _MB} MB")
                yield Row(where, parse_object(line, where))


class ZipLog:
    """The JSON members of a zip file. Nothing is unpacked to disk, and what it claims to hold is checked first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            if (size := _index_size(file)) > _MOST_INDEX:
                raise ConfigError(f"{path.name}: its list of members has {size // _MB:,} MB; that is no log of samples")
        try:
            self._archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            raise ConfigError(f"{path.name}: this zip file is damaged or was cut off: {error!s:.120}") from None
        self._members: dict[str, zipfile.ZipInfo] = {}
        try:
            self._check_all(self._archive.infolist())
        except ConfigError:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def _check_all(self, members: Sequence[zipfile.ZipInfo]) -> None:
        for member in members:
            self._check(member)
            self._members[member.filename] = member
        total = sum(member.file_size for member in members)
        ratio = total / max(self._path.stat().st_size, 1)
        if total > _MOST_TOTAL or (total > _SMALL and ratio > _MOST_RATIO):
            raise ConfigError(
                f"{self._path.name}: it claims to hold {total // _MB:,} MB, {ratio:,.0f} times its size; a log has "
                f"at most {_MOST_TOTAL // _MB:,} MB, and {_MOST_RATIO} times"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members."""
        return tuple(self._members)

    def where(self, name: str) -> str:
        """Name a member in a message."""
        return f"{self._path.name}: {name}"

    def read(self, name: str) -> Any:
        """Read a member as JSON."""
        member = self._members[name]
        try:
            if member.compress_type == _ZSTANDARD and not _HAS_ZSTANDARD:
                content = self._unpacked(member)
            else:
                with self._archive.open(member) as file:
                    content = file.read(member.file_size + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, struct.error) as error:
            raise ConfigError(f"{self.where(name)}: it is damaged: {error!s:.120}") from None
        return parse_object(content, self.where(name), allows_nan=True, allows_list=True)

    def _check(self, member: zipfile.ZipInfo) -> None:
        name = member.filename
        where = f"{self._path.name}: {name!r:.120}"
        if name.startswith("/") or "\\" in name or ".." in name.split("/"):
            raise ConfigError(f"{where}: the name of a member leads out of the log")
        if name in self._members:
            raise ConfigError(f"{where}: two members have this name")
        if member.flag_bits & _ENCRYPTED:
            raise ConfigError(f"{where}: the member is encrypted")
        if member.compress_type not in _METHODS:
            raise ConfigError(f"{where}: compressed by method {member.compress_type}; a log is deflated, or Zstandard")
        if member.file_size > MOST_BYTES:
            size = member.file_size // _MB
            raise ConfigError(f"{where}: the member has {size:,} MB; up to {MOST_BYTES // _MB} MB are read")

    def _unpacked(self, member: zipfile.ZipInfo) -> bytes:
        """Unpack a member that is compressed with Zstandard, which Python itself can do from 3.14 on."""
        try:
            arrow: Any = importlib.import_module("pyarrow")  # an extra, slow to load, and without types
        except ImportError:
            raise ConfigError(
                f"{self._path.name}: it is compressed with Zstandard; to read it: pip install 'evenhand[tables]', or "
                "Python 3.14, or write it anew with: inspect log convert --to json"
            ) from None
        with self._path.open("rb") as file:
            file.seek(member.header_offset)
            header = file.read(30)
            name_length, extra_length = struct.unpack("<26x2H", header)
            file.seek(name_length + extra_length, 1)
            packed = file.read(member.compress_size)
        with arrow.CompressedInputStream(arrow.BufferReader(packed), "zstd") as stream:
            content = bytes(stream.read(member.file_size + 1))
        if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise zipfile.BadZipFile("its content does not match its checksum")
        return content


def _index_size(file: BinaryIO) -> int:
    """Return how large the list of members is, which is read as a whole before anything else can be checked."""
    end = file.seek(0, 2)
    file.seek(max(end - (1 << 16) - 22, 0))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        return 0  # which is no zip file; opening it says so
    (size,) = struct.unpack_from("<L", tail, at + 12)
    locator = tail.rfind(b"PK\x06\x07", 0, at)
    if size == 0xFFFFFFFF and locator >= 0 and len(tail) >= locator + 16:
        (offset,) = struct.unpack_from("<Q", tail, locator + 8)
        file.seek(min(offset, end))
        record = file.read(48)
        return int(struct.unpack_from("<Q", record, 40)[0]) if len(record) == 48 else 0
    return int(size)


def mapping(value: object) -> Mapping[str, Any]:
    """Return an object of a file; anything else as an empty one."""
    return value if isinstance(value, Mapping) else {}


def items_of(value: object) -> list[Any]:
    """Return a list of a file; anything else as an empty one."""
    return value if isinstance(value, list) else []


def text_in(fields: Mapping[str, Any], *keys: str) -> str | None:
    """Return the first of some fields that is text, and not empty."""
    return next((value for key in keys if isinstance(value := fields.get(key), str) and value), None)
