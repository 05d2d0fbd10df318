"""Whether the answer is JSON, and of the right form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ContractError
from evenhand.evaluators.checks.check import NO_ANSWER, DeterministicCheck, Finding, Found
from evenhand.evaluators.reading import parse_strict
from evenhand.evaluators.schema.compiled import compile_schema
from evenhand.evaluators.schema.evaluator import compile_option, find_errors, is_empty


@dataclass(frozen=True, slots=True, kw_only=True)
class IsJson(DeterministicCheck):
    """The answer is JSON and nothing else; with ``schema``, it is valid against it too."""

    type: ClassVar[str] = "is_json"

    schema: str | Mapping[str, Any] | bool | None = None

    def __post_init__(self) -> None:
        DeterministicCheck.__post_init__(self)
        if not is_empty(self.schema):
            compile_option(self.schema, self.where)

    def look(self, case: Case) -> Steps[Finding]:
        """Read the answer, and hold it against the schema."""
        if case.candidate_answer is None:
            return NO_ANSWER
        try:
            value = parse_strict(case.candidate_answer)
        except ContractError as error:
            return Found.that(False, f"The answer is not JSON: {error}.")
        if self.schema is None or is_empty(self.schema):
            return Found.that(True, "The answer is JSON.")
        errors = yield from find_errors(compile_schema(self.schema), value)
        if errors:
            return Found(score=0.0, misses=tuple(f"{path}: {message}" for path, message in errors))
        return Found.that(True, "The answer is JSON and valid against the schema.")
