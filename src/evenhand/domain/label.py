"""Labels by people: what a person said of an answer, and the draw that says which answers people were to label."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.scale import is_finite_number

# What a person may say of an answer: pass or fail, or a score from 0 to 1.
LabelValue: TypeAlias = Literal["pass", "fail"] | float

# The option of a run that has the path of the file of labels that it was given.
LABELS_FILE: Final = "labels"
MOST_RATER: Final = 100
MOST_NOTE: Final = 10_000
# JSON and spreadsheets keep numbers up to here as they are.
MOST_SEED: Final = 2**53 - 1
NOT_A_RATER: Final = f"it must be a line of 1 to {MOST_RATER} characters"
NOT_A_VALUE: Final = "it must be pass, fail, or a score from 0 to 1"
_WORDS: Final = ("pass", "fail")
_HASH_BYTES: Final = 8


def is_rater(value: object) -> bool:
    r"""Return whether a value can be the name of a person who labels: a line of text that shows something.

    >>> is_rater("Ada"), is_rater(" "), is_rater("a\nb")
    (True, False, False)
    """
    return isinstance(value, str) and value == value.strip() != "" and value.isprintable() and len(value) <= MOST_RATER


def answer_hash(answer: str) -> str:
    """Return the hash by which a label knows its answer; it begins with a letter, so no spreadsheet makes it a number.

    >>> answer_hash("Paris")
    'h5dd272b4f316b776'
    """
    digest = hashlib.sha256(answer.encode("utf-8", "surrogatepass")).digest()
    return f"h{digest[:_HASH_BYTES].hex()}"


def answer_of(result: CaseResult) -> str | None:
    """Return the answer of a case that people label: the first sample's, or the one that the case came with."""
    return result.answers[0].text if result.answers else result.case.candidate_answer


def require_evaluator(run: RunRecord, evaluator: str, known: Iterable[str]) -> None:
    """Refuse the name of an evaluator that a run does not have."""
    names = sorted(set(known))
    if evaluator not in names:
        raise ConfigError(
            f"run {run.id} has no evaluator {evaluator!r:.80}{did_you_mean(evaluator[:80], names)}",
            key="evaluator",
        )


def label_value(text: str) -> LabelValue:
    """Return the label that a person wrote; a decimal comma is understood, as spreadsheets write it.

    >>> label_value(" PASS "), label_value("0,75")
    ('pass', 0.75)
    """
    word = text.strip().lower()
    if word == "pass":
        return "pass"
    if word == "fail":
        return "fail"
    try:
        score = decimal(word)
    except ValueError:
        score = None
    if score is None or not 0 <= score <= 1:
        raise ConfigError(f"{text!r:.80} is no label; {NOT_A_VALUE}")
    return score


def decimal(text: str) -> float:
    """Return the number in a cell; raises ``ValueError`` if it is none."""
    if len(text) > 40 or "_" in text:
        raise ValueError(text)
    number = float(text.replace(",", ".") if "." not in text else text)
    if not is_finite_number(number):
        raise ValueError(text)
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a person said of the answer of a case.

    ``value`` is ``"pass"``, ``"fail"``, or a score from 0 to 1. ``answer`` is the hash of the answer that was read.
    ``p`` is the chance that the case had of being drawn; None if it was labelled outside a draw, by somebody's choice.
    ``evaluator`` names the evaluator whose question was answered; None for the case as a whole. ``at`` is when, in
    seconds since 1970.
    """

    case: str
    position: int
    rater: str
    value: LabelValue
    answer: str
    note: str = ""
    p: float | None = None
    evaluator: str | None = None
    at: float = 0.0

    def __post_init__(self) -> None:
        if not is_rater(self.rater):
            raise ConfigError(f"rater is {self.rater!r:.120}; {NOT_A_RATER}", key="rater")
        if self.value not in _WORDS and not (is_finite_number(self.value) and 0 <= self.value <= 1):
            raise ConfigError(f"value is {self.value!r:.80}; {NOT_A_VALUE}", key="value")
        if len(self.note) > MOST_NOTE:
            raise ConfigError(f"the note has {len(self.note):,} characters; at most {MOST_NOTE:,} are kept", key="note")
        if self.p is not None and not (is_finite_number(self.p) and 0 < self.p <= 1):
            raise ConfigError(f"p is {self.p!r:.80}; it must be above 0, and at most 1", key="p")

    @property
    def is_drawn(self) -> bool:
        """Whether the case was drawn at random, so that the label stands for others."""
        return self.p is not None

    @property
    def score(self) -> float:
        """The label as a score: 1 for pass, 0 for fail."""
        return float(self.value == "pass") if isinstance(self.value, str) else self.value

    @property
    def key(self) -> tuple[int, str | None, str]:
        """What there is one label of: the case, the evaluator, and the person."""
        return self.position, self.evaluator, self.rater

    def as_dict(self) -> dict[str, Any]:
        """Return the label as plain JSON values."""
        return {
            "case": self.case,
            "evaluator": self.evaluator,
            "rater": self.rater,
            "value": self.value,
            "note": self.note,
            "answer_hash": self.answer,
            "p": self.p,
            "at": self.at,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnCase:
    """A case that was drawn: the chance ``p`` that it had, and the hash of the answer that it had then."""

    case: str
    position: int
    p: float
    answer: str

    def __post_init__(self) -> None:
        if not (is_finite_number(self.p) and 0 < self.p <= 1):
            raise ConfigError(f"p is {self.p!r:.80}; it must be above 0, and at most 1", key="p")


@dataclass(frozen=True, kw_only=True)
class Draw:
    """The cases of a run that people are to label, in the order in which they are shown.

    ``seed`` decides which they are. Of ``eligible`` cases, which had an answer and a score, ``unsure`` were those of
    which the judge was unsure; ``uncertain`` is the share of the draw that was to be taken from them, 0 if all cases
    had the same chance. ``left_out`` says how many cases could not be drawn, by reason. ``made`` is when, in seconds
    since 1970.
    """

    seed: int
    uncertain: float
    evaluator: str | None
    eligible: int
    unsure: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    cases: tuple[DrawnCase, ...]
    made: float = 0.0

    @property
    def size(self) -> int:
        """How many cases were drawn."""
        return len(self.cases)

    @functools.cached_property
    def _places(self) -> dict[int, int]:
        return {drawn.position: place for place, drawn in enumerate(self.cases)}

    def at(self, position: int) -> DrawnCase | None:
        """Return the drawn case at a position of the run; None if it was not drawn."""
        place = self._places.get(position)
        return None if place is None else self.cases[place]

    def place(self, position: int) -> int | None:
        """Return where a case is in the queue, from 1; None if it was not drawn."""
        place = self._places.get(position)
        return None if place is None else place + 1

    def as_dict(self, *, cases: bool = False) -> dict[str, Any]:
        """Return the draw as plain JSON values, with its ``cases`` in their order if asked for."""
        row: dict[str, Any] = {
            "seed": self.seed,
            "size": self.size,
            "uncertain": self.uncertain,
            "evaluator": self.evaluator,
            "eligible": self.eligible,
            "unsure": self.unsure,
            "left_out": dict(self.left_out),
            "made": self.made,
        }
        if cases:
            row["cases"] = [{"case": one.case, "p": one.p, "answer_hash": one.answer} for one in self.cases]
        return row
