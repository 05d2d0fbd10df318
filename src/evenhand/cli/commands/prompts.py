"""Prompts and test cases shown to people; what users wrote is made plain, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

import typer

from evenhand.cli.commands import prompt_cases, prompt_files, prompt_run
from evenhand.cli.console import Console, confirm
from evenhand.cli.groups import ListByDefault, example
from evenhand.cli.options import DB, WAYS, Db, Json, NoEnvFile, Quiet, Verbose, text_option, texts_given
from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import Prompt, TestCase
from evenhand.reports.phrases import counted, moment_text
from evenhand.reports.safe_text import plain

_NAME: Final = 32
_COLUMNS: Final = "{:<32}  {:>7}  {:<6}  {:>5}  {:<20}  {}"

HEADING: Final = _COLUMNS.format("prompt", "version", "mode", "cases", "edited", "id")


def line(prompt: Prompt) -> str:
    """Show a prompt in the list."""
    return _COLUMNS.format(
        plain(prompt.name, _NAME),
        prompt.version,
        prompt.text.evaluation_mode.value,
        f"{prompt.test_cases:,}",
        moment_text(prompt.edited),
        prompt.id,
    )


def lines(prompt: Prompt, cases: Sequence[TestCase]) -> Iterator[str]:
    """Show a prompt in whole, with its test cases."""
    text = prompt.text
    yield f"{plain(prompt.name)}: version {prompt.version} of {prompt.latest}, mode {text.evaluation_mode.value}"
    yield f"{prompt.id}, edited {moment_text(prompt.edited)}"
    yield from _part("content", text.content)
    yield from _part("expected schema", text.expected_schema)
    yield from _part("criteria", text.evaluation_criteria)
    yield f"\n{counted(len(cases), 'test case')}" if cases else "\nno test cases yet"
    for case in cases:
        yield f"\n{case.id}, version {case.version}"
        yield from _part("input", case.text.input, before="  ")
        yield from _part("schema", case.text.evaluation_schema, before="  ")
        yield from _part("reference", case.text.reference, before="  ")


def _part(title: str, text: str | None, before: str = "") -> Iterator[str]:
    """Show a text below its title; none where there is nothing in it."""
    if text is None or not text.strip():
        return
    yield f"{before}{title}:"
    for one in text.strip("\r\n").splitlines():
        indent = len(one) - len(one.lstrip(" "))
        yield f"{before}  {' ' * indent}{plain(one, None)}".rstrip()


# What the options are called in the format.
_FIELDS = {
    "--name": "name",
    "--content": "content",
    "--mode": "evaluation_mode",
    "--criteria": "evaluation_criteria",
    "--expected-schema": "expected_schema",
}
Name = Annotated[str, typer.Argument(metavar="NAME", help="The prompt's name, or its id.")]
Content = Annotated[str | None, text_option("--content", f"What the model is told as its system message. {WAYS}")]
Mode = Annotated[
    str | None,
    typer.Option("--mode", metavar="MODE", help="Who evaluates: llm, a judge by criteria; schema, that of each case."),
]
Criteria = Annotated[str | None, text_option("--criteria", f"What a good answer does; for mode llm. {WAYS}")]
ExpectedSchema = Annotated[
    str | None, text_option("--expected-schema", f"The JSON Schema that models generate by. {WAYS}")
]

app = typer.Typer(
    cls=ListByDefault, help="Keep prompts with versions and test cases, and try them.",
    epilog=example("evenhand prompts", "evenhand prompts run refunds --model openai/gpt-5-mini"),
)  # fmt: skip


@app.command("list", epilog=example("evenhand prompts list"))
def list_prompts(
    *,
    db: Db = DB,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """List the prompts by their names."""
    from evenhand.cli.options import opened_if_there
    from evenhand.reports.json_text import strict_json
    from evenhand.workspace.documents import prompt_summary

    console = Console()
    with opened_if_there(db) as store:
        found = store.prompts.all()
    if json:
        console.result(strict_json([prompt_summary(prompt) for prompt in found]))
        return
    console.result("\n".join([HEADING, *map(line, found)]) if found else "no prompts yet")


@app.command("show", epilog=example("evenhand prompts show refunds", "evenhand prompts show refunds --version 1"))
def show_prompt(
    name: Name,
    *,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="As it was in this version; the newest if left out.")
    ] = None,
    db: Db = DB,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Show a prompt with its test cases."""
    from evenhand.engine.store_location import StoreLocation
    from evenhand.reports.json_text import strict_json
    from evenhand.workspace.documents import case_summary, prompt_summary

    console = Console()
    with StoreLocation(db).opened(to_read=True) as store:
        prompt = store.prompts.find(name, version)
        cases = list(store.prompts.cases(prompt.id))
    if json:
        console.result(strict_json(prompt_summary(prompt) | {"test_cases": [case_summary(one) for one in cases]}))
    else:
        console.result("\n".join(lines(prompt, cases)))


@app.command("new", epilog=example("evenhand prompts new refunds --content @system.md --criteria 'Is kind'"))
def new_prompt(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it; names must differ.")],
    *,
    content: Content = None,
    mode: Mode = None,
    criteria: Criteria = None,
    expected_schema: ExpectedSchema = None,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Keep a new prompt, and print its id.

    The criteria are optional: without them, answers are made and kept, and not evaluated.
    """
    from evenhand.engine.store_location import StoreLocation
    from evenhand.workspace.texts import prompt_text

    given = _texts(content=content, criteria=criteria, expected_schema=expected_schema, mode=mode)
    with prompt_cases.by_flags(_FIELDS):
        text = prompt_text({"name": name, **given})
    console = Console(quiet=quiet)
    with StoreLocation(db).opened() as store:
        made = store.prompts.create(text)
    console.note(f"made prompt {made.name}, version {made.version}")
    console.result(_summary(made) if json else made.id)


@app.command("edit", epilog=example("evenhand prompts edit refunds --content @system.md"))
def edit_prompt(
    name: Name,
    *,
    new_name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Call it so from now on.")] = None,
    content: Content = None,
    mode: Mode = None,
    criteria: Criteria = None,
    expected_schema: ExpectedSchema = None,
    seen: prompt_cases.Seen = None,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Change a prompt, which makes a new version.

    What is not given stays as it is; an empty text takes something away. Earlier versions stay, and so do their runs.
    Changing the mode leaves the criteria, and the schemas of test cases, where they are.
    """
    from evenhand.engine.store_location import StoreLocation
    from evenhand.workspace.documents import prompt_dict
    from evenhand.workspace.texts import prompt_text

    given = _texts(content=content, criteria=criteria, expected_schema=expected_schema, mode=mode)
    given |= {} if new_name is None else {"name": new_name}
    if not given:
        raise ConfigError(f"nothing to change: give {', '.join(list(_FIELDS)[:-1])} or {list(_FIELDS)[-1]}")
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        known = store.prompts.find(name)
        with prompt_cases.by_flags(_FIELDS):
            text = prompt_text(prompt_dict(known.text) | given)
        made = store.prompts.edit(known.id, text, seen=known.latest if seen is None else seen)
    if made.version == known.version:
        console.note(f"nothing changed: prompt {made.name} stays at version {made.version}")
    else:
        console.note(f"prompt {made.name} is at version {made.version}")
    if json:
        console.result(_summary(made))


@app.command("delete", epilog=example("evenhand prompts delete refunds"))
def delete_prompts(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Their names, or their ids.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    db: Db = DB,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Delete prompts with their versions and test cases; their runs stay."""
    from evenhand.engine.store_location import StoreLocation
    from evenhand.reports.phrases import counted

    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        found = {prompt.id: prompt for prompt in map(store.prompts.find, names)}
        if not yes:
            told = ", ".join(
                f"{one.name} ({counted(one.latest, 'version')}, {counted(one.test_cases, 'test case')})"
                for one in found.values()
            )
            confirm(console, f"Delete {told}?")
        for prompt in found.values():
            store.prompts.delete(prompt.id)
            console.note(f"deleted {prompt.name}")


def _texts(
    *, content: str | None, criteria: str | None, expected_schema: str | None, mode: str | None
) -> dict[str, Any]:
    """Return the fields that options set, by their names in the format."""
    given = texts_given({"--content": content, "--criteria": criteria, "--expected-schema": expected_schema})
    return {_FIELDS[flag]: text for flag, text in given.items()} | ({} if mode is None else {"evaluation_mode": mode})


def _summary(prompt: Any) -> str:
    from evenhand.reports.json_text import strict_json
    from evenhand.workspace.documents import prompt_summary

    return strict_json(prompt_summary(prompt))


app.command("add-case", epilog=example("evenhand prompts add-case refunds --input 'Where is my money?'"))(
    prompt_cases.add_case
)
app.command("edit-case", epilog=example("evenhand prompts edit-case t-k7mqh2wd3v --schema @money.json"))(
    prompt_cases.edit_case
)
app.command("remove-case", epilog=example("evenhand prompts remove-case t-k7mqh2wd3v"))(prompt_cases.remove_case)
app.command(
    "export", epilog=example("evenhand prompts export -o prompts.json", "evenhand prompts export refunds --suite")
)(prompt_files.export_prompts)
app.command("import", epilog=example("evenhand prompts import prompts.json --dry-run"))(prompt_files.import_prompts)
app.command("run", epilog=example("evenhand prompts run refunds --model openai/gpt-5-mini --judge openai/gpt-5"))(
    prompt_run.run_prompt
)
