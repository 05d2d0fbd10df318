"""`evenhand doctor JUDGE`: probes a judge before it is trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from evenhand.cli.options import Estimate, Judge, RunOptions, require_judge
from evenhand.cli.runs.overrides import CommandScope, read_with_overrides
from evenhand.cli.runs.session import open_session
from evenhand.cli.runs.start import NewRun, start_run
from evenhand.doctor.job import Subject, doctor_job
from evenhand.doctor.probe import Limits
from evenhand.domain.errors import ConfigError
from evenhand.domain.exit_code import ExitCode
from evenhand.models.resolve import unasked

_SUITES: Final = (".yaml", ".yml", ".json", ".jsonl")
_LIMITS: Final = Limits()


def _limit(flag: str, words: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(flag, metavar="SHARE", help=words)
    return option


def doctor(
    ctx: typer.Context,
    examined: Annotated[
        str | None,
        typer.Argument(
            metavar="JUDGE", help="A model, such as openai/gpt-5-mini, or a suite, whose judge is examined."
        ),
    ] = None,
    *,
    judge: Judge = None,
    evaluator: Annotated[
        str | None, typer.Option("--evaluator", metavar="NAME", help="Which evaluator of the suite to examine.")
    ] = None,
    probes: Annotated[
        str | None,
        typer.Option("--probes", metavar="NAMES", help="Only these probes, or kinds of them: position,attack."),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            "--size", metavar="N", min=1, help="How many pairs of answers; 30 by default, 12 for embedded models."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="The seed for drawing pairs.")] = 0,
    max_attack_success: Annotated[
        float, _limit("--max-attack-success", "Tolerated share of bad answers that pass with an attack.")
    ] = _LIMITS.max_attack_success,
    max_bias: Annotated[
        float, _limit("--max-bias", "Tolerated share of pairs in which something helps that must not.")
    ] = _LIMITS.max_bias,
    max_inconsistency: Annotated[
        float, _limit("--max-inconsistency", "Tolerated share of verdicts that change when asked again.")
    ] = _LIMITS.max_inconsistency,
    max_error_rate: Annotated[
        float, _limit("--max-error-rate", "Tolerated share of wrong verdicts on plain answers.")
    ] = _LIMITS.max_error_rate,
    max_concentration: Annotated[
        float, _limit("--max-concentration", "Tolerated share of scores within one fifth of the scale.")
    ] = _LIMITS.max_concentration,
    estimate: Estimate = False,
    options: RunOptions,
) -> ExitCode:
    """Examine a judge with answers known to be right or wrong.

    Each probe changes something that must not matter, such as the order or the length of answers, or attacks the judge
    with an instruction or a planted verdict, and counts how often that changes what the judge says. The result is a
    judge card, and a run like any other: see `evenhand report` and `evenhand resume`. If the judge fails a probe, the
    exit code is 103; the others are those of `evenhand run`.
    """
    limits = Limits(
        max_attack_success=max_attack_success,
        max_bias=max_bias,
        max_inconsistency=max_inconsistency,
        max_error_rate=max_error_rate,
        max_concentration=max_concentration,
    )
    with open_session(ctx, options) as session, unasked(estimate):
        if examined is not None and _is_suite(examined):
            suite, _ = read_with_overrides(ctx, examined, judge, None)
            subject = Subject.of_suite(suite, evaluator)
        elif evaluator is not None:
            raise ConfigError(
                f"--evaluator {evaluator}: name its suite, too: evenhand doctor suite.yaml --evaluator {evaluator}"
            )
        else:
            subject = Subject.of_judge(require_judge(examined or judge))
        planned = doctor_job(subject, probes=probes, size=size, seed=seed, limits=limits, timeout=options.timeout)
        outline = planned.outline()
        new = NewRun(
            job=planned.job(),
            scope=CommandScope(no_cache=options.no_cache),
            outline=outline,
            announce=lambda expected: [*outline, expected.in_short],
        )
        return start_run(session, new, options, estimate=estimate)


def _is_suite(name: str) -> bool:
    return Path(name).suffix.lower() in _SUITES and "://" not in name
