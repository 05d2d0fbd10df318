"""`evenhand prompts`: prompts with versions, and trying them on models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Final

import typer

from evenhand.cli.commands.prompt_cases import Seen, errors_by_flag
from evenhand.cli.console import Console, confirm
from evenhand.cli.options import (
    DB,
    TEXT_SOURCES,
    Db,
    Json,
    Judge,
    Label,
    Quiet,
    Repeat,
    RunOptions,
    Tags,
    Yes,
    is_typed,
    read_texts,
    require_judge,
    text_option,
)
from evenhand.cli.runs.overrides import CommandScope
from evenhand.cli.runs.session import open_session
from evenhand.cli.runs.start import NewRun, start_run
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode
from evenhand.domain.prompt import EvaluationMode, Prompt, TestCase
from evenhand.engine.store_location import StoreLocation, open_or_empty
from evenhand.reports.phrases import counted, moment_text
from evenhand.reports.safe_text import plain, strict_json
from evenhand.suites.lint import kinship_notes
from evenhand.workspace.documents import case_summary, prompt_dict, prompt_summary, prompt_text
from evenhand.workspace.prompt_run import Trial

_NAME: Final = 32
_COLUMNS: Final = "{:<32}  {:>7}  {:<6}  {:>5}  {:<20}  {}"

HEADING: Final = _COLUMNS.format("prompt", "version", "mode", "cases", "edited", "id")


def line(prompt: Prompt) -> str:
    """Return a prompt as a line of the list."""
    return _COLUMNS.format(
        plain(prompt.name, _NAME),
        prompt.version,
        prompt.text.evaluation_mode.value,
        f"{prompt.test_cases:,}",
        moment_text(prompt.edited),
        prompt.id,
    )


def lines(prompt: Prompt, cases: Sequence[TestCase]) -> Iterator[str]:
    """Yield a whole prompt with its test cases; what users wrote is made safe for the terminal."""
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
    """Yield a text below its title, or nothing if it is blank."""
    if text is None or not text.strip():
        return
    yield f"{before}{title}:"
    for row in text.strip("\r\n").splitlines():
        indent = len(row) - len(row.lstrip(" "))
        yield f"{before}  {' ' * indent}{plain(row, None)}".rstrip()


# The fields of a prompt, by the options that set them.
_FIELDS = {
    "--name": "name",
    "--content": "content",
    "--mode": "evaluation_mode",
    "--criteria": "evaluation_criteria",
    "--expected-schema": "expected_schema",
}
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name or id of the prompt.")]
Content = Annotated[str | None, text_option("--content", f"The system message. {TEXT_SOURCES}")]
Mode = Annotated[
    str | None,
    typer.Option(
        "--mode", metavar="MODE", help="llm: a judge evaluates by the criteria; schema: by the schema of each case."
    ),
]
Criteria = Annotated[str | None, text_option("--criteria", f"What a good answer does, in mode llm. {TEXT_SOURCES}")]
ExpectedSchema = Annotated[
    str | None, text_option("--expected-schema", f"The JSON Schema of what models generate. {TEXT_SOURCES}")
]


def list_prompts(
    *,
    db: Db = DB,
    json: Json = False,
) -> None:
    """List the prompts by name."""
    console = Console()
    with open_or_empty(db) as store:
        prompts = store.prompts.all()
    if json:
        console.result(strict_json([prompt_summary(prompt) for prompt in prompts]))
        return
    console.result("\n".join([HEADING, *map(line, prompts)]) if prompts else "no prompts yet")


def show_prompt(
    name: Name,
    *,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="The version to show; the newest by default.")
    ] = None,
    db: Db = DB,
    json: Json = False,
) -> None:
    """Show a prompt with its test cases."""
    console = Console()
    with StoreLocation(db).opened(to_read=True) as store:
        prompt = store.prompts.find(name, version)
        cases = list(store.prompts.cases(prompt.id))
    if json:
        console.result(strict_json(prompt_summary(prompt) | {"test_cases": [case_summary(case) for case in cases]}))
    else:
        console.result("\n".join(lines(prompt, cases)))


def new_prompt(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name that no other prompt has.")],
    *,
    content: Content = None,
    mode: Mode = None,
    criteria: Criteria = None,
    expected_schema: ExpectedSchema = None,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Create a prompt, and print its id.

    The criteria are optional: without them, answers are stored but not evaluated.
    """
    fields = _fields(content=content, criteria=criteria, expected_schema=expected_schema, mode=mode)
    with errors_by_flag(_FIELDS):
        text = prompt_text({"name": name, **fields})
    console = Console(quiet=quiet)
    with StoreLocation(db).opened() as store:
        prompt = store.prompts.create(text)
    console.note(f"created prompt {prompt.name}, version {prompt.version}")
    console.result(strict_json(prompt_summary(prompt)) if json else prompt.id)


def edit_prompt(
    name: Name,
    *,
    new_name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Rename the prompt.")] = None,
    content: Content = None,
    mode: Mode = None,
    criteria: Criteria = None,
    expected_schema: ExpectedSchema = None,
    seen: Seen = None,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Edit a prompt, which creates a new version.

    Fields that are not given stay as they are; an empty text removes a field. Earlier versions and their runs stay.
    Changing the mode keeps the criteria and the schemas of test cases.
    """
    fields = _fields(content=content, criteria=criteria, expected_schema=expected_schema, mode=mode)
    fields |= {} if new_name is None else {"name": new_name}
    if not fields:
        raise ConfigError(f"nothing to change: give {', '.join(list(_FIELDS)[:-1])} or {list(_FIELDS)[-1]}")
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        before = store.prompts.find(name)
        with errors_by_flag(_FIELDS):
            text = prompt_text(prompt_dict(before.text) | fields)
        prompt = store.prompts.edit(before.id, text, seen=before.latest if seen is None else seen)
    if prompt.version == before.version:
        console.note(f"nothing changed: prompt {prompt.name} stays at version {prompt.version}")
    else:
        console.note(f"prompt {prompt.name} is now at version {prompt.version}")
    if json:
        console.result(strict_json(prompt_summary(prompt)))


def delete_prompts(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="The names or ids of the prompts.")],
    *,
    yes: Yes = False,
    db: Db = DB,
    quiet: Quiet = False,
) -> None:
    """Delete prompts with their versions and test cases; their runs stay."""
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        prompts = {prompt.id: prompt for prompt in map(store.prompts.find, names)}
        if not yes:
            listed = ", ".join(
                f"{prompt.name} ({counted(prompt.latest, 'version')}, {counted(prompt.test_cases, 'test case')})"
                for prompt in prompts.values()
            )
            confirm(console, f"Delete {listed}?")
        for prompt in prompts.values():
            store.prompts.delete(prompt.id)
            console.note(f"deleted {prompt.name}")


def _fields(
    *, content: str | None, criteria: str | None, expected_schema: str | None, mode: str | None
) -> dict[str, Any]:
    """Return the fields that options set, by their names in the format."""
    texts = read_texts({"--content": content, "--criteria": criteria, "--expected-schema": expected_schema})
    return {_FIELDS[flag]: text for flag, text in texts.items()} | ({} if mode is None else {"evaluation_mode": mode})


def run_prompt(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name or id of the prompt.")],
    *,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="NAME", help="A model that answers, such as openai/gpt-5-mini. Can be repeated."
        ),
    ] = None,
    judge: Judge = None,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="The version of the prompt; the newest by default.")
    ] = None,
    # Not called only here: that is a setting of other commands.
    test_cases: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="ID", help="Use only the test case with this id. Can be repeated."),
    ] = None,
    repeat: Repeat = None,
    label: Label = None,
    tag: Tags = None,
    options: RunOptions,
) -> ExitCode:
    """Try a prompt: every test case on every model, as often as --repeat says.

    In mode llm a judge sees prompt, input, answer and criteria; in mode schema each answer is checked against the
    schema of its test case. Without criteria, or without a schema, answers are stored but not evaluated. The result is
    a run like any other: see `evenhand runs`, `evenhand report` and `evenhand resume`. The exit codes are those of
    `evenhand run`.
    """
    if not model:
        raise ConfigError("no model to answer: give --model, such as --model openai/gpt-5-mini")
    with open_session(ctx, options) as session, StoreLocation(options.db).opened(to_read=True) as store:
        trial = Trial(
            prompt=store.prompts.find(name, version),
            models=tuple(model),
            judge=judge,
            test_cases=tuple(test_cases or ()) or None,
            repeat=repeat or 1,
        )
        if trial.asks_judge:
            require_judge(judge)
        new = NewRun(
            job=trial.job(store),
            scope=CommandScope(repeat=trial.repeat, label=label, tags=tuple(tag or ()), no_cache=options.no_cache),
            notes=partial(_notes, trial, judge_is_typed=is_typed(ctx, "judge")),
        )
        return start_run(session, new, options, store=store)


def _notes(trial: Trial, *, judge_is_typed: bool) -> Iterator[str]:
    """Yield what the user should know before anything is spent."""
    by_schema = trial.prompt.text.evaluation_mode is EvaluationMode.SCHEMA
    if not (trial.asks_judge or by_schema):
        yield "the prompt has no criteria, so answers are not evaluated; add some with: evenhand prompts edit"
    elif by_schema and judge_is_typed:
        yield "--judge has no effect: answers are checked against the schemas of the test cases"
    yield from kinship_notes(trial.definition)
