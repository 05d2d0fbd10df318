"""`evenhand prompts add-case`, `edit-case` and `remove-case`: what a prompt is tried on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import DB, WAYS, Db, Json, NoEnvFile, Quiet, Verbose, text_option, texts_given
from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import FieldError, TestCase

_FIELDS = {"--input": "input", "--schema": "evaluation_schema", "--reference": "reference"}
CaseId = Annotated[str, typer.Argument(metavar="ID", help="The id of the test case.")]
Schema = Annotated[
    str | None, text_option("--schema", f"The JSON Schema that the answer is held to, in mode schema. {WAYS}")
]
Reference = Annotated[str | None, text_option("--reference", f"An answer that is right, for the judge. {WAYS}")]
Seen = Annotated[
    int | None,
    typer.Option("--seen", metavar="VERSION", help="Change it only if this is still its version; for scripts."),
]


def add_case(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The prompt's name, or its id.")],
    *,
    asked: Annotated[str, text_option("--input", f"What the model is asked. {WAYS}")],
    schema: Schema = None,
    reference: Reference = None,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Add a test case to a prompt, and print its id.

    The schema is optional: without one, in mode schema, the answer is made and kept, and not evaluated.
    """
    from evenhand.engine.store_location import StoreLocation
    from evenhand.workspace.texts import test_case_text

    given = texts_given({"--input": asked, "--schema": schema, "--reference": reference})
    with by_flags(_FIELDS):
        text = test_case_text({_FIELDS[flag]: value for flag, value in given.items()})
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        prompt = store.prompts.find(name)
        (made,) = store.prompts.add_cases(prompt.id, [text])
    console.note(f"added a test case to {prompt.name}, which has {prompt.test_cases + 1:,} now")
    console.result(_summary(made) if json else made.id)


def edit_case(
    case: CaseId,
    *,
    asked: Annotated[str | None, text_option("--input", f"What the model is asked. {WAYS}")] = None,
    schema: Schema = None,
    reference: Reference = None,
    seen: Seen = None,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Change a test case; what is not given stays, and an empty text takes something away."""
    from evenhand.engine.store_location import StoreLocation
    from evenhand.workspace.documents import case_dict
    from evenhand.workspace.texts import test_case_text

    given = texts_given({"--input": asked, "--schema": schema, "--reference": reference})
    if not given:
        raise ConfigError("nothing to change: give --input, --schema or --reference")
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        known = store.prompts.find_case(case)
        with by_flags(_FIELDS):
            text = test_case_text(case_dict(known) | {_FIELDS[flag]: value for flag, value in given.items()})
        made = store.prompts.edit_case(known.id, text, seen=known.version if seen is None else seen)
    is_same = made.version == known.version
    console.note(f"nothing changed: test case {case} is as it was" if is_same else f"changed test case {case}")
    if json:
        console.result(_summary(made))


def remove_case(
    cases: Annotated[list[str], typer.Argument(metavar="ID...", help="The ids of the test cases.")],
    *,
    db: Db = DB,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Remove test cases, all of them or, if one is not there, none; runs keep what they judged of them."""
    from evenhand.engine.store_location import StoreLocation

    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store, store.transaction():
        for one in dict.fromkeys(cases):
            store.prompts.delete_case(one)
    for one in dict.fromkeys(cases):
        console.note(f"removed {one}")


@contextlib.contextmanager
def by_flags(fields: Mapping[str, str]) -> Iterator[None]:
    """Let messages about fields name the flags that gave them."""
    flags = {field: flag for flag, field in fields.items()}
    try:
        yield
    except FieldError as error:
        raise ConfigError(f"{flags.get(error.field, error.field)}: {error.told}") from None


def _summary(case: TestCase) -> str:
    from evenhand.reports.json_text import strict_json
    from evenhand.workspace.documents import case_summary

    return strict_json(case_summary(case))
