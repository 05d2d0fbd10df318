"""What imports of prompts and of test cases did or would do, as the API returns it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from evenhand.server.api.schemas import ProblemDetails, Shape


class CaseColumn(Shape):
    """A column of a text with test cases: the field that it becomes, null if it is not imported."""

    name: str
    field: Literal["input", "evaluation_schema", "reference"] | None
    example: str


class NewCase(Shape):
    """A test case in a text."""

    line: int
    input: str
    reference: str | None
    evaluation_schema: str | None


class DuplicateLine(Shape):
    """A row that is left out: ``same_as`` is the id of a test case, or an earlier line."""

    line: int
    same_as: str


class MistakeLine(Shape):
    """A row that is wrong."""

    line: int
    message: str


class CasesImportShape(Shape):
    """What adding test cases did or would do; ``same_input`` counts the new ones whose input was there already.

    ``test_cases`` are the first 20 of the new ones; of duplicates and mistakes, the first 100 are listed.
    """

    format: Literal["csv", "jsonl", "json"]
    columns: list[CaseColumn]
    new: int
    test_cases: list[NewCase]
    same_input: int
    duplicates: int
    duplicate_lines: list[DuplicateLine]
    mistakes: int
    mistake_lines: list[MistakeLine]
    dry_run: bool


class FieldChange(Shape):
    """A field of a prompt that an import changes."""

    field: str
    from_: str | None = Field(alias="from")
    to: str | None


class PromptUpdate(Shape):
    """What an import changes of a prompt that exists: fields, and how many test cases it adds; it removes none.

    ``version`` is the one before.
    """

    name: str
    version: int
    changes: list[FieldChange]
    test_cases: int


class ImportShape(Shape):
    """What an import did or would do: the names of new prompts, what it updates, and which it leaves as they are."""

    created: list[str]
    updated: list[PromptUpdate]
    skipped: list[str]
    test_cases: int
    dry_run: bool


class ImportJobShape(Shape):
    """An import in the background: of ``total`` test cases, ``done`` are checked or stored, by its ``stage``.

    ``result`` is what it did, once its status is done; ``problem`` why it did nothing, if that is failed.
    """

    id: str
    status: Literal["waiting", "running", "done", "failed"]
    stage: Literal["checking", "storing"] | None
    done: int
    total: int
    result: ImportShape | None
    problem: ProblemDetails | None
