"""Adding test cases in a text to a prompt: first what that would do, then, if it is wanted, all of it at once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from evenhand.convert.case_table import CaseTable, Format, case_in, fields_guessed, require_fields
from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import Prompt, TestCaseText
from evenhand.reports.phrases import counted
from evenhand.store.store import Store
from evenhand.suites.values import Fault

MOST_SHOWN: Final = 20
MOST_LISTED: Final = 100
_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A row that is the same as a test case of the prompt, named by its id, or as an earlier row."""

    line: int
    same_as: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CasesImport:
    """What adding the test cases of a text would do, or did: those that are new, and the rows that are left out.

    ``fields`` has the column of each field; ``near`` counts the new ones whose input the prompt has already, with
    another reference or schema.
    """

    format: Format
    columns: tuple[tuple[str, str], ...]
    fields: Mapping[str, str]
    new: tuple[tuple[int, TestCaseText], ...] = ()
    near: int = 0
    duplicates: tuple[Duplicate, ...] = ()
    mistakes: tuple[Fault, ...] = ()
    is_done: bool = False

    @property
    def digest(self) -> str:
        """What tells whether another one would do the same."""
        return hashlib.sha256(repr([text for _, text in self.new]).encode("utf-8", "surrogatepass")).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values; of long lists, the beginning."""
        by_column = {column: field for field, column in self.fields.items()}
        return {
            "format": self.format,
            "columns": [
                {"name": name, "field": by_column.get(name), "example": example} for name, example in self.columns
            ],
            "new": len(self.new),
            "test_cases": [
                {
                    "line": line,
                    "input": text.input,
                    "reference": text.reference,
                    "evaluation_schema": text.evaluation_schema,
                }
                for line, text in self.new[:MOST_SHOWN]
            ],
            "same_input": self.near,
            "duplicates": len(self.duplicates),
            "duplicate_lines": [{"line": each.line, "same_as": each.same_as} for each in self.duplicates[:MOST_LISTED]],
            "mistakes": len(self.mistakes),
            "mistake_lines": [{"line": each.line, "message": each.text} for each in self.mistakes[:MOST_LISTED]],
            "dry_run": not self.is_done,
        }


def plan_cases(store: Store, prompt: Prompt, table: CaseTable, fields: Mapping[str, str] | None = None) -> CasesImport:
    """Return what adding the test cases of a table would do; without ``fields`` the columns are guessed."""
    fields = fields_guessed(table.columns) if fields is None else fields
    plan = CasesImport(
        format=table.format,
        columns=tuple((column, table.example(column)) for column in table.columns),
        fields=fields,
        mistakes=table.faults,
    )
    require_fields(fields, table.columns)
    seen = {case.text: case.id for case in store.prompts.cases(prompt.id)}
    inputs = {text.input for text in seen}
    new: list[tuple[int, TestCaseText]] = []
    duplicates: list[Duplicate] = []
    mistakes = list(table.faults)
    near = 0
    for row in table.rows:
        text = case_in(row, fields)
        if isinstance(text, Fault):
            mistakes.append(text)
        elif text in seen:
            duplicates.append(Duplicate(line=row.line, same_as=seen[text]))
        else:
            near += text.input in inputs
            seen[text] = f"line {row.line}"
            new.append((row.line, text))
    return replace(plan, new=tuple(new), near=near, duplicates=tuple(duplicates), mistakes=tuple(sorted(mistakes)))


def add_cases(
    store: Store,
    prompt: Prompt,
    table: CaseTable,
    fields: Mapping[str, str] | None = None,
    *,
    skip_mistakes: bool = False,
) -> CasesImport:
    """Add the test cases of a table, all or none; rows with mistakes are refused, or left out with ``skip_mistakes``.

    Rows that the prompt has already are left out.
    """

    def add() -> CasesImport:
        plan = plan_cases(store, prompt, table, fields)
        if plan.mistakes and not skip_mistakes:
            raise ConfigError(mistakes_told(plan))
        for first in range(0, len(plan.new), _AT_ONCE):
            store.prompts.import_cases(prompt.id, [text for _, text in plan.new[first : first + _AT_ONCE]])
        return replace(plan, is_done=True)

    return store.atomically(add, exclusive=True)


def mistakes_told(plan: CasesImport, most: int = 5) -> str:
    """Return what keeps the test cases of a text from being added."""
    first = "; ".join(f"line {fault.line}: {fault.text}" for fault in plan.mistakes[:most])
    more = f"; and {len(plan.mistakes) - most:,} more" if len(plan.mistakes) > most else ""
    rows = counted(len(plan.mistakes), "mistake")
    return f"nothing was added because of {rows}; correct them, or leave these rows out: {first}{more}"
