"""Test cases in a text, as CSV, TSV, JSONL or a JSON list: its columns, and which of them is which field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final, Literal, TypeAlias

from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.prompt import FieldError, TestCaseText
from evenhand.suites.json_reader import JsonReader, read_lines
from evenhand.suites.tables import TABLES, read_table
from evenhand.suites.text_file import TextFile
from evenhand.suites.values import Fault, Listed, Mapped, Piece, format_fault, kind, plain
from evenhand.workspace.documents import CASE_FIELDS, test_case_text

Format: TypeAlias = Literal["csv", "jsonl", "json"]
FORMATS: Final[tuple[Format, ...]] = ("csv", "jsonl", "json")
# More are not for people to look over, which is what they are asked to do.
MOST_COLUMNS: Final = 100
MOST_ROWS: Final = 50_000
_ENDINGS: Final[dict[str, Format]] = {
    **dict.fromkeys(TABLES, "csv"), ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json"
}  # fmt: skip
# What other tools put the fields of a row into; each of these is a column of its own, such as inputs.question.
_CONTAINERS: Final = ("inputs", "outputs", "vars")
# The names of columns that are taken for a field, the likeliest first, without what is not a letter. An output or a
# response is what some model said, and so no reference; an answer is what a data set says is right.
_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "input": (
        "input", "inputsinput", "varsinput", "question", "inputsquestion", "varsquestion", "query", "inputsquery",
        "varsquery", "userinput", "usermessage", "prompt", "message", "messages", "inputmessages", "inputtext",
        "instruction", "problem", "text", "inputs",
    ),
    "reference": (
        "reference", "referenceanswer", "referenceoutput", "expected", "expectedoutput", "expectedanswer",
        "expectedresponse", "groundtruth", "ideal", "idealanswer", "gold", "goldanswer", "golden", "target",
        "correctanswer", "solution", "outputsanswer", "outputsoutput", "answer", "label", "outputs",
    ),
    "evaluation_schema": ("evaluationschema", "schema", "jsonschema", "outputschema"),
}  # fmt: skip
_NOT_LETTERS: Final = re.compile(r"[\W_]")
_LONGEST_NAME: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTable:
    """The rows of a text, each with its line, and the columns that they have; ``faults`` are rows that are wrong."""

    format: Format
    columns: tuple[str, ...]
    rows: tuple[Mapped, ...]
    faults: tuple[Fault, ...] = ()

    def example(self, column: str) -> str:
        """Return the first text of a column, empty if no row has any."""
        return next((text for row in self.rows if (text := _text(row.get(column)))), "")


def read_cases(content: bytes, *, name: str = "the text", written_as: Format | None = None) -> CaseTable:
    r"""Read the rows of a text; its format is that of the name's ending, or can be seen from its first character.

    >>> table = read_cases(b"question,answer\nCapital of France?,Paris")
    >>> table.columns, dict(table.rows[0])
    (('question', 'answer'), {'question': 'Capital of France?', 'answer': 'Paris'})
    """
    if not content.strip():
        raise ConfigError("there are no test cases; choose a file, or paste some: CSV with a heading, or JSONL")
    form = written_as or _ENDINGS.get(PurePath(name).suffix.lower()) or _format_seen(content)
    columns: dict[str, None] = {}
    rows: list[Mapped] = []
    faults: list[Fault] = []
    for number, piece in enumerate(_pieces(content, name, form, columns), start=1):
        if number > MOST_ROWS:
            raise ConfigError(f"{name}:{piece.line}: more than {MOST_ROWS:,} test cases; add them in several parts")
        faults += piece.faults
        if piece.faults:
            continue
        if not isinstance(piece.value, Mapped):
            problem = f"a test case is an object with keys such as input, not {kind(piece.value)}"
            faults.append(Fault(piece.line, problem))
            continue
        row = _spread(piece.value)
        rows.append(row)
        columns.update(dict.fromkeys(row))
        if len(columns) > MOST_COLUMNS:
            raise ConfigError(
                f"{name}:{piece.line}: more than {MOST_COLUMNS} columns; remove those that are not needed"
            )
    if not columns:
        first = next(iter(faults), Fault(1, "there are no test cases in it"))
        raise ConfigError(format_fault(name, first))
    return CaseTable(format=form, columns=tuple(columns), rows=tuple(rows), faults=tuple(faults))


def fields_guessed(columns: tuple[str, ...]) -> dict[str, str]:
    """Return the column of each field that can be told from the names; the only column is the input.

    >>> fields_guessed(("id", "Question", "ground_truth"))
    {'input': 'Question', 'reference': 'ground_truth'}
    """
    by_name: dict[str, str] = {}
    for column in columns:
        by_name.setdefault(_NOT_LETTERS.sub("", column[:_LONGEST_NAME]).lower(), column)
    found = {field: next((by_name[name] for name in names if name in by_name), None) for field, names in _NAMES.items()}
    contained = [column for column in columns if column.startswith(("inputs.", "vars."))]
    if found["input"] is None and (len(contained) == 1 or len(columns) == 1):
        found["input"] = contained[0] if len(contained) == 1 else columns[0]
    return {field: column for field, column in found.items() if column is not None}


def require_fields(fields: Mapping[str, str], columns: tuple[str, ...]) -> None:
    """Refuse a mapping of fields to columns that is wrong, or has no input."""
    taken: dict[str, str] = {}
    for field, column in fields.items():
        if field not in CASE_FIELDS:
            near = did_you_mean(field[:_LONGEST_NAME], CASE_FIELDS)
            raise FieldError("columns", f"a test case has no field {field!r:.80}{near}")
        if column not in columns:
            near = did_you_mean(column[:_LONGEST_NAME], [name[:_LONGEST_NAME] for name in columns])
            raise FieldError("columns", f"there is no column {column!r:.80} for {field}{near}")
        if column in taken:
            raise FieldError("columns", f"{column!r:.80} is given for {taken[column]} and for {field}; give it once")
        taken[column] = field
    if "input" not in fields:
        hint = (
            "this looks like an export of prompts, which is imported as a whole"
            if "prompts" in columns
            else f"say which column it is: {', '.join(columns)[:400]}"
        )
        raise FieldError("columns", f"no column is the input; {hint}")


def case_in(row: Mapped, fields: Mapping[str, str]) -> TestCaseText | Fault:
    """Return the test case that a row is, or what is wrong with it."""
    raw: dict[str, Any] = {}
    field = "input"
    try:
        for field, column in fields.items():
            value = row.get(column)
            if field == "evaluation_schema" and isinstance(value, dict | bool):
                raw[field] = plain(value)
            else:
                text = _message(value) if field == "input" and isinstance(value, Listed) else _text(value)
                raw[field] = text if text.strip() else None
        return test_case_text(raw)
    except FieldError as error:
        field, problem = error.field, error.told
    except ConfigError as error:
        problem = str(error)
    column = fields[field]
    name = field if field == column else f"{field}, from {column!r:.80}"
    return Fault(row.lines.get(column, row.line), f"{name}: {problem}")


def _format_seen(content: bytes) -> Format:
    first = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return "jsonl" if first == b"{" else "json" if first == b"[" else "csv"


def _pieces(content: bytes, name: str, form: Format, columns: dict[str, None]) -> Iterator[Piece]:
    if form == "csv":
        # A table has its columns also where no row is right.
        yield from read_table(content, lambda heading: columns.update(dict.fromkeys(heading)), name=name)
        return
    with TextFile(content, name=name) as file:
        yield from read_lines(file) if form == "jsonl" else JsonReader(file).cases()


def _spread(row: Mapped) -> Mapped:
    """Return a row with what other tools put into an object as columns of its own."""
    flat = Mapped(row.line)
    for column, value in row.items():
        is_container = column in _CONTAINERS and isinstance(value, Mapped)
        parts = {f"{column}.{key}": item for key, item in value.items()} if is_container else {column: value}
        flat.update(parts)
        flat.lines.update(dict.fromkeys(parts, row.lines[column]))
    return flat


def _text(value: Any) -> str:
    """Return a value as text: what is no text as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(plain(value), ensure_ascii=False)


def _message(value: Listed) -> str:
    """Return the text of the only message of a list; a list of anything else is text as JSON."""
    if not any(isinstance(item, Mapped) and "content" in item for item in value):
        return _text(value)
    (first, *others) = value
    is_users = isinstance(first, Mapped) and first.get("role", "user") in ("user", "human")
    if others or not is_users or not isinstance(first["content"], str):
        roles = [str(item.get("role", "?")) if isinstance(item, Mapped) else "?" for item in value]
        listed = f"{', '.join(roles[:5])}"[:80]
        raise ConfigError(
            f"it is a list of messages ({listed}), and a test case has the text of one message of the user; put what "
            "the system says into the prompt"
        )
    return str(first["content"])
