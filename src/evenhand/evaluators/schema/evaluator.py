"""Judging an answer by a JSON Schema (SPEC-O1)."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from evenhand.domain.ask import Exec, Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.reply import Exited
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.reading import first_value, parse_strict
from evenhand.evaluators.schema.compiled import CompiledSchema, compile_schema

CHECK_SECONDS: Final = 1.0

_WORKER = "evenhand.evaluators.schema.worker"
_WORKER_SECONDS = 30.0
_WORKER_BYTES = 1 << 30
_READERS = {"strict": parse_strict, "tolerant": first_value}


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaEvaluator(BaseEvaluator):
    """Scores 1 if the answer is JSON that is valid against the case's ``evaluation_schema``, else 0 with every error.

    >>> from evenhand import Case
    >>> priced = {"properties": {"price": {"type": "number"}}}
    >>> SchemaEvaluator().evaluate(Case(candidate_answer='{"price": "x"}', evaluation_schema=priced)).misses
    ('$.price: "x" is not of type "number"',)

    ``schema`` is for cases that have none of their own. With ``parse="tolerant"``, the first JSON object or array in
    the answer counts, whatever stands around it; usually the answer must be JSON as a whole.
    """

    type: ClassVar[str] = "schema"

    schema: str | Mapping[str, Any] | bool | None = None
    parse: Literal["strict", "tolerant"] = "strict"

    def __post_init__(self) -> None:
        BaseEvaluator.__post_init__(self)
        if self.parse not in _READERS:
            raise ConfigError(f"{self.where}: parse is {self.parse!r}; it must be 'strict' or 'tolerant'", key="parse")
        if not is_empty(self.schema):
            compile_option(self.schema, self.where)

    def steps(self, case: Case) -> Steps[Evaluation]:
        """Read the answer and check it."""
        schema = self.schema if is_empty(case.evaluation_schema) else case.evaluation_schema
        if schema is None or is_empty(schema):
            return self.not_evaluated("There is no evaluation schema.")
        if case.candidate_answer is None:
            return self.not_evaluated("There is no candidate answer.")
        try:
            compiled = compile_schema(schema)
        except ConfigError as error:
            return self.failed(str(error))
        try:
            value = _READERS[self.parse](case.candidate_answer)
        except ContractError as error:
            return self._evaluation([("$", str(error))])
        try:
            errors = yield from find_errors(compiled, value)
        except ContractError as error:
            return self.failed(error.failure)
        return self._evaluation(errors)

    def _evaluation(self, errors: list[tuple[str, str]]) -> Evaluation:
        details = {"valid": not errors, "errors": [{"path": path, "message": message} for path, message in errors]}
        if not errors:
            summary = "The answer is valid against the schema."
            return self.scored(1, hits=(summary,), reasoning=summary, details=details)
        misses = tuple(f"{path}: {message}" for path, message in errors)
        summary = f"The answer is not valid against the schema: {len(errors)} error{'s' if len(errors) > 1 else ''}."
        return self.scored(0, misses=misses, reasoning=summary, details=details)


def is_empty(schema: object) -> bool:
    """Return whether there is no schema: it is absent, null or white space; ``{}`` is one (SPEC-M1)."""
    return schema is None or (isinstance(schema, str) and not schema.strip())


def compile_option(schema: Any, where: str) -> CompiledSchema:
    """Compile a schema that is an evaluator's option, and say whose it is if it is none."""
    try:
        return compile_schema(schema)
    except ConfigError as error:
        raise error.within(where, key="schema") from None


def find_errors(compiled: CompiledSchema, value: object) -> Steps[list[tuple[str, str]]]:
    """Find every error in a value, in a process of its own where that may take long.

    Raises ``ContractError`` where it cannot be settled: that is the schema's failure, not the value's.
    """
    hazard = compiled.hazard(value)
    if hazard is None:
        return compiled.errors_at_any_price(value)
    request = json.dumps({"schema": compiled.text, "value": value, "seconds": CHECK_SECONDS})
    # Isolated, and still with our own path: the package may lie in a place that only the environment knows.
    code = f"import sys; sys.path[:] = {sys.path!r}; from {_WORKER} import main; main()"
    argv = (sys.executable, "-I", "-c", code)
    (exited,) = yield (Exec(argv=argv, stdin=request, timeout=_WORKER_SECONDS, memory_bytes=_WORKER_BYTES),)
    if not isinstance(exited, Exited):
        raise TypeError(f"an Exec is answered by Exited, not {type(exited).__name__}")
    return _read_report(exited, hazard)


def _read_report(exited: Exited, hazard: str) -> list[tuple[str, str]]:
    """Read what the worker found, or how far it came."""
    report: dict[str, Any] = {}
    for line in exited.stdout.splitlines():
        with contextlib.suppress(ValueError):  # the last line may have been cut off
            report |= json.loads(line)
    if "problem" in report:
        raise ContractError(report["problem"], kind="schema")
    if exited.code == 0:
        return [(path, message) for path, message in report["errors"]]
    if report.get("valid") is False:
        # An answer with a million errors is wrong; it must not get away as one that could not be judged.
        return [("$", "the value is not valid, and has more errors than could be listed")]
    last_words = exited.stderr.strip().rpartition("\n")[2]
    why = exited.problem or f"exit code {exited.code}{f' ({last_words:.200})' if last_words else ''}"
    if "Timeout" in exited.stderr:
        why = f"it took more than {CHECK_SECONDS:g} s"
    raise ContractError(f"the answer could not be checked: {why}; not done at once because {hazard}", kind="schema")
