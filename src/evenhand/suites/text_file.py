"""Reading a file bit by bit: it is a real file, it is UTF-8, and no part of it is larger than anybody needs."""

from __future__ import annotations

import codecs
import io
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

from evenhand.domain.errors import ConfigError
from evenhand.suites.values import MAX_BYTES

_CHUNK: Final = 16_384


def require_file(path: Path) -> None:
    """Refuse what is no regular file: a pipe or a device would be read forever."""
    try:
        if path.is_file():
            return
        if path.is_dir():
            raise ConfigError(f"{path} is a folder; name a file in it, such as {path / 'suite.yaml'}")
        problem = "it is not a regular file" if path.exists() else "there is no such file"
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        problem = f"it cannot be read: {error.strerror}"
    raise ConfigError(f"{path}: {problem}")


class TextFile:
    """A text file that is read in chunks, and knows the line it is at; the parsers use it as a stream.

    Its content may be in memory already, such as what was sent to a server; ``name`` says what it is.
    """

    def __init__(self, source: Path | bytes, *, name: str | None = None) -> None:
        if isinstance(source, Path):
            require_file(source)
        self.name = name or (str(source) if isinstance(source, Path) else "the text")
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._chunk = ""
        self._line = 1  # that of the last chunk's beginning
        self._began_at = 1
        self._bytes = 0
        self._hint = ""
        self._is_at_start = True
        try:
            self._file: BinaryIO = source.open("rb") if isinstance(source, Path) else io.BytesIO(source)
        except OSError as error:
            raise ConfigError(f"{self.name}: it cannot be read: {error.strerror}") from None

    def __enter__(self) -> TextFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def begin(self, line: int, hint: str = "") -> None:
        """Note that a new part of the file, such as a case, begins at a line: from here on its size counts.

        ``hint`` is what else the message says if it is too large.
        """
        self._began_at = line
        self._bytes = 0
        self._hint = hint

    def read(self, size: int = _CHUNK) -> str:
        """Read some more text, "" at the end."""
        text = ""
        chunk = b"?"
        while chunk and not text:
            chunk = self._read(size)
            self._bytes += len(chunk)
            if self._bytes > MAX_BYTES:
                problem = f"what begins here has more than {MAX_BYTES // 1_000_000} MB; split it{self._hint}"
                raise ConfigError(f"{self.name}:{self._began_at}: {problem}")
            text = self._decode(chunk)
        if text:
            self._line += self._chunk.count("\n")
            self._chunk = text.removeprefix("\ufeff") if self._is_at_start else text
            self._is_at_start = False
        return self._chunk if text else ""

    def character_at(self, line: int, column: int) -> str:
        """Return a character of a line that was just read; "" where it is not in memory any more."""
        lines = self._chunk.splitlines()
        place = line - self._line
        return lines[place][column : column + 1] if 0 <= place < len(lines) else ""

    def line_of(self, character: str) -> int:
        """Find the line of a character that was just read."""
        before = self._chunk.partition(character)[0]
        return self._line + before.count("\n")

    def _read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            raise ConfigError(f"{self.name}: it cannot be read: {error.strerror}") from None

    def _decode(self, chunk: bytes) -> str:
        try:
            return self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            line = self._line + self._chunk.count("\n") + error.object.count(b"\n", 0, error.start)
            byte = error.object[error.start]
            problem = f"the byte 0x{byte:02x} is not UTF-8{_likely(error)}; save the file as UTF-8"
            raise ConfigError(f"{self.name}:{line}: {problem}") from None


def _likely(error: UnicodeDecodeError) -> str:
    """Say which encoding a text probably has, if that can be seen: an accented letter beside plain ones."""
    at = error.start
    beside = error.object[max(at - 1, 0) : at] + error.object[at + 1 : at + 2]
    is_letter = error.object[at] >= 0xC0 and beside.isascii() and any(map(str.isalpha, beside.decode("latin-1")))
    return " (it looks like Windows-1252)" if is_letter else ""


class NamedFiles:
    """Reads the text files that a list of messages names; together they are no larger than a case may be.

    Their names are seen from ``folder``, and they must be in it, also where a name is that of a link.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bytes = 0

    def read(self, name: str) -> str:
        """Return the text of a file; raises ``ConfigError`` where there is none, or it is no text of that size."""
        label = f"file {name!r:.200}"
        path = self._inside(name, label)
        with TextFile(path, name=label) as file:
            text = "".join(iter(file.read, ""))
        self._bytes += len(text.encode())
        if self._bytes > MAX_BYTES:
            raise ConfigError(
                f"{label}: with it, the files here have more than {MAX_BYTES // 1_000_000} MB; split the case"
            )
        return text

    def _inside(self, name: str, label: str) -> Path:
        try:
            folder = self._folder.resolve()
            path = (folder / name).resolve()
            problem = self._problem(name, path, folder)
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name with NUL or half a letter
            problem = f"it cannot be read: {getattr(error, 'strerror', None) or error}"
        if problem:
            raise ConfigError(f"{label}: {problem}")
        return path

    def _problem(self, name: str, path: Path, folder: Path) -> str:
        if not name.strip():
            return "its name is empty; write it as seen from the folder of the suite"
        if not path.is_relative_to(folder):
            return "it is not in the folder of the suite; put it there, and write its name as seen from there"
        if path.is_dir():
            return "it is a folder; name a file in it"
        if not path.exists():
            return "there is no such file; its name is seen from the folder of the suite"
        return "" if path.is_file() else "it is not a regular file"
