"""The end of a run: its report on the terminal and in files, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.cli.console import Console
from evenhand.domain.early_decision import gate_results, stopped_decided
from evenhand.domain.exit_code import ExitCode, exit_code, worst
from evenhand.domain.failure import NEVER_SCORED, Failure
from evenhand.domain.gates import Gates
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.run_kind import is_audit, is_doctor
from evenhand.engine.labelled import all_gates, labelled_overview
from evenhand.engine.overview import report_from
from evenhand.models.retry import BUDGET
from evenhand.reports.json import SCHEMA_VERSION, run_row, summary_row, target_rows
from evenhand.reports.phrases import counted, fix_and_resume
from evenhand.reports.report import Report, write
from evenhand.reports.report_kind import report_kind_of
from evenhand.reports.safe_text import strict_json
from evenhand.store.store import Store


def report_of(store: Store, run: RunRecord) -> Report:
    """Make the report of a run from what is stored alone."""
    overview = labelled_overview(store, run)
    gates = all_gates(store, run, overview.summary)
    report = report_from(store, run, overview, gates)
    if is_audit(run.definition):
        from evenhand.profiles.audit.report import with_gates  # noqa: PLC0415 - it loads numpy

        report = with_gates(report)
    return report


def show(report: Report, console: Console, *, json: bool = False, html_written: bool = False) -> None:
    """Print a report: for people, or as one JSON object for programs."""
    kind = report_kind_of(report.run.definition)
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
    kind = report_kind_of(report.run.definition)
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
        (*gate_results(run, report.summary), *(gate for gate in report.gates if gate.kind == "trust")),
        interrupted=run.status is RunStatus.INTERRUPTED,
        usage=stopped and not decided and kind not in (BUDGET, NEVER_SCORED),
        budget_reached=kind == BUDGET,
        never_scored=kind == NEVER_SCORED,
    )
    if is_doctor(run.definition):
        from evenhand.doctor.report import found_in  # noqa: PLC0415 - few runs examine a judge

        return worst((code, ExitCode.JUDGE_NOT_TRUSTED)) if found_in(report).failed else code
    # Audits have gates that only their report knows of.
    return ExitCode.GATE_FAILED if code is ExitCode.OK and not all(gate.ok for gate in report.gates) else code


def finish(report: Report, console: Console, *, resume_command: str, outputs: Sequence[str], json: bool) -> ExitCode:
    """Show the result of a run, write its reports, and return the exit code."""
    if json or not console.quiet:
        show(report, console, json=json, html_written=any(path.lower().endswith(".html") for path in outputs))
    else:
        console.result(report.run.id)
    write_files(report, outputs, console)
    tell_end(report.run, console, resume_command, is_told=not json and console.shows_results)
    return code_of(report)


def tell_end(run: RunRecord, console: Console, resume_command: str, *, is_told: bool = False) -> None:
    """Say why a run that is not finished ended, and how to resume it; ``is_told`` says that a report told why."""
    if run.status is RunStatus.INTERRUPTED:
        _, _, pending = run.reason.partition("it was interrupted; ")
        console.error("; ".join(["interrupted", *([pending] if pending else []), f"resume with: {resume_command}"]))
    elif run.status is not RunStatus.FINISHED and not stopped_decided(run):
        _tell_stop(Failure.of(run.reason), console, resume_command, is_told=is_told)


def _tell_stop(reason: Failure, console: Console, resume_command: str, *, is_told: bool) -> None:
    """Say why a run stopped, unless the report did on the same terminal, and how to resume it."""
    never_scored = reason.kind == NEVER_SCORED
    why = "" if is_told else f": {reason.message if never_scored else reason}"
    if never_scored:
        console.error(f"the run stopped{why}\n{fix_and_resume(resume_command)}")
    else:
        console.error(f"the run stopped{why}; resume with: {resume_command}")
