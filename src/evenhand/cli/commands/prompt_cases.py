"""`evenhand prompts add-case`, `edit-case` and `remove-case`: the test cases of a prompt."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import DB, TEXT_SOURCES, Db, Json, Quiet, read_texts, text_option
from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import FieldError
from evenhand.engine.store_location import StoreLocation
from evenhand.reports.safe_text import strict_json
from evenhand.workspace.documents import case_dict, case_summary, test_case_text

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
