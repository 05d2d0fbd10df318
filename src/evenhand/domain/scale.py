"""Scales: what a judge may give as a score, and how it becomes a number from 0 to 1."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeGuard

from evenhand.domain.errors import ConfigError, ContractError

_QUOTED_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_RANGE_WORDS = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|\.\.|to)\s*(-?\d+(?:\.\d+)?)\s*")

_LABEL = re.compile("[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,80}")

COERCED = "coerced"
CLAMPED = "clamped"

Raw: TypeAlias = float | int | bool | str


def read_number(value: object, *, name: str = "score") -> tuple[float | int, tuple[str, ...]]:
    """Read a finite number; one in quotes is taken and flagged, anything else breaks the contract (SPEC-E4)."""
    flags: tuple[str, ...] = ()
    if isinstance(value, str) and _QUOTED_NUMBER.fullmatch(value.strip()):
        # Stripped again: Python counts more characters as space in a text than around a number.
        value, flags = float(value.strip()), (COERCED,)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ContractError(f"{name} must be a number, not {_kind(value)}")
    if not is_finite_number(value):
        raise ContractError(f"{name} must be a finite number")
    return value + 0, flags  # a zero in floats may have a sign, which means nothing


def is_finite_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a usable number: not NaN, infinite, a boolean, or an integer beyond all floats."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Numbers from ``low`` to ``high``; one outside is clamped and flagged, or rejected so that it is asked again."""

    low: float = 0.0
    high: float = 1.0
    outside: Literal["clamp", "reject"] = "reject"
    whole: bool = False

    def __post_init__(self) -> None:
        if not (is_finite_number(self.low) and is_finite_number(self.high) and self.low < self.high):
            raise ConfigError(
                f"scale: {self.low} to {self.high} is not a range; the first number must be the smaller one"
            )

    @property
    def words(self) -> str:
        """Describe the scale to a judge."""
        return f"{'an integer' if self.whole else 'a number'} from {self.low:g} to {self.high:g}"

    def schema(self) -> dict[str, Any]:
        """Describe the scale to a structured-output decoder."""
        # No bounds: strict decoders refuse them. The words tell the judge, and the check holds it to them.
        if self.whole:
            return {"type": "integer", "enum": list(range(int(self.low), int(self.high) + 1))}
        return {"type": "number"}

    def read(self, value: object, *, name: str = "score") -> tuple[Raw, tuple[str, ...]]:
        """Read the judge's value, with flags for what was done to it."""
        if type(value) is float and self.low <= value <= self.high and not self.whole:
            return value + 0.0, ()  # what nearly every judge gives needs no further look; a zero loses its sign
        number, flags = read_number(value, name=name)
        if self.whole:
            if number != int(number):
                raise ContractError(f"{name} must be {self.words}, not {number:g}")
            number = int(number)
        if self.low <= number <= self.high:
            return number, flags
        if self.outside == "clamp":  # by ``unit``; the raw score stays as it was said
            return number, (*flags, CLAMPED)
        raise ContractError(f"{name} must be {self.words}, not {number:g}")

    def unit(self, raw: Raw) -> float:
        """Turn a raw score into a number from 0 to 1."""
        return min(max((float(raw) - self.low) / (self.high - self.low), 0.0), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """True or false, as JSON booleans and nothing else."""

    words = "true or false"

    def schema(self) -> dict[str, Any]:
        """Describe the scale to a structured-output decoder."""
        return {"type": "boolean"}

    def read(self, value: object, *, name: str = "score") -> tuple[Raw, tuple[str, ...]]:
        """Read the judge's value."""
        if not isinstance(value, bool):
            raise ContractError(f"{name} must be true or false, not {_kind(value)}")
        return value, ()

    def unit(self, raw: Raw) -> float:
        """Turn a raw score into 0 or 1."""
        return 1.0 if raw else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """A few listed numbers, one of which the judge must give exactly (SPEC-E5)."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if isinstance(self.values, str) or not isinstance(self.values, Sequence) or not self.values:
            raise ConfigError(f"choices must be a list of numbers such as [0.0, 0.5, 1.0], not {self.values!r}")
        for value in self.values:
            if not is_finite_number(value):
                raise ConfigError(f"choices: {value!r:.80} is not a finite number")
        if len(set(self.values)) != len(self.values):
            raise ConfigError(f"choices: {list(self.values)} lists a number twice")
        object.__setattr__(self, "values", tuple(self.values))

    @property
    def words(self) -> str:
        """Describe the scale to a judge."""
        return f"exactly one of {', '.join(repr(value) for value in self.values)}"

    def schema(self) -> dict[str, Any]:
        """Describe the scale to a structured-output decoder."""
        return {"type": "number", "enum": list(self.values)}

    def read(self, value: object, *, name: str = "score") -> tuple[Raw, tuple[str, ...]]:
        """Read the judge's value; the result is the listed number itself."""
        number, flags = read_number(value, name=name)
        for listed in self.values:
            if listed == number:
                return listed, flags
        raise ContractError(f"{name} must be {self.words}, not {number:g}")

    def unit(self, raw: Raw) -> float:
        """Turn a choice into a number from 0 to 1: itself where all are, else its place between lowest and highest."""
        return unit_of(float(raw), self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """A few labels, one of which the judge must give, each with its number; case and outer white space do not count.

    >>> labels = Labels.of({"correct": 1, "partly": 0.5, "wrong": 0})
    >>> labels.read(" Partly"), labels.unit("partly")
    (('partly', ()), 0.5)
    """

    names: tuple[str, ...]
    numbers: tuple[float, ...]

    @classmethod
    def of(cls, labels: object) -> Labels:
        """Read labels as a user may write them: a mapping from each to its number."""
        if not isinstance(labels, Mapping) or len(labels) < 2:
            raise ConfigError(
                "choices must map two labels or more to numbers, such as {correct: 1, partly: 0.5, wrong: 0}, not "
                f"{labels!r:.80}"
            )
        known: dict[str, str] = {}
        for label, number in labels.items():
            if not isinstance(label, str) or not _LABEL.fullmatch(label) or label != label.strip():
                raise ConfigError(
                    f"choices: {label!r:.80} is no label: it must be text of 1 to 80 characters, without white space "
                    "around it and without control characters"
                )
            if not is_finite_number(number):
                raise ConfigError(f"choices: {label} is {number!r:.80}; it must be a finite number")
            if (other := known.setdefault(label.casefold(), label)) != label:
                raise ConfigError(f"choices: {other!r} and {label!r} differ only in case")
        return cls(names=tuple(labels), numbers=tuple(labels.values()))

    @property
    def words(self) -> str:
        """Describe the scale to a judge."""
        return f"exactly one of {', '.join(json.dumps(name, ensure_ascii=False) for name in self.names)}"

    def schema(self) -> dict[str, Any]:
        """Describe the scale to a structured-output decoder."""
        return {"type": "string", "enum": list(self.names)}

    def read(self, value: object, *, name: str = "label") -> tuple[Raw, tuple[str, ...]]:
        """Read the judge's label; the result is the listed one."""
        if not isinstance(value, str):
            raise ContractError(f"{name} must be {self.words}, not {_kind(value)}")
        for listed in self.names:
            if listed.casefold() == value.strip().casefold():
                return listed, ()
        raise ContractError(f"{name} must be {self.words}, not {value.strip()!r:.80}")

    def unit(self, raw: Raw) -> float:
        """Turn a label into a number from 0 to 1: its own where all are, else its place between the two ends."""
        return unit_of(self.numbers[self.names.index(str(raw))], self.numbers)


def unit_of(number: float, numbers: Sequence[float]) -> float:
    """Return a number as it is if all lie between 0 and 1, else its place between the lowest and the highest."""
    low, high = min(numbers), max(numbers)
    if low >= 0 and high <= 1:
        return float(number)
    return 1.0 if low == high else (float(number) - low) / (high - low)


Scale: TypeAlias = Range | Binary | Choices | Labels

UNIT = Range(low=0.0, high=1.0, outside="clamp")


def scale_of(scale: Scale | str | Sequence[float] | None) -> Scale:
    """Parse a scale as a user may write it: ``"0-10"``, ``"1-5"``, ``"boolean"``, a list of choices, or nothing.

    >>> scale_of("1-5").unit(4)
    0.75
    """
    match scale:
        case None:
            return UNIT
        case Range() | Binary() | Choices() | Labels():
            return scale
        case "boolean" | "binary":
            return Binary()
        case str() if matched := _RANGE_WORDS.fullmatch(scale):
            low, high = (float(bound) for bound in matched.groups())
            return UNIT if (low, high) == (0, 1) else Range(low=low, high=high)
        case list() | tuple():
            return Choices(values=tuple(scale))
        case _:
            raise ConfigError(f"scale is {scale!r}; write '0-1', '0-10', '1-5', 'boolean' or a list of choices")


def _kind(value: object) -> str:
    if value is None:
        return "null"
    return {bool: "a boolean", str: "text", list: "a list", dict: "an object"}.get(type(value), type(value).__name__)
