"""Prompts with their test cases as JSON, checked when it comes in, and as a suite (SPEC-M1, M5, S2)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.message import messages_from
from evenhand.domain.prompt import FieldError, Prompt, PromptText, TestCase, TestCaseText
from evenhand.evaluators.output_schema import output_contract
from evenhand.evaluators.reading import parse_strict
from evenhand.evaluators.schema.compiled import compile_schema
from evenhand.evaluators.schema.evaluator import is_empty
from evenhand.reports.json import moment
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import asks_judge, case_of, evaluator_of

PROMPT_FIELDS: Final = ("name", "content", "expected_schema", "evaluation_mode", "evaluation_criteria")
CASE_FIELDS: Final = ("input", "evaluation_schema", "reference")
_LONGEST_SHOWN: Final = 80
_CAPITAL: Final = re.compile(r"(?<=[a-z])([A-Z])")


def prompt_text(raw: Mapping[str, Any]) -> PromptText:
    """Parse a prompt from JSON: ``evaluation_mode`` or ``evaluationMode``, a schema as text or as an object."""
    fields = _fields(raw, PROMPT_FIELDS, "a prompt")
    if "name" not in fields:
        raise FieldError("name", "it is missing; a prompt needs one")
    fields["expected_schema"] = expected_schema_text(fields.get("expected_schema"), "expected_schema")
    return PromptText(**{name: value for name, value in fields.items() if value is not None or name == "name"})


def test_case_text(raw: Mapping[str, Any]) -> TestCaseText:
    """Parse a test case from JSON."""
    fields = _fields(raw, CASE_FIELDS, "a test case")
    if "input" not in fields:
        raise FieldError("input", "it is missing; a test case needs one")
    fields["evaluation_schema"] = schema_text(fields.get("evaluation_schema"), "evaluation_schema")
    return TestCaseText(**fields)


def schema_text(value: object, field: str) -> str | None:
    """Return a schema as text, as it was typed where it was text; one that cannot be used is refused (SPEC-M1)."""
    if value is None or (isinstance(value, str) and is_empty(value)):
        return value if isinstance(value, str) else None
    if not isinstance(value, (str, Mapping, bool)):
        raise FieldError(field, f"it must be a JSON Schema, as text or as an object, not {type(value).__name__}")
    try:
        compile_schema(value)
    except ConfigError as error:
        raise FieldError(field, error.problem) from error
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def expected_schema_text(value: object, field: str) -> str | None:
    """Return a schema that models are to generate by as text; one that no model could be held to is refused too."""
    text = schema_text(value, field)
    if text is None or is_empty(text):
        return text
    schema = parse_strict(text)
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise FieldError(field, "models generate objects by a schema, so it must be one of an object")
    try:
        output_contract(schema)
    except ConfigError as error:
        raise FieldError(field, error.problem) from None
    return text


def snake(name: str) -> str:
    """Return a name in snake case.

    >>> snake("evaluationMode")
    'evaluation_mode'
    """
    return _CAPITAL.sub(r"_\1", name).lower()


def _fields(raw: Mapping[str, Any], names: tuple[str, ...], subject: str) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{subject} is an object with {', '.join(names)}, not {type(raw).__name__}")
    fields: dict[str, Any] = {}
    for written, value in raw.items():
        name = snake(str(written))
        if name not in names:
            near = did_you_mean(name[:_LONGEST_SHOWN], names)
            raise FieldError(str(written)[:_LONGEST_SHOWN], f"{subject} has no such field{near}")
        if name in fields:
            raise FieldError(name, "it is given twice, in both spellings")
        fields[name] = value
    return fields


def suite_of(prompt: Prompt, cases: Iterable[TestCase], *, model: str | None, judge: str | None) -> dict[str, Any]:
    """Return the suite that judges what a trial of the prompt would, as plain values.

    The content is a message of each case: in the target's own ``system`` text, double braces in it would be
    placeholders. Without ``model`` there is no target; the run of the suite names one.
    """
    text = prompt.text
    suite: dict[str, Any] = {"name": f"{prompt.name} v{prompt.version}"}
    if not is_empty(text.expected_schema):
        if model is None:
            raise ConfigError(
                f"prompt {prompt.name!r} has an expected schema, which belongs to the model of the suite's target; "
                "name one with --model"
            )
        suite["target"] = {"model": model, "response_schema": text.expected_schema}
    elif model is not None:
        suite["target"] = {"model": model}
    if judge is not None and asks_judge(text):
        suite["judge"] = judge
    suite |= {"evaluators": [evaluator_of(text)], "cases": [_case(case_of(text, case)) for case in cases]}
    if not suite["cases"]:
        raise ConfigError(f"prompt {prompt.name!r} has no test cases yet, and a suite needs some; add one")
    return suite


def _case(case: Case) -> dict[str, Any]:
    fields = {
        "id": case.id,
        "input": [{"role": message.role, "content": message.content} for message in messages_from(case.input_messages)],
        "expected_outcome": case.expected_outcome,
        "reference_answer": case.reference_answer,
        "evaluation_schema": case.evaluation_schema,
    }
    return {name: value for name, value in fields.items() if value is not None}


FORMAT: Final = "evenhand-prompts"
FORMAT_VERSION: Final = 1
_KEYS: Final = ("format", "format_version", "prompts")
_CASES: Final = "test_cases"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did, or would do: the names of the new prompts, and of those that were there already."""

    created: tuple[str, ...]
    skipped: tuple[str, ...]
    test_cases: int
    dry_run: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "created": list(self.created),
            "skipped": list(self.skipped),
            "test_cases": self.test_cases,
            "dry_run": self.dry_run,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    text: PromptText
    cases: tuple[TestCaseText, ...] = field(default=())


def export_document(store: Store, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Return prompts with their test cases as one document: all of them, or those that are named."""
    wanted = None if names is None else list(names)

    def written() -> list[dict[str, Any]]:
        prompts = store.prompts.all() if wanted is None else _prompts_named(store, wanted)
        return [
            prompt_dict(prompt.text) | {_CASES: [case_dict(case) for case in store.prompts.cases(prompt.id)]}
            for prompt in prompts
        ]

    # What is written meanwhile is in it as a whole or not at all.
    prompts = store.atomically(written, exclusive=True)
    return {"format": FORMAT, "format_version": FORMAT_VERSION, "prompts": prompts}


def _prompts_named(store: Store, names: Iterable[str]) -> list[Prompt]:
    """Return prompts by their ids or names, without duplicates."""
    prompts = [store.prompts.find(name) for name in names]
    return list({prompt.id: prompt for prompt in prompts}.values())


ImportStage: TypeAlias = Literal["checking", "storing"]
# Told of the progress of an import: how many of how many test cases are checked or stored.
ImportObserver: TypeAlias = Callable[[ImportStage, int, int], None]
_AT_ONCE: Final = 500


def count_cases(document: object) -> int:
    """Return how many test cases an import seems to have, before it is checked."""
    prompts = document.get("prompts") if isinstance(document, Mapping) else None
    entries = [entry for entry in prompts if isinstance(entry, Mapping)] if isinstance(prompts, list) else []
    return sum(
        len(value)
        for entry in entries
        for key, value in entry.items()
        if isinstance(value, list) and snake(str(key)) == _CASES
    )


def import_document(
    store: Store, document: object, *, dry_run: bool = False, observer: ImportObserver | None = None
) -> Imported:
    """Import prompts, all or none; those whose names exist already are skipped, and listed."""
    count = _Count(count_cases(document), observer)
    records = _records(document, count)

    def add_new() -> Imported:
        count.done = 0
        there = {prompt.name for prompt in store.prompts.all()}
        new = [record for record in records if record.text.name not in there]
        if not dry_run:
            for record in new:
                made = store.prompts.create(record.text)
                for first in range(0, len(record.cases), _AT_ONCE):
                    some = record.cases[first : first + _AT_ONCE]
                    store.prompts.import_cases(made.id, some)
                    count.add("storing", len(some))
        return Imported(
            created=tuple(record.text.name for record in new),
            skipped=tuple(record.text.name for record in records if record.text.name in there),
            test_cases=sum(len(record.cases) for record in new),
            dry_run=dry_run,
        )

    return store.atomically(add_new, exclusive=True)


def prompt_dict(text: PromptText) -> dict[str, Any]:
    """Return what a user wrote of a prompt, by the names of the format."""
    values = {name: getattr(text, name) for name in PROMPT_FIELDS}
    return values | {"evaluation_mode": text.evaluation_mode.value}


def case_dict(case: TestCase) -> dict[str, Any]:
    """Return what a user wrote of a test case, by the names of the format."""
    return {
        "input": case.text.input,
        "evaluation_schema": case.text.evaluation_schema,
        "reference": case.text.reference,
    }


def prompt_summary(prompt: Prompt) -> dict[str, Any]:
    """Return everything about a prompt, in plain JSON values; times as ISO 8601."""
    return {
        "id": prompt.id,
        "version": prompt.version,
        "latest_version": prompt.latest,
        **prompt_dict(prompt.text),
        "test_cases": prompt.test_cases,
        "created": moment(prompt.created),
        "edited": moment(prompt.edited),
    }


def case_summary(case: TestCase) -> dict[str, Any]:
    """Return everything about a test case, in plain JSON values; times as ISO 8601."""
    return {
        "id": case.id,
        "prompt_id": case.prompt_id,
        "version": case.version,
        **case_dict(case),
        "created": moment(case.created),
        "edited": moment(case.edited),
    }


class _Count:
    """Counts test cases for the observer."""

    def __init__(self, total: int, observer: ImportObserver | None) -> None:
        self.total, self.done = total, 0
        self._observer = observer

    def add(self, stage: ImportStage, number: int) -> None:
        self.done += number
        if self._observer is not None and (number > 1 or self.done % _AT_ONCE == 0):
            self._observer(stage, self.done, self.total)


def _records(document: object, count: _Count) -> list[_Record]:
    if not isinstance(document, Mapping) or not isinstance(document.get("prompts"), list):
        raise ConfigError('an import is an object with "prompts", a list; evenhand prompts export writes one')
    _require_format(document)
    records: list[_Record] = []
    seen: dict[str, int] = {}
    for number, entry in enumerate(document["prompts"], start=1):
        record = _record(entry, number, count)
        if record.text.name in seen:
            first = seen[record.text.name]
            raise ConfigError(f"prompts {first} and {number} are both named {record.text.name!r}; names must differ")
        seen[record.text.name] = number
        records.append(record)
    return records


def _require_format(document: Mapping[Any, Any]) -> None:
    fields: dict[str, Any] = {}
    for key, value in document.items():
        name = snake(str(key))
        if name not in _KEYS:
            raise ConfigError(f"the import has no key {key!r:.80}{did_you_mean(name[:80], _KEYS)}")
        if name in fields:
            raise ConfigError(f"the import has {name} twice, in both spellings")
        fields[name] = value
    kind, version = fields.get("format", FORMAT), fields.get("format_version", FORMAT_VERSION)
    if kind != FORMAT or version != FORMAT_VERSION:
        raise ConfigError(
            f"the import is {kind!r:.80}, version {version!r:.20}; this program reads {FORMAT}, version "
            f"{FORMAT_VERSION}"
        )


def _record(entry: object, number: int, count: _Count) -> _Record:
    where = f"prompt {number}"
    try:
        if not isinstance(entry, Mapping):
            raise ConfigError(f"it must be an object, not {type(entry).__name__}")
        own = {key: value for key, value in entry.items() if snake(str(key)) != _CASES}
        text = prompt_text(own)
        where = f"prompt {number} ({text.name!r:.80})"
        texts = []
        for place, case in enumerate(_cases(entry), start=1):
            where = f"prompt {number} ({text.name!r:.80}), test case {place}"
            texts.append(test_case_text(case))
            count.add("checking", 1)
        return _Record(text=text, cases=tuple(texts))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _cases(entry: Mapping[Any, Any]) -> list[Any]:
    values = [value for key, value in entry.items() if snake(str(key)) == _CASES]
    if len(values) > 1:
        raise FieldError(_CASES, "it is given twice, in both spellings")
    cases = values[0] if values else []
    if not isinstance(cases, list):
        raise FieldError(_CASES, f"it must be a list, not {type(cases).__name__}")
    return cases
