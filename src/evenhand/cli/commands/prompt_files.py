"""A prompt written as a suite's file, and read back before anybody gets it."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping
from json import dumps as json_text
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from evenhand.cli.console import Console, input_bytes
from evenhand.cli.options import DB, Db, DryRun, Json, Judge, NoEnvFile, Quiet, Verbose
from evenhand.domain.errors import ConfigError
from evenhand.store.store import Store
from evenhand.suites.suite import read_suite
from evenhand.workspace.documents import suite_of
from evenhand.workspace.trial import case_of

_WIDTH = 120


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def suite_text(store: Store, wanted: str, *, model: str | None, judge: str | None) -> tuple[str, int]:
    """Return a prompt as a suite in YAML, and how many cases it has."""
    prompt = store.prompts.find(wanted)
    cases = list(store.prompts.cases(prompt.id))
    suite = suite_of(prompt, cases, model=model, judge=judge)
    text: str = yaml.dump(suite, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    _require_same(text, suite, [case_of(prompt.text, one) for one in cases])
    return text, len(cases)


def _require_same(text: str, suite: dict[str, Any], cases: list[Any]) -> None:
    """Read the suite as `evenhand run` will, and find all of it as it was."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "suite.yaml")
        path.write_text(text, encoding="utf-8", newline="\n")
        read = read_suite(path)
        found = [planned.case for planned in read.cases()]
    header = {key: value for key, value in suite.items() if key != "cases"}
    if found != cases or read.definition != header:
        raise ConfigError("the prompt holds signs that do not come back from YAML as they are; export it as JSON")


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
    from evenhand.engine.store_location import StoreLocation
    from evenhand.reports.phrases import counted
    from evenhand.reports.report import written_whole

    if suite and len(names or ()) != 1:
        raise ConfigError("--suite writes one prompt; name it, and no other")
    if model is not None and not suite:
        raise ConfigError("--model is for --suite; a plain export names no models")
    with StoreLocation(db).opened(to_read=True) as store:
        if suite:
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
    from evenhand.cli.options import opened_if_there
    from evenhand.engine.store_location import StoreLocation
    from evenhand.reports.json_text import strict_json
    from evenhand.reports.phrases import counted
    from evenhand.workspace.documents import import_document

    name = "standard input" if file == "-" else file
    console = Console(quiet=quiet)
    try:
        given = _read(file)
        with opened_if_there(db) if dry_run else StoreLocation(db).opened() as store:
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
