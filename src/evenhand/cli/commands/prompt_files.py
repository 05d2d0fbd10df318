"""`evenhand prompts export` and `import`: prompts with their test cases as a file, or one of them as a suite."""

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
from evenhand.cli.options import DB, Db, DryRun, ExportFile, Json, Judge, Quiet, Yes
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.engine.store_location import StoreLocation, open_or_empty
from evenhand.evaluators.reading import parse_strict
from evenhand.reports.line_diff import differences
from evenhand.reports.phrases import counted
from evenhand.reports.report import written_whole
from evenhand.reports.safe_text import strict_json
from evenhand.store.store import Store
from evenhand.suites.suite import read_suite
from evenhand.workspace.documents import export_document, suite_of
from evenhand.workspace.prompt_import import Update, import_document
from evenhand.workspace.prompt_run import case_of

_WIDTH = 120


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def suite_text(store: Store, name: str, *, model: str | None, judge: str | None) -> tuple[str, int]:
    """Return a prompt as a suite in YAML, and how many cases it has."""
    prompt = store.prompts.find(name)
    cases = list(store.prompts.cases(prompt.id))
    suite = suite_of(prompt, cases, model=model, judge=judge)
    text: str = yaml.dump(suite, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    _require_same(text, suite, [case_of(prompt.text, case) for case in cases])
    return text, len(cases)


def _require_same(text: str, suite: dict[str, Any], cases: list[Any]) -> None:
    """Read the suite as `evenhand run` will, and refuse it if anything was lost."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "suite.yaml")
        path.write_text(text, encoding="utf-8", newline="\n")
        read = read_suite(path)
        cases_read = [planned.case for planned in read.cases()]
    header = {key: value for key, value in suite.items() if key != "cases"}
    if cases_read != cases or read.definition != header:
        raise ConfigError("the prompt has characters that YAML does not preserve; export it as JSON")


def export_prompts(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Names or ids of prompts; all by default.")
    ] = None,
    *,
    suite: Annotated[bool, typer.Option("--suite", help="Write one prompt as a suite, for `evenhand run`.")] = False,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="With --suite: the model that answers.")
    ] = None,
    judge: Judge = None,
    file: ExportFile = None,
    db: Db = DB,
    quiet: Quiet = False,
) -> None:
    """Export prompts with their test cases as JSON, for `evenhand prompts import`.

    With --suite, one prompt is written as a suite in YAML, whose cases are asked and judged as `evenhand prompts run`
    does; without --model the suite has no target, and is run with --target. Versions and runs are not exported.
    """
    if suite and len(names or ()) != 1:
        raise ConfigError("--suite exports one prompt; name exactly one")
    if model is not None and not suite:
        raise ConfigError("--model requires --suite; a JSON export names no models")
    with StoreLocation(db).opened(to_read=True) as store:
        if suite:
            text, count = suite_text(store, (names or [""])[0], model=model, judge=judge)
            content = counted(count, "case")
        else:
            document = export_document(store, names or None)
            text, content = _document_text(document), counted(len(document["prompts"]), "prompt")
    console = Console(quiet=quiet)
    if file is None:
        console.results([text.encode()])
        return
    with written_whole(file) as opened:
        opened.write(text.encode())
    console.note(f"wrote {file}: {content}")
    if suite and model is None:
        console.note(
            f"the suite has no target; run it with: evenhand run {shlex.quote(file)} --target openai/gpt-5-mini"
        )


def import_prompts(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A file written by `evenhand prompts export`; - is standard input.")
    ],
    *,
    update: Annotated[
        bool, typer.Option("--update", help="Update prompts whose names exist already, after showing what changes.")
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Import prompts with their test cases: all of them, or none if one is invalid.

    Prompts whose names exist already are skipped, and listed. With --update they get a new version and the test cases
    that they lack; no test case is removed, and earlier versions stay. Keys may be written evaluation_mode or
    evaluationMode.
    """
    name = "standard input" if file == "-" else file
    console = Console(quiet=quiet)
    try:
        document = _read_document(file)
        with open_or_empty(db) if dry_run else StoreLocation(db).opened() as store:
            planned = import_document(store, document, dry_run=True, update=update)
            for change in planned.updated:
                _show_update(console, change)
            if planned.updated and not (dry_run or yes):
                _require_yes(console, counted(len(planned.updated), "prompt"))
            imported = planned if dry_run else import_document(store, document, update=update, seen=planned.digest)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    if json:
        console.result(strict_json(imported.as_dict()))
    content = counted(len(imported.created), "new prompt" if update else "prompt")
    content += f" and {counted(len(imported.updated), 'update')}" if update else ""
    content += f" with {counted(imported.test_cases, 'test case')}"
    console.note(
        f"{name} is valid: it has {content} to import; nothing was stored" if dry_run else f"imported {content}"
    )
    why = "it is the same already" if update else "a prompt with that name exists already"
    for skipped in imported.skipped:
        console.note(f"skipped {skipped}: {why}")


def _show_update(console: Console, change: Update) -> None:
    """Show what would change of a prompt."""
    versions = f"version {change.version} to {change.version + 1}" if change.fields else "text unchanged"
    more = f", {counted(change.test_cases, 'new test case')}" if change.test_cases else ""
    console.note(f"{change.name}: {versions}{more}")
    for field, (old, new) in change.fields.items():
        console.note(f"  {field}:")
        for line in differences(old or "", new or ""):
            console.note(f"    {line.sign or ' '} {line.text}")


def _require_yes(console: Console, what: str) -> None:
    question = f"Update {what}?"
    answer = console.confirm(question)
    if answer is None:
        raise ConfigError(f"{question} Cannot ask for confirmation without a terminal; use --yes")
    if not answer:
        console.note("nothing was imported")
        raise typer.Exit


def _document_text(document: Mapping[str, Any]) -> str:
    """Return a document as readable JSON, with characters escaped that a terminal would act on."""
    escapes = {character: f"\\u{character:04x}" for character in (*range(0x7F, 0xA0), 0x2028, 0x2029)}
    return json_text(document, ensure_ascii=False, indent=2).translate(escapes) + "\n"


def _read_document(file: str) -> object:
    if file != "-" and not Path(file).is_file():
        raise ConfigError("there is no such file")
    content = input_bytes().read() if file == "-" else Path(file).read_bytes()
    try:
        return parse_strict(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"byte {error.start + 1} is not UTF-8") from None
    except ContractError as error:
        raise ConfigError(str(error)) from None
