"""`evenhand prompts add-case`, `import-cases`, `edit-case` and `remove-case`: the test cases of a prompt."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.console import Console, input_bytes
from evenhand.cli.options import DB, TEXT_SOURCES, Db, DryRun, Json, Quiet, read_texts, text_option
from evenhand.convert.case_import import add_cases, plan_cases
from evenhand.convert.case_table import fields_guessed, read_cases
from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import FieldError
from evenhand.engine.store_location import StoreLocation
from evenhand.reports.phrases import counted
from evenhand.reports.safe_text import strict_json
from evenhand.suites.text_file import require_file
from evenhand.workspace.documents import case_dict, case_summary, snake, test_case_text

_FIELDS = {"--input": "input", "--schema": "evaluation_schema", "--reference": "reference"}
CaseId = Annotated[str, typer.Argument(metavar="ID", help="The id of the test case.")]
Schema = Annotated[
    str | None, text_option("--schema", f"The JSON Schema of the answer, in mode schema. {TEXT_SOURCES}")
]
Reference = Annotated[str | None, text_option("--reference", f"A correct answer, for the judge. {TEXT_SOURCES}")]
Seen = Annotated[
    int | None,
    typer.Option("--seen", metavar="VERSION", help="Edit only if this is still the newest version; for scripts."),
]


def add_case(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name or id of the prompt.")],
    *,
    asked: Annotated[str, text_option("--input", f"The message to the model. {TEXT_SOURCES}")],
    schema: Schema = None,
    reference: Reference = None,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add a test case to a prompt, and print its id.

    The schema is optional: without one, in mode schema, the answer is stored but not evaluated.
    """
    texts = read_texts({"--input": asked, "--schema": schema, "--reference": reference})
    with errors_by_flag(_FIELDS):
        text = test_case_text({_FIELDS[flag]: value for flag, value in texts.items()})
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        prompt = store.prompts.find(name)
        (case,) = store.prompts.add_cases(prompt.id, [text])
    console.note(f"added a test case to {prompt.name}, which now has {prompt.test_cases + 1:,}")
    console.result(strict_json(case_summary(case)) if json else case.id)


def import_cases(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name or id of the prompt.")],
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A .csv, .tsv, .jsonl or .json file; - is standard input.")
    ],
    *,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="FIELD=COLUMN",
            help="The column of input, reference or evaluation_schema. Can be repeated; by default, the names decide.",
        ),
    ] = None,
    skip_mistakes: Annotated[
        bool, typer.Option("--skip-mistakes", help="Leave rows with mistakes out, and add the others.")
    ] = False,
    dry_run: DryRun = False,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add the test cases of a CSV or JSONL file to a prompt: all of them, or none if one is invalid.

    A column named question is the input, one named expected the reference, and so on; other columns are not imported,
    and listed. Test cases that the prompt has already are left out.
    """
    if file != "-":
        require_file(Path(file))
    content = input_bytes().read() if file == "-" else Path(file).read_bytes()
    table = read_cases(content, name="standard input" if file == "-" else file)
    given = _fields_given(columns or ())
    guessed = {field: column for field, column in fields_guessed(table.columns).items() if column not in given.values()}
    fields = guessed | given
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        prompt = store.prompts.find(name)
        if dry_run:
            done = plan_cases(store, prompt, table, fields)
        else:
            done = add_cases(store, prompt, table, fields, skip_mistakes=skip_mistakes)
    if json:
        console.result(strict_json(done.as_dict()))
    for field, column in done.fields.items():
        console.note(f"{field} is the column {column}")
    if ignored := [column for column in table.columns if column not in done.fields.values()]:
        console.note(f"not imported: {', '.join(ignored)}")
    for mistake in done.mistakes:
        console.note(f"line {mistake.line}: {mistake.text}")
    for duplicate in done.duplicates:
        console.note(f"line {duplicate.line}: left out, since it is the same as {duplicate.same_as}")
    count = counted(len(done.new), "test case")
    console.note(f"would add {count} to {prompt.name}" if dry_run else f"added {count} to {prompt.name}")


def _fields_given(given: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for field, equals, column in pairs:
        if not (field and equals and column):
            raise ConfigError(f"--column {field}{equals}{column}: write a field and a column, such as input=question")
    return {snake(field.strip()): column for field, _, column in pairs}


def edit_case(
    case_id: CaseId,
    *,
    asked: Annotated[str | None, text_option("--input", f"The message to the model. {TEXT_SOURCES}")] = None,
    schema: Schema = None,
    reference: Reference = None,
    seen: Seen = None,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Edit a test case; fields that are not given stay, and an empty text removes a field."""
    texts = read_texts({"--input": asked, "--schema": schema, "--reference": reference})
    if not texts:
        raise ConfigError("nothing to change: give --input, --schema or --reference")
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        before = store.prompts.find_case(case_id)
        with errors_by_flag(_FIELDS):
            text = test_case_text(case_dict(before) | {_FIELDS[flag]: value for flag, value in texts.items()})
        case = store.prompts.edit_case(before.id, text, seen=before.version if seen is None else seen)
    is_same = case.version == before.version
    console.note(f"nothing changed in test case {case_id}" if is_same else f"edited test case {case_id}")
    if json:
        console.result(strict_json(case_summary(case)))


def remove_cases(
    case_ids: Annotated[list[str], typer.Argument(metavar="ID...", help="The ids of the test cases.")],
    *,
    db: Db = DB,
    quiet: Quiet = False,
) -> None:
    """Remove test cases: all of them, or none if an id is unknown. Runs keep what they judged."""
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        store.atomically(lambda: [store.prompts.delete_case(case_id) for case_id in dict.fromkeys(case_ids)])
    for case_id in dict.fromkeys(case_ids):
        console.note(f"removed {case_id}")


@contextlib.contextmanager
def errors_by_flag(fields: Mapping[str, str]) -> Iterator[None]:
    """Let errors about fields name the flags that set them."""
    flags = {field: flag for flag, field in fields.items()}
    try:
        yield
    except FieldError as error:
        raise ConfigError(f"{flags.get(error.field, error.field)}: {error.told}") from None
