"""`evenhand audit DESIGN`: what a judge makes of attributes that must not matter, over profiles made by design."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from evenhand.cli.console import Console
from evenhand.cli.groups import example
from evenhand.cli.options import (
    DB,
    Concurrency,
    Db,
    Estimate,
    Json,
    Judge,
    LogFile,
    MaxCalls,
    MaxCost,
    NoCache,
    NoEnvFile,
    OutageTimeout,
    Output,
    Quiet,
    Repeat,
    RunOptions,
    Timeout,
    Verbose,
)
from evenhand.domain.gates import ExitCode

_RUN = "run"


class RunByDefault(TyperGroup):
    """A group that takes what is none of its commands for a design to be run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command in that runs a design, unless another one or help is asked for."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_RUN, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=RunByDefault,
    no_args_is_help=True,
    help="Audit a judge: does it score people by what must not matter?",
    epilog=example("evenhand audit design.yaml", "evenhand audit diff 20261115-093000-k7mq last"),
)


@app.command(_RUN, epilog=example("evenhand audit run design.yaml --judge openai/gpt-5-mini --artifacts audit-1"))
def audit(
    ctx: typer.Context,
    design: Annotated[str, typer.Argument(metavar="DESIGN", help="A YAML file with template, factors and groups.")],
    *,
    judge: Judge = None,
    max_attempts: Annotated[
        int,
        typer.Option(
            "--max-attempts", metavar="N", min=1, help="How many replies the judge may give until one can be used."
        ),
    ] = 3,
    repeat: Repeat = None,
    estimate: Estimate = False,
    artifacts: Annotated[
        str | None,
        typer.Option("--artifacts", metavar="DIR", help="Keep everything in a folder: texts, replies, report …."),
    ] = None,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    outage_timeout: OutageTimeout = None,
    max_cost: MaxCost = None,
    max_calls: MaxCalls = None,
    no_cache: NoCache = False,
    output: Output = None,
    db: Db = DB,
    quiet: Quiet = False,
    json: Json = False,
    verbose: Verbose = False,
    log_file: LogFile = None,
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Audit a judge over profiles made by a design.

    `evenhand audit DESIGN` is the short form. Every combination of levels becomes a profile, or a fraction of them
    where there would be too many. The judge scores each from 0 to 10, several times. The report has what each level
    does to the score, where a group is treated differently by another attribute, and impact ratios. It is a run like
    any other: see `evenhand report` and `evenhand resume`. The exit codes are those of `evenhand run`; a gate of the
    design that is missed ends with 100.
    """
    manner = RunOptions(
        concurrency=concurrency, timeout=timeout, outage_timeout=outage_timeout, max_cost=max_cost,
        max_calls=max_calls, no_cache=no_cache,
        output=output, db=db, quiet=quiet, json=json, verbose=verbose, log_file=log_file,
    )  # fmt: skip
    from evenhand.cli.runs.profiles import AuditRequest, audit_all

    wanted = AuditRequest(
        design=design,
        judge=judge,
        max_attempts=max_attempts,
        repeat=repeat,
        estimate=estimate,
        artifacts=artifacts,
    )
    raise typer.Exit(audit_all(ctx, wanted, manner))


@app.command("diff", epilog=example("evenhand audit diff 20261115-093000-k7mq last -o diff.md"))
def diff_audits(
    a: Annotated[str, typer.Argument(metavar="A", help="The audit to start from: its id, or how that begins.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The audit to hold against it; last is the newest.")] = "last",
    *,
    files: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to a file: .md or .json. Then nothing is shown."),
    ] = None,
    fail_if_worse: Annotated[
        bool,
        typer.Option("--fail-if-worse", help="End with 100 if a group matters more in B, or has no score there."),
    ] = False,
    db: Db = DB,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Tell which effects differ between two audits.

    They are of the same design, such as of two judges. Profiles are paired. Audits of different designs are refused,
    with what differs.
    """
    from evenhand.profiles.audit.audit import Audit
    from evenhand.profiles.audit.diff import diff_json, diff_text, diff_writer, write_diff

    for path in files or ():
        diff_writer(path)
    console = Console(quiet=quiet)
    found = Audit.open(a, store=db).diff(Audit.open(b, store=db))
    for path in files or ():
        write_diff(found, path)
        console.note(f"wrote {path}")
    if json:
        console.result(diff_json(found))
    elif not files and not quiet:
        console.result(diff_text(found, width=console.width))
    if fail_if_worse and found.is_worse:
        raise typer.Exit(ExitCode.GATE_FAILED)


@app.command("artifacts", epilog=example("evenhand audit artifacts last audit-1"))
def keep_artifacts(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The audit: its id, or how that begins, or last.")],
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder: new, empty, or of an earlier audit.")],
    *,
    db: Db = DB,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 - noted when it was read
    no_env_file: NoEnvFile = False,  # noqa: ARG001 - done when it was read
) -> None:
    """Keep everything of an audit in a folder.

    There is what was shown to the judge, every reply, what was made of it, the report, and by what all was made.
    """
    from evenhand.profiles.audit.audit import Audit

    Audit.open(run, store=db).save_artifacts(folder)
    Console(quiet=quiet).note(f"wrote {folder}")
