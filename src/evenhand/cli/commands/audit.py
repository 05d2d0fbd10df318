"""`evenhand audit`: what a judge makes of attributes that must not matter, over profiles made by design."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.console import Console
from evenhand.cli.options import (
    DB,
    RUN_HELP,
    AmbiguousReplies,
    AuditDiffFiles,
    Db,
    Estimate,
    Json,
    Judge,
    MaxAttempts,
    MaxRetries,
    Quiet,
    RepeatProfiles,
    RunOptions,
    is_typed,
    require_judge,
)
from evenhand.cli.runs.overrides import CommandScope
from evenhand.cli.runs.session import open_session
from evenhand.cli.runs.start import NewRun, start_run
from evenhand.domain.exit_code import ExitCode
from evenhand.evaluators.asking import check_attempts
from evenhand.evaluators.reading import ASK_AGAIN
from evenhand.models.resolve import unasked
from evenhand.profiles.audit.artifacts import require_free, write_artifacts
from evenhand.profiles.audit.audit import Audit
from evenhand.profiles.audit.design import WHAT, AuditDesign
from evenhand.profiles.audit.diff import diff_json, diff_text, diff_writer, write_diff
from evenhand.profiles.audit.job import audit_job
from evenhand.reports.report import Report
from evenhand.suites.definition import with_paths
from evenhand.suites.document import read_mapping


def run_audit(
    ctx: typer.Context,
    design: Annotated[str, typer.Argument(metavar="DESIGN", help="A YAML file with template, factors and groups.")],
    *,
    judge: Judge = None,
    max_attempts: MaxAttempts = None,
    max_retries: MaxRetries = None,
    ambiguous: AmbiguousReplies = ASK_AGAIN,
    repeat: RepeatProfiles = None,
    estimate: Estimate = False,
    artifacts: Annotated[
        str | None,
        typer.Option("--artifacts", metavar="DIR", help="Save everything in a folder: texts, replies, report, …."),
    ] = None,
    options: RunOptions,
) -> ExitCode:
    """Audit a judge with profiles generated from a design.

    `evenhand audit DESIGN` is the short form. Every combination of levels becomes a profile, or a fraction of them if
    there would be too many. The judge scores each from 0 to 10, several times. The report shows the effect of each
    level on the score, where a group is treated differently depending on another attribute, and impact ratios. The
    result is a run like any other: see `evenhand report` and `evenhand resume`. The exit codes are those of
    `evenhand run`; if a gate of the design fails, the exit code is 100.
    """
    audited = AuditDesign.of(read_mapping(design, what=WHAT), where=design)
    # A judge that was typed takes precedence over the design's; one from the environment is for designs without one.
    judge = require_judge((judge if is_typed(ctx, "judge") else None) or audited.judge or judge, or_in="the design")
    if artifacts is not None:
        require_free(artifacts)
    audit = audit_job(
        audited,
        source=design,
        repetitions=repeat,
        judge=with_paths(judge, Path(design).absolute().parent),
        kept=judge,
        max_attempts=check_attempts(max_attempts, max_retries, where="audit"),
        ambiguous=ambiguous,
        timeout=options.timeout,
    )

    def save(report: Report) -> None:
        if artifacts is not None:
            write_artifacts(report, artifacts)
            session.console.note(f"wrote {artifacts}")

    with open_session(ctx, options) as session, unasked(estimate):
        new = NewRun(
            job=audit.job(),
            scope=CommandScope(repeat=audit.design.repetitions, no_cache=options.no_cache),
            outline=audit.plan(),
            announce=lambda expected: [*audit.plan(), expected.in_short],
            when_done=save,
        )
        return start_run(session, new, options, estimate=estimate)


def diff_audits(
    a: Annotated[str, typer.Argument(metavar="A", help=f"The first audit: {RUN_HELP}")],
    b: Annotated[
        str, typer.Argument(metavar="B", help="The audit to compare with it; the newest by default.")
    ] = "last",
    *,
    files: AuditDiffFiles = None,
    fail_if_worse: Annotated[
        bool,
        typer.Option("--fail-if-worse", help="Exit with 100 if a group matters more in B, or has no score there."),
    ] = False,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Compare the effects of two audits.

    Both must have the same design, such as audits of two judges. Profiles are paired. Audits of different designs are
    refused, and the differences listed.
    """
    for path in files or ():
        diff_writer(path)
    console = Console(quiet=quiet)
    diff = Audit.open(a, store=db).diff(Audit.open(b, store=db))
    for path in files or ():
        write_diff(diff, path)
        console.note(f"wrote {path}")
    if json:
        console.result(diff_json(diff))
    elif not files and not quiet:
        console.result(diff_text(diff, width=console.width))
    return ExitCode.GATE_FAILED if fail_if_worse and diff.is_worse else ExitCode.OK


def save_artifacts(
    run: Annotated[str, typer.Argument(metavar="RUN", help=f"The audit: {RUN_HELP}")],
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder: new, empty, or of the same audit.")],
    *,
    db: Db = DB,
    quiet: Quiet = False,
) -> None:
    """Save everything about an audit in a folder.

    The folder has what the judge was shown, every reply, the scores, the report, and the versions and settings used.
    """
    Audit.open(run, store=db).save_artifacts(folder)
    Console(quiet=quiet).note(f"wrote {folder}")
