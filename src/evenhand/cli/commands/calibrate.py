"""`evenhand calibrate RUN`: how far a judge can be trusted, by labels of people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.apply_marks import apply_marks
from evenhand.cli.console import Console, input_bytes
from evenhand.cli.login_name import login_name
from evenhand.cli.options import DB, ComparisonFiles, Db, Json, Quiet, RunOrLast, Yes
from evenhand.cli.runs.labels import find_to_label, labels_in_suite
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode
from evenhand.domain.label import Label
from evenhand.domain.run import RunRecord
from evenhand.engine.judge_card import card_of
from evenhand.engine.store_location import StoreLocation
from evenhand.labels.file import read_labels_file
from evenhand.reports.judge_card import card_json, card_text, label_lines
from evenhand.reports.judge_card_file import judge_card_writer, write_judge_card
from evenhand.store.store import Store
from evenhand.trust.limits import TrustLimits


def calibrate(
    run: RunOrLast = "last",
    labels: Annotated[
        str | None,
        typer.Argument(
            metavar="LABELS",
            help="A CSV file of labels, or - for standard input, used instead of those that are stored with the run.",
        ),
    ] = None,
    *,
    evaluator: Annotated[
        str | None,
        typer.Option("--evaluator", metavar="NAME", help="The card of this evaluator, not of the cases as a whole."),
    ] = None,
    files: ComparisonFiles = None,
    apply: Annotated[
        str | None,
        typer.Option(
            "--apply", metavar="SUITE", help="Write the proposed pass mark into this suite, after showing what changes."
        ),
    ] = None,
    sure: Annotated[
        bool,
        typer.Option("--sure", help="With --apply: the thresholds of sure verdicts, instead of the best pass mark."),
    ] = False,
    yes: Yes = False,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Say how far the judge of a run can be trusted.

    The judge card, from labels by people, says how often judge and people agree, whether the judge is too strict or
    too lenient, which share of all cases people would pass, which pass mark would be best, and what to do next. A
    number that the labels do not support is left out, with the reason. The labels are those that `evenhand label` has
    stored with the run. Those of a file are checked in the same way and not stored; `evenhand label RUN --from FILE`
    stores them.

    With --apply, the proposed pass mark is written into a suite: what it was chosen on, how good it is on labels that
    it was not chosen on, and the change in the file are shown, and you are asked first. Comments and layout stay.

    If the suite says under trust what its judge must reach, and it does not, the command exits with 103.
    """
    for path in files or ():
        judge_card_writer(path)
    if labels is None and run.lower().endswith(".csv"):
        raise ConfigError(
            f"{run!r:.200} looks like a file of labels; name the run first: evenhand calibrate last {run}"
        )
    _check_options(apply=apply, sure=sure, yes=yes, json=json)
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        record = find_to_label(store, run, console)
        wanted = TrustLimits.of(record.definition.get("trust"))
        given = given_labels(store, record, labels)
        card = card_of(store, record, evaluator=evaluator or wanted.evaluator, labels=given)
    if not card.labels.cases:
        told = [line for line in label_lines(card) if line.startswith("not counted")]
        raise ConfigError("\n".join([f"run {record.id} has no labels that count", *told, card.next_step]))
    for path in files or ():
        write_judge_card(card, path)
        console.note(f"wrote {path}")
    if apply is not None:
        apply_marks(card, apply, console, sure=sure, yes=yes)
    elif json:
        console.result(card_json(card))
    elif not files and not quiet:
        console.result(card_text(card, width=console.width))
    for limit in card.limits:
        if not limit.ok:
            console.note(f"the judge does not reach what the suite demands: {limit.words}")
    return ExitCode.OK if card.trusted else ExitCode.JUDGE_NOT_TRUSTED


def given_labels(store: Store, run: RunRecord, file: str | None) -> list[Label] | None:
    """Return the labels of a file, or of the one that the suite names; None for those that are stored with the run."""
    file = labels_in_suite(run.definition, run.source) if file is None else file
    return None if file is None else _read(store, run, file)


def _check_options(*, apply: str | None, sure: bool, yes: bool, json: bool) -> None:
    if (sure or yes) and apply is None:
        raise ConfigError(f"{'--sure' if sure else '--yes'} is for --apply SUITE; give that, too")
    if apply is not None and json:
        raise ConfigError("--apply and --json cannot be given together")


def _read(store: Store, run: RunRecord, file: str) -> list[Label]:
    if file == "-":
        return read_labels_file(store, run, input_bytes().read(), name="standard input", rater=login_name())
    return read_labels_file(store, run, Path(file), name=file, rater=login_name())
