"""`evenhand prompts export` and `import`: prompts with their test cases as a file, or one of them as a suite."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from json import dumps as json_text
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli.console import Console, input_bytes
from evenhand.cli.options import DB, Db, DryRun, Json, Judge, NoEnvFile, Quiet, Verbose
from evenhand.domain.errors import ConfigError


def export_prompts(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Their names, or their ids; all if left out.")
    ] = None,
    *,
    suite: Annotated[
        bool, typer.Option("--suite", help="Write one prompt as a suite, for `evenhand run` and your repository.")
    ] = False,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="With --suite: the model that answers.")
    ] = None,
    judge: Judge = None,
    to: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; standard output if left out.")
    ] = None,
    db: Db = DB,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Write prompts with their test cases as JSON, for `evenhand prompts import`.

    With --suite, one prompt is written as a suite in YAML, whose cases are asked and judged as `evenhand prompts run`
    does; a suite without --model names no target, and is run with --target. Versions and runs are not exported.
    """
    from evenhand.engine.place import Place
    from evenhand.reports.numbers import counted
    from evenhand.reports.whole import written_whole

    if suite and len(names or ()) != 1:
        raise ConfigError("--suite writes one prompt; name it, and no other")
    if model is not None and not suite:
        raise ConfigError("--model is for --suite; a plain export names no models")
    with Place(db).opened(to_read=True) as store:
        if suite:
            from evenhand.cli.suite_file import suite_text

            text, count = suite_text(store, (names or [""])[0], model=model, judge=judge)
            what = counted(count, "case")
        else:
            from evenhand.workspace.documents import export_document

            document = export_document(store, names or None)
            text, what = _written(document), counted(len(document["prompts"]), "prompt")
    console = Console(quiet=quiet)
    if to is None:
        console.results([text.encode()])
        return
    with written_whole(to) as file:
        file.write(text.encode())
    console.note(f"wrote {to}: {what}")
    if suite and model is None:
        console.note(f"it names no model; run it with: evenhand run {shlex.quote(to)} --target openai/gpt-5-mini")


def import_prompts(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What `evenhand prompts export` wrote; - is standard input.")
    ],
    *,
    dry_run: DryRun = False,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Take in prompts with their test cases, all of them or, if one is wrong, none.

    Prompts whose names are there already are skipped, and listed. Keys may be written evaluation_mode or
    evaluationMode.
    """
    from evenhand.cli.stores import opened_if_there
    from evenhand.engine.place import Place
    from evenhand.reports.numbers import counted
    from evenhand.reports.strict import strict_json
    from evenhand.workspace.documents import import_document

    name = "standard input" if file == "-" else file
    console = Console(quiet=quiet)
    try:
        given = _read(file)
        with opened_if_there(db) if dry_run else Place(db).opened() as store:
            done = import_document(store, given, dry_run=dry_run)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    if json:
        console.result(strict_json(done.as_dict()))
    what = f"{counted(len(done.created), 'prompt')} with {counted(done.test_cases, 'test case')}"
    console.note(f"{name} is sound: it would bring {what}; nothing was kept" if dry_run else f"imported {what}")
    for one in done.skipped:
        console.note(f"skipped {one}: there is a prompt of that name already")


def _written(document: Mapping[str, Any]) -> str:
    """Write a document for people to read and compare, too; terminals obey some signs that JSON allows as they are."""
    obeyed = {one: f"\\u{one:04x}" for one in (*range(0x7F, 0xA0), 0x2028, 0x2029)}
    return json_text(document, ensure_ascii=False, indent=2).translate(obeyed) + "\n"


def _read(file: str) -> object:
    from evenhand.domain.errors import ContractError
    from evenhand.evaluators.reading import parse_strict

    if file != "-" and not Path(file).is_file():
        raise ConfigError("there is no such file")
    content = input_bytes().read() if file == "-" else Path(file).read_bytes()
    try:
        return parse_strict(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"byte {error.start + 1} is not UTF-8") from None
    except ContractError as error:
        raise ConfigError(str(error)) from None
