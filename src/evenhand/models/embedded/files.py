"""Where model files are kept, and whether one is what its name says."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from evenhand.domain.errors import ConfigError, MissingModelError
from evenhand.models.embedded.catalogue import PREFIX, KnownModel, known_model

FOLDER_VARIABLE: Final = "EVENHAND_MODELS"
ENDING: Final = ".gguf"
MAGIC: Final = b"GGUF"


def models_folder() -> Path:
    """Return the folder for model files: ``EVENHAND_MODELS``, or a place in the user's cache."""
    if given := os.environ.get(FOLDER_VARIABLE, "").strip():
        return expanded(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return expanded(base) / "evenhand" / "models"


def expanded(path: str) -> Path:
    """Return a path with the home folder in place of ``~``."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ConfigError(f"{path}: there is no such home folder; write it out, or set {FOLDER_VARIABLE}") from None


def file_of(model: KnownModel) -> Path:
    """Return the place of a known model's file, which is there only once it is whole and verified."""
    return models_folder() / f"{model.name}{ENDING}"


def located(name: str) -> tuple[Path, KnownModel | None]:
    """Find the file of ``embedded/NAME`` or ``embedded/path/to/file.gguf``, and refuse what cannot be one."""
    if not name.lower().endswith(ENDING):
        model = known_model(name)
        return _whole_file_of(model), model
    path = expanded(name)
    if not path.is_file():
        raise MissingModelError(f"{PREFIX}{name}: there is no file {path.absolute()}")
    require_gguf(path)
    return path, None


def _whole_file_of(model: KnownModel) -> Path:
    path, name = file_of(model), model.name
    if not path.is_file():
        raise MissingModelError(
            f"{PREFIX}{name} is not on this machine; fetch it ({megabytes(model.bytes)}): evenhand models pull {name}"
        )
    if (size := path.stat().st_size) != model.bytes:
        raise ConfigError(
            f"{path} is not the file of {PREFIX}{name}: it has {size:,} bytes and not {model.bytes:,}; "
            f"fetch it again: evenhand models pull {name}"
        )
    return path


def require_gguf(path: Path) -> None:
    """Refuse a file that does not begin as model files do."""
    try:
        with path.open("rb") as file:
            begins = file.read(len(MAGIC))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    if begins != MAGIC:
        raise ConfigError(f"{path} is not a GGUF file: it begins with {begins!r} and not with {MAGIC!r}")


def megabytes(size: float) -> str:
    """Write a size for people."""
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
