"""A prompt under test: what it says, how answers to it are evaluated, and the test cases it is tried on (SPEC-M1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from evenhand.domain.case import is_blank
from evenhand.domain.errors import ConfigError, did_you_mean

LONGEST_NAME: Final = 200
# What no database keeps as it is: PostgreSQL takes no NUL, and half a character is none.
_UNKEEPABLE: Final = re.compile("[\0\ud800-\udfff]")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class EvaluationMode(StrEnum):
    """How answers to a prompt are evaluated: by a judge and criteria, or by the schema of each test case."""

    LLM = "llm"
    SCHEMA = "schema"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptText:
    """What a user writes of a prompt; every change of it makes a new version.

    ``content`` is the system message. ``expected_schema`` shapes what the model generates and has no part in
    evaluation. Both fields of the two modes are kept, whichever mode is on.
    """

    name: str
    content: str = ""
    expected_schema: str | None = None
    evaluation_mode: EvaluationMode = EvaluationMode.LLM
    evaluation_criteria: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise FieldError("name", "it is empty; give the prompt a name")
        if len(self.name) > LONGEST_NAME:
            raise FieldError("name", f"it has {len(self.name)} characters; {LONGEST_NAME} are allowed")
        object.__setattr__(self, "name", self.name.strip())
        _refuse("name", self.name, _CONTROL, "which a name must not have")
        for field in ("name", "content"):
            _require_text(self, field)
        if not isinstance(self.evaluation_mode, EvaluationMode):
            modes = [mode.value for mode in EvaluationMode]
            if self.evaluation_mode not in modes:
                mode = str(self.evaluation_mode)
                raise FieldError("evaluation_mode", f"no mode {mode!r:.80}{did_you_mean(mode, modes)}")
            object.__setattr__(self, "evaluation_mode", EvaluationMode(self.evaluation_mode))
        for field in ("expected_schema", "evaluation_criteria"):
            _require_text(self, field, or_none=True)

    @property
    def criteria(self) -> str | None:
        """The criteria, None where there are none: empty is the same as absent."""
        return None if is_blank(self.evaluation_criteria) else self.evaluation_criteria


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt as it is kept: ``version`` counts its texts, of which ``text`` is that one.

    ``latest`` is the newest version there is. Times are seconds since 1970. Test cases belong to the
    prompt, runs to the version (SPEC-M2).
    """

    number: int
    id: str
    version: int
    latest: int
    text: PromptText
    created: float
    edited: float
    test_cases: int = 0

    @property
    def name(self) -> str:
        """How the prompt is called."""
        return self.text.name


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCaseText:
    """What a user writes of a test case. ``evaluation_schema`` is kept as it was typed; empty means not evaluated."""

    __test__ = False  # pytest takes what is called so for a test

    input: str
    evaluation_schema: str | None = None
    reference: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.input, str) or not self.input.strip():
            raise FieldError("input", "it is empty; write what the model is asked")
        _require_text(self, "input")
        for field in ("evaluation_schema", "reference"):
            _require_text(self, field, or_none=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCase:
    """A test case as it is kept; ``version`` counts how often it was written."""

    __test__ = False

    id: str
    prompt_id: str
    version: int
    text: TestCaseText
    created: float
    edited: float


class FieldError(ConfigError):
    """A field that cannot be right; ``field`` is its name, as users of the API write it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.told = message


def _require_text(owner: Any, field: str, *, or_none: bool = False) -> None:
    """Refuse what is no text, and text that would come back as another one."""
    value = getattr(owner, field)
    if value is None and or_none:
        return
    if not isinstance(value, str):
        raise FieldError(field, f"it must be text, not {type(value).__name__}")
    _refuse(field, value, _UNKEEPABLE, "which no database can keep")


def _refuse(field: str, text: str, wrong: re.Pattern[str], why: str) -> None:
    if match := wrong.search(text):
        raise FieldError(field, f"its character {match.start() + 1} is U+{ord(match[0]):04X}, {why}; remove it")
