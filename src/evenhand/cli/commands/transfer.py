"""`evenhand export RUN`, `import FILE`, `import-results FILE`, `export-results RUN`: runs from and to elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.console import Console, input_bytes
from evenhand.cli.options import DB, Db, DryRun, ExportFile, Quiet, RunId
from evenhand.domain.errors import ConfigError
from evenhand.engine.store_location import StoreLocation, open_or_empty
from evenhand.profiles.imported import case_check
from evenhand.reports.phrases import counted
from evenhand.reports.report import written_whole
from evenhand.store.transfer import export_lines, import_lines, lines_of


def export(run: RunId, *, file: ExportFile = None, db: Db = DB, quiet: Quiet = False) -> None:
    """Write a complete run to one file.

    The file is for `evenhand import`, or for programs. Its first line has the run, each further line a case with its
    answers and evaluations of all rounds, as JSON. It contains prompts and answers, but no keys.
    """
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        record = store.runs.find(run)
        if file is None:
            console.results(export_lines(store, record))
            return
        with written_whole(file) as opened:
            opened.writelines(export_lines(store, record))
    console.note(f"wrote {file}: run {record.id}, {counted(record.cases, 'case')}")


def import_run(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A file written by `evenhand export`; - is standard input.")
    ],
    *,
    dry_run: DryRun = False,
    db: Db = DB,
    quiet: Quiet = False,
) -> None:
    """Import a run that was exported elsewhere.

    All of it is imported, or nothing if one line is wrong. No code that the run names is loaded or run: to resume a run
    that would run programs or use its own servers, `evenhand resume` requires --trust.
    """
    name = "standard input" if file == "-" else file
    console = Console(quiet=quiet)
    with contextlib.ExitStack() as stack:
        if file == "-":
            source = input_bytes()
        else:
            if not Path(file).is_file():
                raise ConfigError(f"{file}: there is no such file")
            source = stack.enter_context(Path(file).open("rb"))
        store = stack.enter_context(open_or_empty(db) if dry_run else StoreLocation(db).opened())

        def from_the_start() -> Iterator[bytes]:
            source.seek(0)
            return lines_of(source)

        # What comes through a pipe comes once.
        lines = lines_of(source) if file == "-" else from_the_start
        imported = import_lines(store, lines, name=name, dry_run=dry_run, check=case_check)
    is_renamed = imported.id != imported.original_id
    renamed = f"; here its id is {imported.id}, since {imported.original_id} exists already" if is_renamed else ""
    content = f"{counted(imported.cases, 'case')} and {counted(imported.evaluations, 'evaluation')} of {imported.name}"
    if dry_run:
        console.note(f"{name} is valid: {content}{renamed}; nothing was stored")
    else:
        console.note(f"imported {content}{renamed}")
        console.result(imported.id)


def import_results(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Results of promptfoo (.json, .jsonl), or a log of Inspect (.eval, .json)."
        ),
    ],
    *,
    again: Annotated[bool, typer.Option("--again", help="Import the file even if it was imported before.")] = False,
    dry_run: DryRun = False,
    db: Db = DB,
    quiet: Quiet = False,
) -> None:
    """Import results that promptfoo or Inspect recorded.

    They become a finished run, with the scores and verdicts in the file; no model is asked. Anything that could not be
    imported unchanged is listed on standard error. If a part of the file is wrong, nothing is imported.
    """
    from evenhand.convert.conversion import results_into  # noqa: PLC0415 - it loads the readers of all tools

    console = Console(quiet=quiet)
    with open_or_empty(db) if dry_run else StoreLocation(db).opened() as store:
        imported = results_into(store, Path(file), again=again, dry_run=dry_run)
    if not imported.is_new:
        console.note(f"{file} was imported before, as run {imported.id}; use --again to import it again")
        console.result(imported.id)
        return
    for note in imported.notes:
        console.note(note)
    content = f"{counted(imported.cases, 'case')} and {counted(imported.evaluations, 'evaluation')}"
    if dry_run:
        console.note(f"{file} is valid: {content} from {imported.origin}; nothing was stored")
    else:
        console.note(f"imported {content} from {imported.origin}")
        console.result(imported.id)


def export_results(
    run: RunId,
    *,
    to: Annotated[str, typer.Option("--to", metavar="TRACKER", help="The tracker: mlflow or wandb.")],
    experiment: Annotated[
        str | None,
        typer.Option("--experiment", metavar="NAME", help="The experiment of MLflow; by default named like the suite."),
    ] = None,
    uri: Annotated[
        str | None,
        typer.Option("--uri", metavar="URI", help="Where MLflow is; by default what MLFLOW_TRACKING_URI says."),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="The project of W&B; by default named like the suite."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Export the run even if it was exported before.")] = False,
    db: Db = DB,
    quiet: Quiet = False,
) -> None:
    """Send the results of a run to MLflow or Weights & Biases.

    Numbers, settings, a table of the evaluations and the reports become one run there. They contain answers and
    reasons, but no keys.
    """
    from evenhand.api.exports import TRACKERS, export_results as export  # noqa: PLC0415 - not for other transfers

    console = Console(quiet=quiet)
    exported = export(run, to=to, experiment=experiment, uri=uri, project=project, again=again, store=db)
    where = f"{TRACKERS[exported.tracker]}, {exported.place}"
    if exported.is_new:
        console.note(f"exported to {where}")
    else:
        console.note(f"the run was exported to {where} before; use --again to export it again")
    console.result(exported.id)
