"""`evenhand drift`: whether a judge has changed, on the same answers then and now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from evenhand.cli.commands.calibrate import given_labels
from evenhand.cli.console import Console
from evenhand.cli.options import ComparisonFiles, Estimate, PaceOptions
from evenhand.cli.runs.finish import code_of, report_of, tell_end
from evenhand.cli.runs.labels import find_to_label
from evenhand.cli.runs.session import Session, open_session, pace_of
from evenhand.cli.runs.start import require_known_prices, show_estimate
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.estimate import forecast
from evenhand.engine.plan import plan
from evenhand.engine.store_location import StoreLocation
from evenhand.models.resolve import unasked
from evenhand.profiles.job import require_suite
from evenhand.reports.drift import chance_sentence, drift_json, drift_text, outcome_sentence
from evenhand.reports.drift_file import drift_writer, write_drift
from evenhand.store.store import Store
from evenhand.suites.definition import Definition
from evenhand.suites.drift import (
    anchor_job,
    anchors_of,
    drift_between,
    drift_of,
    is_card,
    limits_of,
    read_card,
    run_of_card,
)
from evenhand.trust.anchors import AnchorSet
from evenhand.trust.drift import DriftReport
from evenhand.trust.limits import TrustLimits

_THEN: Final = (
    "What the judge said then: a run, by its id, the start of it, last or previous; or a judge card such as card.json."
)
Then = Annotated[str, typer.Argument(metavar="THEN", help=_THEN)]
Now = Annotated[
    str | None,
    typer.Argument(metavar="NOW", help="A run that judged the same answers since; without it, they are judged now."),
]
EvaluatorName = Annotated[
    str | None,
    typer.Option("--evaluator", metavar="NAME", help="The drift of this evaluator, not of the cases as a whole."),
]
Labels = Annotated[
    str | None,
    typer.Option("--labels", metavar="FILE", help="A CSV file of labels, instead of those stored with THEN."),
]
MaxDrop = Annotated[
    float | None,
    typer.Option(
        "--max-drop",
        metavar="SHARE",
        help="By how much the agreement with people may fall: by default the suite's trust.max_drop, else 0.05.",
    ),
]
UsualFlips = Annotated[
    float | None,
    typer.Option(
        "--usual-flips",
        metavar="SHARE",
        help="Which share of verdicts differs between two runs of an unchanged judge; 0.06 by default.",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 103 if it is undecided, too.")]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Compare what can be compared, even if answers or definitions have changed.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftOptions:
    """What is compared, by which limits, and where the result goes."""

    evaluator: EvaluatorName = None
    labels: Labels = None
    max_drop: MaxDrop = None
    usual_flips: UsualFlips = None
    strict: Strict = False
    anyway: Anyway = False
    estimate: Estimate = False
    files: ComparisonFiles = None


def drift(
    ctx: typer.Context, then: Then = "last", now: Now = None, *, wanted: DriftOptions, options: PaceOptions
) -> ExitCode:
    """Say whether a judge has changed.

    The answers that people labelled, the anchors, are judged again by the same judge, past the cache, in a run of
    their own; with a second run, two runs are compared. The outcome is ok, drifted or undecided, by the change of
    agreement with people. Before anything is spent, you are told how likely it is that so many anchors
    would show an unchanged judge to be ok. Without labels, all answers are judged again, and flips are counted.

    Exit codes: 0 ok or undecided; 103 drifted; 2 usage or configuration, also if answers or definitions have changed;
    those of `evenhand run` if the anchors could not all be judged.
    """
    for path in wanted.files or ():
        drift_writer(path)
    if now is None:
        with open_session(ctx, options) as session, unasked(wanted.estimate):
            return _judge_again(session, then, wanted, options)
    if wanted.estimate:
        raise ConfigError("--estimate is for judging again; with two runs no model is asked")
    console = Console(quiet=options.quiet)
    with StoreLocation(options.db).opened(to_read=True) as store:
        record = store.runs.find(now)
        _, anchors = _anchors(store, then, wanted, console)
        report = _compared(store, anchors, record, wanted)
    return _show(report, console, wanted, json=options.json)


def _judge_again(session: Session, then: str, wanted: DriftOptions, options: PaceOptions) -> ExitCode:
    """Judge the anchors again in a run of their own, and compare."""
    with StoreLocation(options.db).opened(to_read=True) as store:
        if not wanted.estimate:
            store.require_writable()
        run, anchors = _anchors(store, then, wanted, session.console)
        if run is None:
            raise ConfigError(
                f"{then} is the card of run {anchors.run}, which is not in this database, so its answers are not here; "
                f"name a run that judged them since: evenhand drift {then} last"
            )
        require_suite(run)
        limits = limits_of(run, max_drop=wanted.max_drop, usual_flips=wanted.usual_flips)
        job, scope = anchor_job(store, run, anchors)
        job = replace(job, timeout=options.timeout or job.timeout)
        expected = None
        if wanted.estimate or options.max_cost is not None:
            expected = forecast(store, job, scope, use_cache=False)
        chance = chance_sentence(limits, len(anchors.cases), labelled=anchors.labelled)
        if wanted.estimate and expected is not None:
            show_estimate(session, expected, [chance])
            return ExitCode.OK
        if options.max_cost is not None and expected is not None:
            require_known_prices(expected, job.definition)
        session.console.note(chance)
        session.require_reachable()
        planned = plan(store, job, scope)
        pace = pace_of(replace(options, no_cache=True), Definition(run.definition).concurrency)
        ended = session.judge(store, planned, job, pace)
        if ended.status is not RunStatus.FINISHED:
            tell_end(ended, session.console, session.resume_command(ended))
            session.console.error(f"then compare with: evenhand drift {then} {ended.id}")
            return code_of(report_of(store, ended))
        report = _compared(store, anchors, ended, wanted)
    if options.quiet and not options.json:
        session.console.result(ended.id)
    return _show(report, session.console, wanted, json=options.json)


def _anchors(store: Store, then: str, wanted: DriftOptions, console: Console) -> tuple[RunRecord | None, AnchorSet]:
    """Return the anchors as they were judged then, and the run that has them, if it is here."""
    if is_card(then):
        anchors = read_card(then)
        for name, given in (("--labels", wanted.labels), ("--evaluator", wanted.evaluator)):
            if given is not None and given != anchors.evaluator:
                raise ConfigError(f"{name} is for a run; the card {then} has its labels and its evaluator in it")
        return run_of_card(store, anchors), anchors
    run = store.runs.find(then)
    if drift_of(run) is None:  # else it is refused, with the run that is meant
        run = find_to_label(store, then, console)
    require_suite(run)
    evaluator = wanted.evaluator or TrustLimits.of(run.definition.get("trust")).evaluator
    return run, anchors_of(store, run, evaluator=evaluator, labels=given_labels(store, run, wanted.labels))


def _compared(store: Store, anchors: AnchorSet, now: RunRecord, wanted: DriftOptions) -> DriftReport:
    limits = limits_of(now, max_drop=wanted.max_drop, usual_flips=wanted.usual_flips)
    return drift_between(store, anchors, now, limits, anyway=wanted.anyway)


def _show(report: DriftReport, console: Console, wanted: DriftOptions, *, json: bool) -> ExitCode:
    files: Sequence[str] = wanted.files or ()
    for path in files:
        write_drift(report, path)
        console.note(f"wrote {path}")
    if json:
        console.result(drift_json(report))
    elif not files and not console.quiet:
        console.result(drift_text(report, width=console.width))
    failed = report.drifted or (wanted.strict and report.outcome != "ok")
    if failed and (files or json or console.quiet):
        console.error(outcome_sentence(report))
    return ExitCode.JUDGE_NOT_TRUSTED if failed else ExitCode.OK
