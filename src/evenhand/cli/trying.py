"""Trying a prompt on models: planned before anybody is asked, then worked on like every run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import typer

from evenhand.cli.manner import Manner
from evenhand.cli.options import is_typed
from evenhand.cli.replacing import CommandScope
from evenhand.cli.session import pace_of, session
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import ExitCode
from evenhand.domain.prompt import EvaluationMode
from evenhand.engine.place import Place
from evenhand.engine.plan import plan
from evenhand.suites.kinship import kinship_notes
from evenhand.workspace.trial import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be tried: which version of which prompt, on which models and test cases, and who judges."""

    prompt: str
    version: int | None = None
    models: tuple[str, ...] = ()
    judge: str | None = None
    test_cases: tuple[str, ...] = ()
    repeat: int = 1


def try_out(ctx: typer.Context, wanted: Wanted, manner: Manner) -> ExitCode:
    """Try a prompt, and give the exit code."""
    if not wanted.models:
        raise ConfigError("which model shall answer? Give --model, such as --model openai/gpt-5-mini")
    with session(ctx, manner) as at_work, Place(manner.db).opened(to_read=True) as store:
        trial = Trial(
            prompt=store.prompts.find(wanted.prompt, wanted.version),
            models=wanted.models,
            judge=wanted.judge,
            test_cases=wanted.test_cases or None,
            repeat=wanted.repeat,
        )
        if trial.judge is None and trial.asks_judge:
            raise ConfigError("no judge: give --judge openai/gpt-5-mini, or set EVENHAND_JUDGE")
        job = trial.job(store)
        job = replace(job, timeout=manner.timeout)
        scope = CommandScope(repeat=wanted.repeat, no_cache=manner.no_cache)
        if manner.max_cost is not None:
            from evenhand.cli.forecasting import require_prices
            from evenhand.engine.forecasting import forecast

            require_prices(forecast(store, job, scope, use_cache=not manner.no_cache))
        run = plan(store, job, scope)
        for note in _notes(trial, judge_typed=is_typed(ctx, "judge")):
            at_work.console.note(f"note: {note}")
        return at_work.work_on(store, run, job, pace_of(manner, None))


def _notes(trial: Trial, *, judge_typed: bool) -> Iterator[str]:
    """Tell what the user should know before anything is spent."""
    by_schema = trial.prompt.text.evaluation_mode is EvaluationMode.SCHEMA
    if not (trial.asks_judge or by_schema):
        yield "the prompt has no criteria, so answers are not evaluated; give it some with: evenhand prompts edit"
    elif by_schema and judge_typed:
        yield "--judge has no effect: answers are held to the schemas of the test cases"
    yield from kinship_notes(trial.definition)
