"""`evenhand label RUN`: labels by people, drawn at random: in a file, or in the terminal."""

from __future__ import annotations

import io
import shlex
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.console import Console, input_bytes
from evenhand.cli.label_session import LabelSession
from evenhand.cli.login_name import login_name
from evenhand.cli.options import DB, Db, Json, Quiet, RunOrLast
from evenhand.cli.runs.labels import find_to_label
from evenhand.domain.errors import ConfigError, NotFoundError
from evenhand.domain.label import NOT_A_RATER, Draw, is_rater
from evenhand.domain.run import RunRecord
from evenhand.engine.store_location import StoreLocation, run_command
from evenhand.labels.draw import draw_words, make_draw, require_answers
from evenhand.labels.file import AddedLabels, add_labels_file, write_labels
from evenhand.labels.undecided import undecided_queue
from evenhand.reports.phrases import counted
from evenhand.reports.report import written_whole
from evenhand.reports.safe_text import plain, strict_json
from evenhand.store.store import Store


def label(
    run: RunOrLast = "last",
    *,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="N", min=1, help="Draw N cases at random; the draw is stored.")
    ] = None,
    uncertain: Annotated[
        float | None,
        typer.Option("--uncertain", metavar="SHARE", help="The share of the draw where the judge is unsure, 0 to 0.9."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="S", min=0, help="The seed of the draw; a random one by default.")
    ] = None,
    evaluator: Annotated[
        str | None,
        typer.Option("--evaluator", metavar="NAME", help="Label what this evaluator judges, not the whole case."),
    ] = None,
    undecided: Annotated[
        bool, typer.Option("--undecided", help="Label the cases that a cascade has left to people.")
    ] = False,
    # Not called output: that is a setting of other commands, and means reports.
    file: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write a CSV file to fill in, and stop.")
    ] = None,
    from_file: Annotated[
        str | None, typer.Option("--from", metavar="FILE", help="Store the labels of a CSV file; - is standard input.")
    ] = None,
    rater: Annotated[
        str | None, typer.Option("--rater", metavar="NAME", help="Who labels; your login name by default.")
    ] = None,
    show_judge: Annotated[
        bool, typer.Option("--show-judge", help="In the terminal, show what the judge said after each label.")
    ] = False,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Label answers of a run by hand, drawn at random.

    Labels by people show how far the judge can be trusted. --sample draws cases and stores the draw. With -o it is
    written to a CSV file: fill in the column human (pass, fail, or a score from 0 to 1) and read it back with --from.
    Without a file, the cases are shown one by one in the terminal, and every label is stored at once. What the judge
    said is not shown before you have decided. With --json, the labels of the run are printed.

    --undecided takes the cases that a cascade has left to people instead of a draw. Their labels count as not drawn.

    These are labels by people; what a run is called is set with `evenhand runs label`.
    """
    _check_options(
        from_file=from_file,
        json=json,
        others={
            "--sample": sample,
            "--output": file,
            "--uncertain": uncertain,
            "--seed": seed,
            "--undecided": undecided or None,
        },
    )
    if undecided and sample is not None:
        raise ConfigError("--undecided and --sample cannot be given together: what is left to people is not drawn")
    if sample is None and (uncertain is not None or seed is not None):
        raise ConfigError("--uncertain and --seed say how to draw; give --sample N too")
    if rater is not None and not is_rater(rater.strip()):
        raise ConfigError(f"--rater is {rater!r:.120}; {NOT_A_RATER}")
    name = None if rater is None else rater.strip()
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        record = find_to_label(store, run, console)
        if json:
            console.result(strict_json([each.as_dict() for each in store.labels.of(record)]))
            return
        require_answers(record)
        if from_file is not None:
            store.require_writable()
            _note_added(console, _add(store, record, from_file, name), record)
        else:
            left = undecided_queue(store, record, rater=name or "", evaluator=evaluator).draw if undecided else None
            draw = left or _draw(
                console, store, record, sample=sample, uncertain=uncertain, seed=seed, evaluator=evaluator
            )
            if file is not None:
                _write(
                    console,
                    store,
                    record,
                    file,
                    draw=draw,
                    evaluator=evaluator,
                    rater=name,
                    is_new=sample is not None or undecided,
                    has_chances=not undecided,
                )
            else:
                store.require_writable()
                LabelSession(
                    console,
                    store,
                    record,
                    rater=name or login_name(),
                    evaluator=evaluator,
                    shows_judge=show_judge,
                    undecided=left,
                ).run()


def _check_options(*, from_file: str | None, json: bool, others: dict[str, object]) -> None:
    first = "--from" if from_file is not None else "--json" if json else None
    given = [flag for flag, value in others.items() if value is not None]
    if first and given:
        raise ConfigError(f"{first} and {given[0]} cannot be given together")
    if from_file is not None and json:
        raise ConfigError("--from and --json cannot be given together")


def _draw(
    console: Console,
    store: Store,
    run: RunRecord,
    *,
    sample: int | None,
    uncertain: float | None,
    seed: int | None,
    evaluator: str | None,
) -> Draw | None:
    if sample is None:
        return store.labels.draw(run, evaluator)
    draw = make_draw(store, run, sample=sample, uncertain=uncertain, seed=seed, evaluator=evaluator)
    for words in draw_words(draw):
        console.note(words)
    if draw.size < sample:
        console.note(f"there are no more than {counted(draw.size, 'case')} to draw, so all were drawn")
    return draw


def _write(
    console: Console,
    store: Store,
    run: RunRecord,
    file: str,
    *,
    draw: Draw | None,
    evaluator: str | None,
    rater: str | None,
    is_new: bool,
    has_chances: bool = True,
) -> None:
    """Write the draw for a person to fill in, or all labels if neither a person nor a draw is asked for."""
    labels = [] if is_new and rater is None else store.labels.of(run, rater=rater, evaluator=evaluator)
    if draw is None and not labels:
        raise NotFoundError(f"run {run.id} has neither a draw nor labels; draw cases with --sample N")
    text = io.StringIO(newline="")
    rows = write_labels(store, run, text, draw=draw, labels=labels, rater=rater or "", has_chances=has_chances)
    with written_whole(file) as out:
        # The mark tells spreadsheets that it is UTF-8.
        out.write(b"\xef\xbb\xbf" + text.getvalue().encode())
    read_back = f"{run_command('label', run.id, store.address)} --from {shlex.quote(file)}"
    console.note(f"wrote {file}: {counted(rows, 'row')}; fill in the column human, then: {read_back}")


def _add(store: Store, run: RunRecord, file: str, rater: str | None) -> AddedLabels:
    if file == "-":
        return add_labels_file(store, run, input_bytes().read(), name="standard input", rater=rater or login_name())
    return add_labels_file(store, run, Path(file), name=file, rater=rater or login_name())


def _note_added(console: Console, added: AddedLabels, run: RunRecord) -> None:
    console.note(
        f"stored {counted(added.stored, 'label')} of run {run.id} by {plain(', '.join(added.raters) or 'nobody')}: "
        f"{added.new:,} new, {added.changed:,} changed; {added.same:,} were stored before, "
        f"{added.empty:,} are not labelled yet"
    )
    if added.not_drawn:
        console.note(
            f"{counted(added.not_drawn, 'label')} without p: stored as not drawn at random, so they do not stand for "
            "the cases that nobody labelled"
        )
