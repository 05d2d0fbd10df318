"""Checks of the answer's text (SPEC-O4)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, require_flag
from evenhand.evaluators.checks.check import (
    NO_ANSWER,
    NO_REFERENCE,
    DeterministicCheck,
    Finding,
    Found,
    Missing,
    quoted,
    require_text,
)
from evenhand.evaluators.schema.compiled import compile_schema
from evenhand.evaluators.schema.evaluator import find_errors
from evenhand.evaluators.schema.patterns import MAX_LENGTH, Kind, kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCheck(DeterministicCheck):
    """A check of the answer's text against ``value``, or against the reference answer where no value is given."""

    value: str | None = None

    def __post_init__(self) -> None:
        DeterministicCheck.__post_init__(self)
        require_text(self.where, self.value)

    def look(self, case: Case) -> Steps[Finding]:
        """Compare the answer with what is expected of it."""
        yield from ()
        expected = case.reference_answer if self.value is None else self.value
        if case.candidate_answer is None:
            return NO_ANSWER
        return NO_REFERENCE if expected is None else self.compare(case.candidate_answer, expected)

    @abstractmethod
    def compare(self, answer: str, expected: str) -> Finding:
        """Say how the answer stands to what is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Equals(TextCheck):
    r"""The answer is exactly ``value``; ``strip`` and ``ignore_case`` leave white space around it and case aside.

    >>> from evenhand import Case
    >>> Equals(strip=True).evaluate(Case(candidate_answer="Paris\n", reference_answer="Paris")).score
    1.0
    """

    type: ClassVar[str] = "equals"

    strip: bool = False
    ignore_case: bool = False

    def __post_init__(self) -> None:
        TextCheck.__post_init__(self)
        for name in ("strip", "ignore_case"):
            require_flag(getattr(self, name), name, where=self.where)

    def compare(self, answer: str, expected: str) -> Finding:
        """Compare both as a whole."""
        if self._plain(answer) == self._plain(expected):
            return Found.that(True, f"The answer is {quoted(expected)}.")
        return Found.that(False, f"The answer is {quoted(answer)}, not {quoted(expected)}.")

    def _plain(self, text: str) -> str:
        text = text.strip() if self.strip else text
        return text.casefold() if self.ignore_case else text


@dataclass(frozen=True, slots=True, kw_only=True)
class StartsWith(TextCheck):
    """The answer begins with ``value``."""

    type: ClassVar[str] = "starts_with"

    def compare(self, answer: str, expected: str) -> Finding:
        """Compare the beginning."""
        if not expected:
            return Missing("What the answer must begin with is empty.")
        if answer.startswith(expected):
            return Found.that(True, f"The answer begins with {quoted(expected)}.")
        return Found.that(False, f"The answer begins with {quoted(answer[: len(expected)])}, not {quoted(expected)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndsWith(TextCheck):
    """The answer ends with ``value``."""

    type: ClassVar[str] = "ends_with"

    def compare(self, answer: str, expected: str) -> Finding:
        """Compare the end."""
        if not expected:
            return Missing("What the answer must end with is empty.")
        if answer.endswith(expected):
            return Found.that(True, f"The answer ends with {quoted(expected)}.")
        return Found.that(False, f"The answer ends with {quoted(answer[-len(expected) :])}, not {quoted(expected)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contains(DeterministicCheck):
    """The answer contains ``value``, or, of several values, ``all`` or ``any`` (``mode``).

    >>> from evenhand import Case
    >>> Contains(value=["Seine", "Loire"]).evaluate(Case(candidate_answer="On the Seine")).misses
    ('The answer does not contain "Loire".',)
    """

    type: ClassVar[str] = "contains"

    value: str | Sequence[str] | None = None
    mode: Literal["all", "any"] = "all"

    def __post_init__(self) -> None:
        DeterministicCheck.__post_init__(self)
        if self.mode not in {"all", "any"}:
            raise ConfigError(f"{self.where}: mode is {self.mode!r}; it must be 'all' or 'any'", key="mode")
        if self.value is None:
            return
        values = (self.value,) if isinstance(self.value, str) else self.value
        if isinstance(values, Mapping) or not isinstance(values, Sequence) or not values:
            raise ConfigError(
                f"{self.where}: value is {self.value!r:.80}; it must be text or a list of texts", key="value"
            )
        for text in values:
            if not isinstance(text, str) or not text:
                raise ConfigError(
                    f"{self.where}: value has {text!r:.80}; it must be text that is not empty", key="value"
                )
        self._set("value", tuple(values))

    def look(self, case: Case) -> Steps[Finding]:
        """Look for each of the values."""
        yield from ()
        values = self.value or case.reference_answer
        if case.candidate_answer is None:
            return NO_ANSWER
        if not values:
            return NO_REFERENCE
        texts = (values,) if isinstance(values, str) else values
        answer = self._plain(case.candidate_answer)
        there = {text: self._plain(text) in answer for text in texts}
        hits = tuple(f"The answer contains {quoted(text)}." for text, present in there.items() if present)
        misses = tuple(f"The answer does not contain {quoted(text)}." for text, present in there.items() if not present)
        if self.mode == "any" and hits:
            misses = ()  # one is enough, so nothing is missed
        return Found(score=float(not misses), hits=hits, misses=misses)

    def _plain(self, text: str) -> str:
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class IContains(Contains):
    """The answer contains ``value``, in whatever case."""

    type: ClassVar[str] = "icontains"

    def _plain(self, text: str) -> str:
        return text.casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Regex(DeterministicCheck):
    r"""The answer has a match of the regular expression ``value``, anywhere unless it is anchored.

    >>> from evenhand import Case
    >>> Regex(value=r"(?i)^paris\b").evaluate(Case(candidate_answer="Paris, of course")).score
    1.0

    An engine that never backtracks, so without look-around and references back. ``\d`` and ``\w`` are ASCII, ``\b`` is
    not, ``$`` is the very end, ``.`` is no line feed; ``(?i)``, ``(?m)`` and ``(?s)`` work.
    """

    type: ClassVar[str] = "regex"

    value: str

    def __post_init__(self) -> None:
        DeterministicCheck.__post_init__(self)
        if not isinstance(self.value, str) or not self.value:
            raise ConfigError(
                f"{self.where}: value is {self.value!r:.80}; it must be a regular expression", key="value"
            )
        if len(self.value) > MAX_LENGTH:
            raise ConfigError(
                f"{self.where}: value has {len(self.value)} characters; at most {MAX_LENGTH} are allowed", key="value"
            )
        match kind_of(self.value):
            case None:
                raise ConfigError(
                    f"{self.where}: {quoted(self.value)} is not a regular expression, or is too large", key="value"
                )
            case Kind.LOOKING:
                raise ConfigError(
                    f"{self.where}: {quoted(self.value)} looks around or refers back, which takes too long on some "
                    "texts; use two checks, of which one may be negated",
                    key="value",
                )

    def look(self, case: Case) -> Steps[Finding]:
        """Look for a match."""
        if case.candidate_answer is None:
            return NO_ANSWER
        errors = yield from find_errors(compile_schema({"pattern": self.value}), case.candidate_answer)
        if errors:
            return Found.that(
                False, f"The answer has no match of {quoted(self.value)}: {quoted(case.candidate_answer)}."
            )
        return Found.that(True, f"The answer has a match of {quoted(self.value)}.")
