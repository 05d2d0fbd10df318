"""`evenhand tune RUN LABELS`: a better prompt for a judge, from labels by people, measured before it is adopted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.commands.calibrate import given_labels
from evenhand.cli.options import Estimate, RunOptions, RunOrLast
from evenhand.cli.runs.labels import find_to_label
from evenhand.cli.runs.overrides import CommandScope
from evenhand.cli.runs.session import Session, open_session
from evenhand.cli.runs.start import NewRun, start_run
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode
from evenhand.domain.run import RunRecord
from evenhand.engine.store_location import StoreLocation
from evenhand.models.resolve import unasked
from evenhand.reports.phrases import counted
from evenhand.reports.report import Report, written_whole
from evenhand.suites.suite_edit import with_evaluator
from evenhand.tuner.job import TuneJob, all_parts
from evenhand.tuner.prepare import prepare, require_tunable
from evenhand.tuner.result import tuning_of
from evenhand.tuner.settings import FOLDS, HELD_OUT, SEED, SHOWN

_SUITES = (".yaml", ".yml")


def tune(
    ctx: typer.Context,
    run: RunOrLast = "last",
    labels: Annotated[
        str | None,
        typer.Argument(
            metavar="LABELS",
            help="A CSV file of labels, or - for standard input, used instead of those that are stored with the run.",
        ),
    ] = None,
    *,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="The model that writes new instructions; without it, only examples are tried.",
        ),
    ] = None,
    evaluator: Annotated[
        str | None,
        typer.Option("--evaluator", metavar="NAME", help="The evaluator to tune, if the suite has several."),
    ] = None,
    examples: Annotated[
        int, typer.Option("--examples", metavar="N", help="How many examples the judge is shown, 2 to 20.")
    ] = SHOWN,
    held_out: Annotated[
        float, typer.Option("--held-out", metavar="SHARE", help="The share of the labels that is kept to decide.")
    ] = HELD_OUT,
    folds: Annotated[
        int, typer.Option("--folds", metavar="N", help="How many folds the others have, 3 to 10.")
    ] = FOLDS,
    seed: Annotated[int, typer.Option("--seed", metavar="SEED", help="The seed of the split.")] = SEED,
    estimate: Estimate = False,
    options: RunOptions,
) -> ExitCode:
    """Propose a better prompt for a judge, from labels by people.

    Candidates are few-shot examples, chosen from the labelled cases, and new instructions, written by --model from
    those on which judge and people differ. They are compared with the current prompt by nested cross-validation. A
    part of the labels is held out: nothing is made or chosen by it, and it decides in the end. A candidate is adopted
    only if it agrees with people more often there, beyond chance.

    With -o tuned.yaml, the suite is written with the new prompt, if it is adopted; files of other formats have the
    report of the run. The exit codes are those of `evenhand run`: 0 whether a prompt is adopted or not.
    """
    suites = [path for path in options.output or () if path.lower().endswith(_SUITES)]
    options = replace(options, output=[path for path in options.output or () if path not in suites])
    if labels is None and run.lower().endswith(".csv"):
        raise ConfigError(f"{run!r:.200} looks like a file of labels; name the run first: evenhand tune last {run}")
    with (
        open_session(ctx, options) as session,
        unasked(estimate),
        StoreLocation(options.db).opened(to_read=estimate) as store,
    ):
        record = find_to_label(store, run, session.console)
        require_tunable(record)
        _require_writable(record, suites)
        tuning = prepare(
            store,
            record,
            given_labels(store, record, labels),
            evaluator=evaluator,
            model=model,
            held_out=held_out,
            folds=folds,
            examples=examples,
            seed=seed,
            timeout=options.timeout,
        )
        job = tuning.job(store)
        new = NewRun(
            job=job,
            scope=CommandScope(no_cache=options.no_cache),
            outline=outline(tuning),
            announce=lambda expected: [*outline(tuning), expected.in_short],
            notes=lambda: tuning.settings.notes,
            estimated=all_parts(job, store),
            when_done=lambda report: _write_suites(session, report, record, suites),
        )
        return start_run(session, new, options, estimate=estimate, store=store)


def outline(tuning: TuneJob) -> list[str]:
    """Say what a tuning is made of."""
    settings = tuning.settings
    parts = f"{len(settings.open_cases)} to make and choose a prompt in {settings.folds} folds"
    lines = [f"{counted(len(settings.cases), 'labelled case')}: {parts}, {len(settings.held_out_cases)} held out"]
    written = f"{counted(settings.rewrites, 'request')} for instructions, " if settings.rewrites else ""
    return [*lines, f"{written}at most {counted(settings.judgments, 'judgment')}"]


def _require_writable(run: RunRecord, suites: Sequence[str]) -> None:
    """Refuse files that cannot be written in the end, before anything is spent."""
    for path in suites:
        if run.source is None or not Path(run.source).is_file():
            raise ConfigError(f"{path}: run {run.id} has no suite file here that could be written with another prompt")
        if Path(path).absolute().parent != Path(run.source).absolute().parent:
            beside = Path(run.source).with_name(Path(path).name)
            raise ConfigError(
                f"{path}: paths in a suite are seen from its folder; write the new one beside it: {beside}"
            )
        if Path(path).exists():
            raise ConfigError(f"{path} exists; name a file that does not, so that no suite is lost")


def _write_suites(session: Session, report: Report, run: RunRecord, suites: Sequence[str]) -> None:
    if not suites:
        return
    found = tuning_of(report.run, report.results())
    for path in suites:
        if not found.adopted or found.evaluator is None:
            session.console.note(f"{path} was not written: nothing was adopted")
            continue
        text = with_evaluator(_text_of(run.source or ""), found.evaluator, name=run.source or "the suite")
        with written_whole(path) as out:
            out.write(text.encode())
        session.console.note(f"wrote {path}")


def _text_of(suite: str) -> str:
    try:
        return Path(suite).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{suite}: the suite cannot be read: {error}") from None
