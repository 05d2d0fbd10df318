"""Contracts: what a judge's reply must be.

One object renders the format block of the prompt, the schema that the model is given, and the check of its reply, so
that the three cannot drift apart.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from evenhand.domain.errors import ContractError
from evenhand.domain.evaluation import Check
from evenhand.domain.rubric import TOP_BAND, Rubric, band_satisfied
from evenhand.domain.scale import Range, Raw, Scale
from evenhand.domain.verdict import Thresholds

TRIMMED = "trimmed"
UNKNOWN_IDS = "unknown_ids"
UNQUOTED = "unquoted"

# How many quotes are looked up in one answer for each item: those of all replies about it, and of all objects in them.
MOST_SEARCHES: Final = 200


class Accepted(NamedTuple):
    """A reply that keeps its contract: its values by field, and flags for what was done to them."""

    values: Mapping[str, Any]
    flags: tuple[str, ...] = ()


class Contract(Protocol):
    """What a reply must be, in words, as a schema, and as a check."""

    @property
    def name(self) -> str:
        """A short name for the schema, letters and underscores."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the schema is one of ours, which decoders with the strictest rules take."""
        ...

    def instructions(self) -> str:
        """Tell the judge how to reply."""
        ...

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema for a model with structured output."""
        ...

    def accept(self, value: object) -> Accepted:
        """Check a parsed reply, or raise ``ContractError`` saying what is wrong with it."""
        ...

    def decision(self, accepted: Accepted) -> object:
        """Return the part of a reply that decides: two replies that differ there contradict each other."""
        ...


class Field(Protocol):
    """One key of a reply."""

    @property
    def name(self) -> str:
        """The key."""
        ...

    @property
    def required(self) -> bool:
        """Whether a reply without it breaks the contract."""
        ...

    def words(self) -> str:
        """Describe the value to a judge."""
        ...

    def schema(self) -> dict[str, Any]:
        """Describe the value to a decoder."""
        ...

    def absent(self) -> Any:
        """Return the value of an optional field that is not there."""
        ...

    def read(self, value: object) -> tuple[Any, tuple[str, ...]]:
        """Read the value, with flags, or raise ``ContractError``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The score, on a scale."""

    scale: Scale
    about: str = ""
    name: str = "score"
    required: bool = True

    def words(self) -> str:
        """Describe the value to a judge."""
        return f"{self.scale.words}{_about(self.about)}"

    def schema(self) -> dict[str, Any]:
        """Describe the value to a decoder."""
        return self.scale.schema()

    def absent(self) -> None:
        """Return nothing: a score is required."""

    def read(self, value: object) -> tuple[Raw, tuple[str, ...]]:
        """Read the raw score."""
        return self.scale.read(value, name=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A string."""

    name: str
    about: str = ""
    required: bool = False

    def words(self) -> str:
        """Describe the value to a judge."""
        return f"a string{_about(self.about)}"

    def schema(self) -> dict[str, Any]:
        """Describe the value to a decoder."""
        return {"type": "string"}

    def absent(self) -> str:
        """Return an empty string."""
        return ""

    def read(self, value: object) -> tuple[str, tuple[str, ...]]:
        """Read the text, trimmed."""
        if not isinstance(value, str):
            raise ContractError(f"{self.name} must be a string, not {type(value).__name__}")
        return storable(value).strip(), ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """A list of short strings, at most ``most`` of them where that is given (SPEC-R5)."""

    name: str
    most: int | None = None
    about: str = ""
    required: bool = False

    def words(self) -> str:
        """Describe the value to a judge."""
        limit = "" if self.most is None else f"at most {_counted(self.most)} "
        return f"a list of {limit}short strings{_about(self.about)}"

    def schema(self) -> dict[str, Any]:
        """Describe the value to a decoder."""
        return {"type": "array", "items": {"type": "string"}}

    def absent(self) -> tuple[str, ...]:
        """Return an empty list."""
        return ()

    def read(self, value: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Read the texts: trimmed, without empty ones and what is no text, and no more than allowed."""
        if not isinstance(value, list):
            raise ContractError(f"{self.name} must be a list of strings, not {type(value).__name__}")
        texts = [text for item in value if isinstance(item, str) and (text := storable(item).strip())]
        kept = tuple(texts[: self.most])
        return kept, (() if len(kept) == len(value) else (TRIMMED,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """One finding for each rubric item, by id (SPEC-P3, P4).

    With ``answer`` given, each finding carries a quote, which must be in that answer word for word.
    """

    items: tuple[Rubric, ...]
    thresholds: Thresholds
    answer: str | None = None
    name: str = "checks"
    required: bool = True
    # How often a quote was looked for in the answer: each time may mean to go through all of it.
    _searched: list[int] = field(default_factory=lambda: [0], init=False, repr=False, compare=False)

    def words(self) -> str:
        """Describe the value to a judge."""
        lines = [
            "a list with exactly one object for each item, with the keys",
            '"id": the item\'s id, exactly as given',
        ]
        if self.answer is not None:
            lines.append(
                '"evidence": the passage of the candidate answer that decides the item, copied word for word; '
                "an empty string if there is none"
            )
        lines.append('"reasoning": a string: why, in a sentence')
        banded = [item for item in self.items if item.banded]
        if len(banded) < len(self.items):
            lines.append('"satisfied": true or false: whether the candidate answer meets the item')
        if banded:
            only = "" if len(banded) == len(self.items) else ', for items with score bands, instead of "satisfied"'
            lines.append(f'"score": {_BAND_SCORE.words}, by the item\'s score bands{only}')
        return "\n  - ".join(lines)

    def schema(self) -> dict[str, Any]:
        """Describe the value to a decoder."""
        kinds = [
            self._finding([item.id for item in self.items if item.banded is banded], banded=banded)
            for banded in (False, True)
            if any(item.banded is banded for item in self.items)
        ]
        return {"type": "array", "items": kinds[0] if len(kinds) == 1 else {"anyOf": kinds}}

    def _finding(self, ids: Sequence[str], *, banded: bool) -> dict[str, Any]:
        key: dict[str, Any] = {"id": {"type": "string", "enum": list(ids)}}
        quote: dict[str, Any] = {} if self.answer is None else {"evidence": {"type": "string"}}
        words: dict[str, Any] = {"reasoning": {"type": "string"}}
        # Some decoders tell alternatives apart by their first key.
        if banded:
            return _closed_object({**quote, **words, **key, "score": _BAND_SCORE.schema()})
        return _closed_object({**key, **quote, **words, "satisfied": {"type": "boolean"}})

    def absent(self) -> tuple[Check, ...]:
        """Return nothing: checks are required."""
        return ()

    def read(self, value: object) -> tuple[tuple[Check, ...], tuple[str, ...]]:
        """Read one check per item, in the items' order; a missing or duplicate id breaks the contract."""
        if not isinstance(value, list):
            raise ContractError(f"checks must be a list, not {type(value).__name__}")
        by_id: dict[str, Mapping[str, Any]] = {}
        flags: list[str] = []
        known_ids = {item.id for item in self.items}
        for finding in value:
            if not isinstance(finding, dict):
                raise ContractError("each check must be an object with an id")
            key = finding.get("id")
            if not isinstance(key, str):
                raise ContractError("each check must have an id, as text")
            if key not in known_ids:
                flags.append(UNKNOWN_IDS)
            elif key in by_id:
                raise ContractError(f"checks has the id {key!r} twice")
            else:
                by_id[key] = finding
        if missing := [item.id for item in self.items if item.id not in by_id]:
            raise ContractError(f"checks lacks {', '.join(repr(key) for key in missing)}")
        checks = tuple(self._read_check(item, by_id[item.id], flags) for item in self.items)
        return checks, tuple(dict.fromkeys(flags))

    def _read_check(self, item: Rubric, finding: Mapping[str, Any], flags: list[str]) -> Check:
        reasoning, _ = _REASONING.read(finding["reasoning"]) if finding.get("reasoning") is not None else ("", ())
        evidence = self._evidence(item, finding, flags)
        if not item.banded:
            satisfied = finding.get("satisfied")
            if not isinstance(satisfied, bool):
                raise ContractError(f"check {item.id!r}: satisfied must be true or false")
            return Check(id=item.id, satisfied=satisfied, reasoning=reasoning, evidence=evidence)
        if "score" not in finding:
            raise ContractError(f"check {item.id!r} lacks its score")
        score, coerced = _BAND_SCORE.read(finding["score"], name=f"check {item.id!r}: score")
        flags += coerced
        satisfied = band_satisfied(item, int(score), self.thresholds)
        return Check(id=item.id, satisfied=satisfied, score=int(score), reasoning=reasoning, evidence=evidence)

    def _evidence(self, item: Rubric, finding: Mapping[str, Any], flags: list[str]) -> str | None:
        if self.answer is None:
            return None
        quote = finding.get("evidence", "")
        if not isinstance(quote, str):
            raise ContractError(f"check {item.id!r}: evidence must be a string")
        if not quote.strip():
            flags.append(UNQUOTED)
            return None
        self._searched[0] += 1
        if self._searched[0] > MOST_SEARCHES * len(self.items):
            raise ContractError("there are more pieces of evidence than can be looked up; give one object")
        if quote.strip() not in self.answer:
            raise ContractError(f"check {item.id!r}: the evidence is not a verbatim quote from the candidate answer")
        return quote.strip()


_REASONING = Text(name="reasoning")
_BAND_SCORE = Range(low=0, high=TOP_BAND, whole=True)


@dataclass(frozen=True, kw_only=True)
class FieldContract:
    """A contract made of fields, in the order in which the judge should fill them."""

    name: str
    fields: tuple[Field, ...]
    closed: bool = field(default=True, init=False)

    def instructions(self) -> str:
        """Tell the judge how to reply."""
        return self._instructions

    @functools.cached_property
    def _instructions(self) -> str:
        lines = [
            "Reply with a single JSON object and nothing else: no code fence, no text before or after it.",
            "Its keys are:",
        ]
        lines += [f'- "{each.name}": {each.words()}' for each in self.fields]
        return "\n".join(lines)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema; every key is required there, and nothing bounded, as the strictest decoders want."""
        return self._schema

    @functools.cached_property
    def _schema(self) -> dict[str, Any]:
        return _closed_object({each.name: each.schema() for each in self.fields})

    @functools.cached_property
    def written(self) -> str:
        """The name and the schema as text, a cheap key where contracts are often compared."""
        return json.dumps([self.name, self._schema])

    def accept(self, value: object) -> Accepted:
        """Check a parsed reply. Extra keys are ignored; null in an optional field counts as absent (SPEC-R6)."""
        if not isinstance(value, dict):
            raise ContractError(f"the reply must be a JSON object, not {type(value).__name__}")
        values: dict[str, Any] = {}
        flags: list[str] = []
        for each in self.fields:
            name, required = each.name, each.required
            field_value = value.get(name)
            if field_value is None and (not required or name not in value):
                if required:
                    raise ContractError(f"the reply lacks {name!r}")
                values[name] = each.absent()
                continue
            values[name], more = each.read(field_value)
            if more:
                flags += more
        return Accepted(values, tuple(dict.fromkeys(flags)) if flags else ())

    def decision(self, accepted: Accepted) -> object:
        """Return the scores and findings, without the words around them."""
        values = (accepted.values[each.name] for each in self.fields if not isinstance(each, (Text, Texts)))
        return tuple(
            tuple((check.id, check.satisfied, check.score) for check in value) if isinstance(value, tuple) else value
            for value in values
        )


def storable(text: str) -> str:
    """Replace lone surrogates, which JSON can spell and no file can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _about(about: str) -> str:
    return f": {about}" if about else ""


def _counted(number: int) -> str:
    words = ("no", "one", "two", "three", "four", "five")
    return words[number] if number < len(words) else str(number)
