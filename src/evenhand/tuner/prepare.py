"""From a run and labels to a tuning: everything is checked here, before anything is spent."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from evenhand.domain.ask import Evaluator
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.label import Label
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.run_kind import TUNE, is_tuning, mode_of
from evenhand.engine.identity import describe
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.store.store import Store
from evenhand.suites.evaluators import JUDGE_TYPE, name_of, type_of
from evenhand.suites.python_evaluators import MADE_IN_PYTHON, as_written
from evenhand.tuner.job import FINAL, TuneJob, part_of, tuning_of
from evenhand.tuner.labelled import for_evaluator, labelled_cases
from evenhand.tuner.settings import FOLDS, HELD_OUT, SEED, SHOWN, TuneSettings, check_options, settings_of


def prepare(
    store: Store,
    run: RunRecord,
    labels: Iterable[Label] | None = None,
    *,
    evaluator: str | PromptEvaluator | None = None,
    model: Any = None,
    judge: Any = None,
    held_out: float = HELD_OUT,
    folds: int = FOLDS,
    examples: int = SHOWN,
    seed: int = SEED,
    timeout: float | None = None,
) -> TuneJob:
    """Return the tuning of an evaluator of a run; without ``labels``, by those that are stored with the run.

    ``judge`` takes the place of the run's own. ``evaluator`` may be the object where a program made it.
    """
    check_options(held_out=held_out, folds=folds, shown=examples, seed=seed)
    require_tunable(run)
    current, made = _current(run, evaluator)
    name = name_of(current)
    given = store.labels.of(run) if labels is None else labels
    alone = len(run.definition.get("evaluators") or ()) == 1
    cases, notes = labelled_cases(
        store,
        run,
        for_evaluator(given, name, alone=alone),
        evaluator=name,
        held_out=held_out,
        folds=folds,
        seed=seed,
    )
    own_judge = run.definition.get("judge") if judge is None else judge
    settings = TuneSettings(
        tuned=run.id,
        evaluator=name,
        current=current,
        cases=cases,
        model=None if model is None else as_written(model) or {"python": describe(model)},
        suite=run.source,
        held_out=held_out,
        folds=folds,
        shown=examples,
        seed=seed,
        looks=_looks(store, run, name),
        notes=tuple(notes),
    )
    return TuneJob(
        settings=settings,
        judge=own_judge,
        kept=as_written(own_judge),
        model=model,
        ambiguous=run.definition.get("ambiguous"),
        prices=run.definition.get("prices"),
        timeout=timeout or run.definition.get("timeout"),
        make=made,
    )


def stored_tuning(run: RunRecord) -> TuneJob:
    """Return the tuning of a stored run, to go on with it."""
    settings = settings_of(run.definition)
    parts = (settings.current, settings.model if isinstance(settings.model, Mapping) else {})
    if any(MADE_IN_PYTHON in part for part in parts):
        raise ConfigError(f"run {run.id} has an evaluator or a model that was made in Python; run that program again")
    return tuning_of(run.definition)


def require_tunable(run: RunRecord) -> None:
    """Refuse a run whose prompts cannot be tuned."""
    if is_tuning(run.definition):
        tuned = settings_of(run.definition).tuned
        raise ConfigError(f"run {run.id} is a tuning itself; name the run that it tuned: evenhand tune {tuned}")
    if mode_of(run.definition) is not None:
        raise ConfigError(f"run {run.id} is of profiles; only the prompts of llm_judge evaluators can be tuned")
    if run.status is not RunStatus.FINISHED:
        raise ConfigError(f"run {run.id} is not finished; complete it with: evenhand resume {run.id}")


def _current(run: RunRecord, evaluator: str | PromptEvaluator | None) -> tuple[dict[str, Any], Any]:
    """Return the definition of the evaluator to tune and, where a program gave it, what makes others like it."""
    defined = {name_of(one): one for one in run.definition.get("evaluators") or () if isinstance(one, Mapping)}
    wanted = evaluator.name if isinstance(evaluator, PromptEvaluator) else evaluator
    if wanted is None:
        judges = [name for name, one in defined.items() if type_of(one) == JUDGE_TYPE]
        if len(judges) != 1:
            listed = ", ".join(defined) or "none"
            raise ConfigError(
                f"run {run.id} has {len(judges)} llm_judge evaluators; name the one to tune, it has: {listed:.400}",
                key="evaluator",
            )
        wanted = judges[0]
    if wanted not in defined:
        raise ConfigError(
            f"the suite of run {run.id} defines no evaluator {wanted!r:.80}{did_you_mean(wanted[:80], defined)}",
            key="evaluator",
        )
    current = dict(defined[wanted])
    if type_of(current) != JUDGE_TYPE:
        raise ConfigError(
            f"evaluator {wanted!r:.80} is of type {type_of(current)}, which has no prompt to tune; llm_judge has one",
            key="evaluator",
        )
    if isinstance(evaluator, PromptEvaluator):
        return _described(evaluator), _maker(evaluator)
    if MADE_IN_PYTHON in current:
        raise ConfigError(
            f"evaluator {wanted!r:.80} was made in Python; give it to tune() as an object", key="evaluator"
        )
    return current, None


def _described(evaluator: PromptEvaluator) -> dict[str, Any]:
    """Return what a run keeps of an evaluator that a program made."""
    described: dict[str, Any] = {"name": evaluator.name, "type": evaluator.type, MADE_IN_PYTHON: describe(evaluator)}
    described |= {
        key: value for key in ("template", "prompt", "instructions") if (value := getattr(evaluator, key)) is not None
    }
    if evaluator.rubrics:
        described["rubrics"] = [item.description for item in evaluator.items]
    if evaluator.examples:
        described["examples"] = describe(evaluator)["examples"]
    return described


def _maker(evaluator: PromptEvaluator) -> Any:
    def make(definition: Mapping[str, Any]) -> Evaluator:
        return dataclasses.replace(
            evaluator,
            instructions=definition.get("instructions"),
            examples=definition.get("examples") or (),
        )

    return make


def _looks(store: Store, run: RunRecord, evaluator: str) -> int:
    """Count earlier tunings of the same evaluator by the same run that used held-out cases: these are judged last."""
    count = 0
    for one in store.runs.newest():
        if is_tuning(one.definition) and one.definition[TUNE].get("run") == run.id and one.cases:
            settings = settings_of(one.definition)
            held_out = {case.id for case in settings.held_out_cases}
            part = part_of(next(iter(store.results(one, first=one.cases - 1))).case)
            count += settings.evaluator == evaluator and part["part"] == FINAL and part["case"] in held_out
    return count
