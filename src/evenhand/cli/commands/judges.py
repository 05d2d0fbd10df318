"""`evenhand judges compare`: several judges of the same answers, held against each other and against people."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.cli.commands.calibrate import given_labels
from evenhand.cli.console import Console
from evenhand.cli.options import DB, RUN_HELP, ComparisonFiles, Db, Json, Quiet
from evenhand.cli.runs.labels import find_to_label
from evenhand.engine.judge_panel import compare_judges_of
from evenhand.engine.store_location import StoreLocation
from evenhand.profiles.job import require_suite
from evenhand.reports.judges import judges_json, judges_text
from evenhand.reports.judges_file import judges_writer, write_judges
from evenhand.trust.judge_panel import MARGIN


def compare_judges(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help=f"Runs that judged the same answers, or one whose evaluators did: {RUN_HELP}"
        ),
    ],
    *,
    evaluator: Annotated[
        str | None,
        typer.Option("--evaluator", metavar="NAME", help="Compare this evaluator of the runs, not whole cases."),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option("--labels", metavar="FILE", help="A CSV file of labels, instead of those stored with the runs."),
    ] = None,
    margin: Annotated[
        float,
        typer.Option("--margin", metavar="SHARE", help="How far below the best judge a cheaper one may be."),
    ] = MARGIN,
    anyway: Annotated[bool, typer.Option("--anyway", help="Leave out cases whose answers differ.")] = False,
    files: ComparisonFiles = None,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare several judges of the same answers.

    The judges are those of several runs over the same answers, the evaluators of one run, or the members of its only
    jury. The report shows how often each pair of them agrees and what a judgment costs. With labels by people, it also
    shows how often each is right, which is the cheapest within a margin of the best, and what a jury of them gains
    over its best member. No judge is asked.
    """
    for path in files or ():
        judges_writer(path)
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        records = [store.runs.find(name) for name in runs]
        if len(runs) == 1:
            records = [find_to_label(store, runs[0], console)]
        for record in records:
            require_suite(record)
        given = given_labels(store, records[0], labels)
        found = compare_judges_of(
            store, records, evaluator=evaluator, labels=given, margin=margin, anyway=anyway
        )  # fmt: skip
    for path in files or ():
        write_judges(found, path)
        console.note(f"wrote {path}")
    if json:
        console.result(judges_json(found))
    elif not files and not quiet:
        console.result(judges_text(found, width=console.width))
