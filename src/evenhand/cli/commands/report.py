"""`evenhand report`, `show` and `compare`: show a run, a case of it, or one run against another."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import Annotated, Final

import typer

from evenhand.api.runs import compare as compare_runs
from evenhand.cli.console import Console
from evenhand.cli.options import (
    DB,
    OUTPUT_HELP,
    RUN_HELP,
    Canonical,
    ComparisonFiles,
    Db,
    Json,
    Quiet,
    RunOrLast,
    display_name,
)
from evenhand.cli.runs.finish import report_of, show, write_files
from evenhand.domain.comparison import Comparison, RunsComparison, TargetComparison
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.engine.run import Run
from evenhand.engine.store_location import StoreLocation
from evenhand.engine.targets.several import TEST_CASE
from evenhand.reports.comparison import (
    MOST_CASES,
    AnyComparison,
    comparison_json,
    comparison_text,
)
from evenhand.reports.comparison_file import comparison_writer, write_comparison
from evenhand.reports.json import case_row, write_canonical
from evenhand.reports.report import format_of
from evenhand.reports.safe_text import strict_json
from evenhand.store.results import case_ids, case_result
from evenhand.store.store import Store


def report(
    ctx: typer.Context,
    run: RunOrLast = "last",
    *,
    canonical: Canonical = False,
    # Not called output here: that is a setting of other commands, which have something to show besides.
    files: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="FILE", help=f"{OUTPUT_HELP} Then nothing is printed."),
    ] = None,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the report of a run, or write it to files.

    Everything comes from the database: no judge is asked, and no code of the suite runs. Two runs with the same results
    have the same canonical report, byte for byte.
    """
    if canonical and files:
        flag = display_name(ctx, "canonical")
        raise ConfigError(f"{flag} prints to standard output; leave out --output, and write > FILE")
    for path in files or ():
        format_of(path)
    console = Console(quiet=quiet)
    with StoreLocation(db).opened(to_read=True) as store:
        found = store.runs.find(run)
        stored = report_of(store, replace(found, status=store.runs.actual_status(found)))
        if canonical:
            write_canonical(report_of(store, found), console.out)
        elif files:
            write_files(stored, files, console)
        if json or not (canonical or files):
            show(stored, console, json=json)


def show_case(
    case: Annotated[str, typer.Argument(metavar="CASE", help="The id of the case.")],
    run: RunOrLast = "last",
    *,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Show the prompts and the replies of the judge, too.")
    ] = False,
    db: Db = DB,
    json: Json = False,
) -> None:
    """Show a case of a run: question, answer and every verdict.

    Texts are shown in full: the question, the context, the answer of each sample, the reference, and of each evaluator
    the verdict with its reasons, errors and retries. In a run of several models, the id of a test case shows what each
    of them answered. With --json, each case is one line, as in a JSONL report.
    """
    console = Console()
    with StoreLocation(db).opened(to_read=True) as store:
        record = store.runs.find(run)
        results = _cases_called(store, record, case)
    if json:
        for result in results:
            console.result(strict_json(case_row(result)))
        return
    from evenhand.profiles.case_view import case_view  # noqa: PLC0415 - not for reports and comparisons
    from evenhand.reports.terminal_case import terminal_case  # noqa: PLC0415 - it loads rich

    texts = [
        terminal_case(case_view(result, record), record, prompts=prompts, width=console.width, colour=console.colour)
        for result in results
    ]
    console.result("\n".join(texts))


# Among how many ids the nearest are looked for, and of how long a word.
_MOST_IDS: Final = 10_000
_MOST_GUESSED: Final = 80


def _cases_called(store: Store, run: RunRecord, name: str) -> list[CaseResult]:
    """Return the case with an id, or the cases of the test case that several models answered."""
    if (result := case_result(store, run, name)) is not None:
        return [result]
    answered = (case_result(store, run, each) for each in case_ids(store, run, _MOST_IDS, start=f"{name} "))
    results = [each for each in answered if each is not None and each.case.metadata.get(TEST_CASE) == name]
    if results:
        return results
    ids = case_ids(store, run, _MOST_IDS)
    near = difflib.get_close_matches(name[:_MOST_GUESSED], ids, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    if not hint and ids:
        hint = f"; its first cases are {', '.join(map(repr, ids[:3]))}"
    raise ConfigError(f"run {run.id} has no case {name!r:.200}{hint}")


_DEFAULT_LIMIT: Final = 10


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=f"The baseline: {RUN_HELP}")],
    b: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="B",
            help="The run to compare with it; without it, the targets of A are compared. With several, each is "
            "compared with A.",
        ),
    ] = None,
    *,
    evaluator: Annotated[
        str | None, typer.Option("--evaluator", metavar="NAME", help="Compare by this evaluator, not by whole cases.")
    ] = None,
    # Not called limit here: that is a setting of other commands, and means something else.
    max_changes: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=0,
            show_default=False,
            help=f"How many changed cases to list, largest changes first; {_DEFAULT_LIMIT} by default, "
            f"{MOST_CASES} in HTML.",
        ),
    ] = None,
    files: ComparisonFiles = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare runs that are unfinished, or were answered or judged differently.")
    ] = False,
    model_a: Annotated[
        str | None, typer.Option("--model-a", metavar="NAME", help="Which model to compare, if run A has several.")
    ] = None,
    model_b: Annotated[
        str | None, typer.Option("--model-b", metavar="NAME", help="Which model to compare, if run B has several.")
    ] = None,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="Exit with 100 if B is significantly worse.")
    ] = False,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Compare two runs, case by case.

    Is run B better than run A? Cases are paired by their ids. The report has the difference with its confidence
    interval, a significance test, wins and losses, and the cases that changed; if there is too little data, it says so.
    Runs judged by different judges, evaluators or rubrics are refused. A run of one model is compared with the answers
    of the same model in a run of several.

    With one run that has several targets, each of them is compared with the first, or with that of --model-a. With more
    than two runs, each is compared with A; p values are corrected for how many there are.
    """
    for path in files or ():
        comparison_writer(path)
    console = Console(quiet=quiet)
    limit = _DEFAULT_LIMIT if max_changes is None else max_changes
    comparison: AnyComparison
    if not b:
        comparison = _targets_of(a, db, baseline=model_a, other=model_b, evaluator=evaluator)
    elif len(b) > 1:
        first, second, *more = b
        comparison = compare_runs(
            a, first, second, *more, evaluator=evaluator, anyway=anyway, model_a=model_a, model_b=model_b, store=db
        )
    else:
        # An HTML file has room for more changes; the largest come first, so the others take the beginning of them.
        most = MOST_CASES if max_changes is None and any(map(_is_html, files or ())) else limit
        comparison = compare_runs(
            a, b[0], evaluator=evaluator, limit=most, anyway=anyway, model_a=model_a, model_b=model_b, store=db
        )
    whole = comparison
    if isinstance(comparison, Comparison):
        comparison = replace(comparison, changes=comparison.changes[:limit])
    for path in files or ():
        write_comparison(whole if _is_html(path) else comparison, path)
        console.note(f"wrote {path}")
    if json:
        console.result(comparison_json(comparison))
    elif not files and not quiet:
        console.result(comparison_text(comparison, width=console.width))
    if fail_if_worse and isinstance(comparison, RunsComparison) and comparison.refused:
        raise ConfigError(
            f"--fail-if-worse needs all runs to be comparable; not compared: {', '.join(comparison.refused)}"
        )
    if isinstance(comparison, Comparison):
        is_worse = comparison.subject.worse or comparison.subject.fails_more
    else:
        is_worse = bool(comparison.worse)
    return ExitCode.GATE_FAILED if fail_if_worse and is_worse else ExitCode.OK


def _is_html(path: str) -> bool:
    return path.lower().endswith(".html")


def _targets_of(
    name: str, db: str, *, baseline: str | None, other: str | None, evaluator: str | None
) -> TargetComparison:
    """Compare the targets of one run."""
    if other is not None:
        raise ConfigError(f"--model-b is for a run B: name it, even if it is the same, as in: compare {name} {name}")
    run = Run.open(name, store=db)
    if (compared := run.compare_targets(baseline=baseline, evaluator=evaluator)) is None:
        raise ConfigError(f"run {run.id} has one target, and so nothing to compare; name a second run")
    return compared
