"""The end of a run: its report on the terminal and in files, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evenhand.cli.console import Console
from evenhand.domain.early_decision import gate_results, stopped_decided
from evenhand.domain.exit_code import ExitCode, exit_code
from evenhand.domain.failure import Failure
from evenhand.domain.gates import Gates
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.never_scored import NEVER_SCORED
from evenhand.engine.overview import overview_of, report_from
from evenhand.models.retry import BUDGET
from evenhand.profiles.job import is_audit
from evenhand.profiles.modes import ReportKind, report_kind_of
from evenhand.reports.json import SCHEMA_VERSION, run_row, summary_row, target_rows
from evenhand.reports.phrases import counted
from evenhand.reports.report import Report, write
from evenhand.reports.safe_text import strict_json
from evenhand.store.store import Store
from evenhand.tuner.settings import is_tuning


def report_of(store: Store, run: RunRecord) -> Report:
    """Make the report of a run from what is stored alone."""
    overview = overview_of(store, run)
    gates = gate_results(run, overview.summary)
    report = report_from(store, run, overview, gates)
    if is_audit(run.definition):
        from evenhand.profiles.audit.report import audit_of  # noqa: PLC0415 - it loads numpy

        report = replace(report, gates=gates + audit_of(report).gates)
    return report


def _kind_of(report: Report) -> ReportKind | None:
    """Return how a run is reported; None where it is reported like every other."""
    if not is_tuning(report.run.definition):
        return report_kind_of(report.run.definition)
    from evenhand.tuner import report as tune_report  # noqa: PLC0415 - for such runs only

    return tune_report


def show(report: Report, console: Console, *, json: bool = False, html_written: bool = False) -> None:
    """Print a report: for people, or as one JSON object for programs."""
    kind = _kind_of(report)
    if json:
        document = {
            "schema_version": SCHEMA_VERSION,
            "run": run_row(report.run),
            "summary": summary_row(report.summary),
            "gates": [gate.as_dict() for gate in report.gates],
            **target_rows(report),
        }
        console.result(strict_json(document if kind is None else document | kind.rows(report)))
        return
    from evenhand.reports.terminal import terminal  # noqa: PLC0415 - it loads rich

    writer = terminal if kind is None else kind.terminal
    console.result(writer(report, width=console.width, colour=console.colour, html_written=html_written))


def write_files(report: Report, outputs: Sequence[str], console: Console) -> None:
    """Write the report to files; that of an unfinished run has the cases judged so far."""
    pending = report.summary.cases.pending
    partial = f", without {counted(pending, 'case')} not judged yet" if pending else ""
    kind = _kind_of(report)
    for path in outputs:
        (write if kind is None else kind.write)(report, path)
        console.note(f"wrote {path}{partial}")


def code_of(report: Report) -> ExitCode:
    """Return the exit code of a run that ended (SPEC-S8)."""
    run = report.run
    stopped = run.status is RunStatus.STOPPED
    kind = Failure.of(run.reason).kind if stopped else ""
    decided = stopped_decided(run)
    code = exit_code(
        report.summary,
        Gates.of(run.definition.get("gates")),
        gate_results(run, report.summary),
        interrupted=run.status is RunStatus.INTERRUPTED,
        usage=stopped and not decided and kind not in (BUDGET, NEVER_SCORED),
        budget_reached=kind == BUDGET,
        never_scored=kind == NEVER_SCORED,
    )
    # Audits have gates that only their report knows of.
    return ExitCode.GATE_FAILED if code is ExitCode.OK and not all(gate.ok for gate in report.gates) else code


def finish(report: Report, console: Console, *, resume_command: str, outputs: Sequence[str], json: bool) -> ExitCode:
    """Show the result of a run, write its reports, and return the exit code."""
    if json or not console.quiet:
        show(report, console, json=json, html_written=any(path.lower().endswith(".html") for path in outputs))
    else:
        console.result(report.run.id)
    write_files(report, outputs, console)
    run = report.run
    if run.status is RunStatus.INTERRUPTED:
        console.error(f"interrupted; resume with: {resume_command}")
    elif run.status is not RunStatus.FINISHED and not stopped_decided(run):
        _tell_stop(Failure.of(run.reason), console, resume_command, is_told=not json and console.shows_results)
    return code_of(report)


def _tell_stop(reason: Failure, console: Console, resume_command: str, *, is_told: bool) -> None:
    """Say why a run stopped, unless the report did on the same terminal, and how to resume it."""
    never_scored = reason.kind == NEVER_SCORED
    why = "" if is_told else f": {reason.message if never_scored else reason}"
    if never_scored:  # its errors are of no use once it works
        console.error(f"the run stopped{why}\nFix the cause, then resume with: {resume_command} --retry-errors")
    else:
        console.error(f"the run stopped{why}; resume with: {resume_command}")
