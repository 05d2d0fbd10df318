"""Where model files are kept, and whether one is what its name says."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from evenhand.domain.errors import ConfigError, MissingModelError
from evenhand.models.embedded.catalogue import MODELS, PREFIX, KnownModel, known_model

FOLDER_VARIABLE: Final = "EVENHAND_MODELS"
ENDING: Final = ".gguf"
MAGIC: Final = b"GGUF"


def models_folder() -> Path:
    """Give the folder for model files: ``EVENHAND_MODELS``, or a place in the user's cache."""
    if given := os.environ.get(FOLDER_VARIABLE, "").strip():
        return Path(given).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "evenhand" / "models"


def file_of(model: KnownModel) -> Path:
    """Give the place of a known model's file, which is there only once it is whole and verified."""
    return models_folder() / f"{model.name}{ENDING}"


def located(name: str) -> tuple[Path, KnownModel | None]:
    """Find the file of ``embedded/NAME`` or ``embedded/path/to/file.gguf``, and refuse what cannot be one."""
    if name in MODELS:
        model = known_model(name)
        path = file_of(model)
        if not path.is_file():
            raise MissingModelError(
                f"{PREFIX}{name} is not on this machine; fetch it ({megabytes(model.bytes)}): "
                f"evenhand models pull {name}"
            )
        if path.stat().st_size != model.bytes:
            raise ConfigError(
                f"{path} is not the file of {PREFIX}{name}: it has {path.stat().st_size:,} bytes and not "
                f"{model.bytes:,}; fetch it again: evenhand models remove {name}, then evenhand models pull {name}"
            )
        return path, model
    if not name.lower().endswith(ENDING):
        known_model(name)  # says which name was meant
    path = Path(name).expanduser()
    if not path.is_file():
        raise MissingModelError(f"{PREFIX}{name}: there is no file {path.absolute()}")
    require_gguf(path)
    return path, None


def require_gguf(path: Path) -> None:
    """Refuse a file that does not begin as model files do."""
    with path.open("rb") as file:
        begins = file.read(len(MAGIC))
    if begins != MAGIC:
        raise ConfigError(f"{path} is no GGUF file: it begins with {begins!r} and not with {MAGIC!r}")


def megabytes(size: float) -> str:
    """Write a size for people."""
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
