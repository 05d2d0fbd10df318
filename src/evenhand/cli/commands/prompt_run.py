"""`evenhand prompts run NAME`: try a prompt on models, and judge the answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated

import typer

from evenhand.cli.options import Judge, Repeat, RunOptions, is_typed, require_judge
from evenhand.cli.runs.overrides import CommandScope
from evenhand.cli.runs.session import open_session
from evenhand.cli.runs.start import NewRun, start_run
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import ExitCode
from evenhand.domain.prompt import EvaluationMode
from evenhand.engine.store_location import StoreLocation
from evenhand.suites.lint import kinship_notes
from evenhand.workspace.trial import Trial


def run_prompt(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name or id of the prompt.")],
    *,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="NAME", help="A model that answers, such as openai/gpt-5-mini. Can be repeated."
        ),
    ] = None,
    judge: Judge = None,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="The version of the prompt; the newest by default.")
    ] = None,
    # Not called only here: that is a setting of other commands.
    test_cases: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="ID", help="Take only the test case with this id. Can be repeated."),
    ] = None,
    repeat: Repeat = None,
    options: RunOptions,
) -> ExitCode:
    """Try a prompt: every test case on every model, as often as --repeat says.

    In mode llm a judge sees prompt, input, answer and criteria; in mode schema each answer is checked against the
    schema of its test case. Without criteria, or without a schema, answers are stored but not evaluated. The result is
    a run like any other: see `evenhand runs`, `evenhand report` and `evenhand resume`. The exit codes are those of
    `evenhand run`.
    """
    if not model:
        raise ConfigError("no model to answer: give --model, such as --model openai/gpt-5-mini")
    with open_session(ctx, options) as session, StoreLocation(options.db).opened(to_read=True) as store:
        trial = Trial(
            prompt=store.prompts.find(name, version),
            models=tuple(model),
            judge=judge,
            test_cases=tuple(test_cases or ()) or None,
            repeat=repeat or 1,
        )
        if trial.asks_judge:
            require_judge(judge)
        new = NewRun(
            job=trial.job(store),
            scope=CommandScope(repeat=trial.repeat, no_cache=options.no_cache),
            notes=partial(_notes, trial, judge_is_typed=is_typed(ctx, "judge")),
        )
        return start_run(session, new, options, store=store)


def _notes(trial: Trial, *, judge_is_typed: bool) -> Iterator[str]:
    """Yield what the user should know before anything is spent."""
    by_schema = trial.prompt.text.evaluation_mode is EvaluationMode.SCHEMA
    if not (trial.asks_judge or by_schema):
        yield "the prompt has no criteria, so answers are not evaluated; add some with: evenhand prompts edit"
    elif by_schema and judge_is_typed:
        yield "--judge has no effect: answers are checked against the schemas of the test cases"
    yield from kinship_notes(trial.definition)
