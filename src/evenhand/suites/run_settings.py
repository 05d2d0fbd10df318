"""Two runs with what differs in their settings: the prompt and its text, who answers, who judges, and how."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from evenhand.domain.comparison import Comparison
from evenhand.domain.message import messages_from
from evenhand.domain.run import RunRecord
from evenhand.domain.run_differences import SettingChange
from evenhand.engine.comparison import Side, compare_runs
from evenhand.engine.targets.several import targets_by_name, targets_of
from evenhand.reports.phrases import model_label
from evenhand.store.rows import planned_from
from evenhand.suites.definition_diff import judging_differences
from evenhand.suites.evaluators import name_of

# Told by other names, or no settings.
_APART: Final = frozenset(
    {"name", "description", "concurrency", "prompt", "target", "judge", "evaluators", "thresholds", "repeat",
     "imported_from"}
)  # fmt: skip
_PROMPT: Final = "prompt"


def compare_sides(
    a: Side, b: Side, *, evaluator: str | None = None, limit: int | None = None, anyway: bool = False
) -> Comparison:
    """Compare run B with run A, refusing what was judged differently, and say what differs between them."""
    differing = judging_differences(a.run.definition, b.run.definition)
    comparison = compare_runs(a, b, differing=differing, evaluator=evaluator, limit=limit, anyway=anyway)
    settings = setting_changes(
        replace(a, model=comparison.model_a),
        replace(b, model=comparison.model_b),
        judges=(comparison.judges_a, comparison.judges_b),
    )
    return replace(comparison, differences=replace(comparison.differences, settings=settings))


def setting_changes(
    a: Side, b: Side, *, judges: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
) -> tuple[SettingChange, ...]:
    """Return the settings that differ between two runs, the prompt first; ``judges`` are those that were asked."""
    ours, theirs = _settings(a, judges[0]), _settings(b, judges[1])
    ours |= _target_settings(a, b)
    theirs |= _target_settings(b, a)
    shared = _shared_evaluators(a.run, b.run)
    ours |= _evaluator_settings(a.run, shared)
    theirs |= _evaluator_settings(b.run, shared)
    changes = []
    for name in dict.fromkeys((*ours, *theirs)):
        before, after = ours.get(name), theirs.get(name)
        if before != after or isinstance(before, bool) != isinstance(after, bool):  # Python takes true for 1
            changes.append(SettingChange(name=name, before=before, after=after))
    return tuple(changes)


def _settings(side: Side, judges: tuple[str, ...]) -> dict[str, Any]:
    """Return what is not of a single target or evaluator, by the names under which it is shown."""
    run, definition = side.run, side.run.definition
    marks = run.thresholds
    named: dict[str, Any] = {
        **_prompt_settings(side),
        "Target": list(_target_names(side)) or model_label(definition.get("target")),
        "Judge": list(judges) or model_label(definition.get("judge")),
        "Evaluators": list(_evaluators(run)),
        "Answers from run": run.options.get("answers_from"),
        "Times each case is judged": run.repeat,
        "thresholds.pass": marks.pass_at,
        "thresholds.borderline": marks.borderline_at,
    }
    judge = definition.get("judge")
    if isinstance(judge, Mapping):
        named |= dict(
            _leaves("judge", {name: value for name, value in judge.items() if name not in ("model", "models", "name")})
        )
    for key, value in definition.items():
        if key not in _APART:
            named |= dict(_leaves(key, value))
    return named | {"Evenhand": run.version}


def _prompt_settings(side: Side) -> dict[str, Any]:
    """Return which version of which prompt was tried, and its text as the run has it: the prompt may be gone."""
    prompt = side.run.definition.get(_PROMPT)
    if not isinstance(prompt, Mapping):
        return {}
    page = next(iter(side.store.case_rows(side.run)), [])
    case = planned_from(*page[0]).case if page else None
    said = () if case is None else messages_from(case.input_messages)
    return {
        "Prompt": prompt.get("name"),
        "Prompt version": prompt.get("version"),
        "System prompt": "\n".join(message.content for message in said if message.role == "system") or None,
        "Evaluation mode": prompt.get("evaluation_mode"),
        "Evaluation criteria": None if case is None else case.expected_outcome,
    }


def _target_names(side: Side) -> tuple[str, ...]:
    if side.model is not None:
        return (side.model,)
    target = side.run.definition.get("target")
    return tuple(targets_of(side.run) or targets_by_name(target))


def _target_settings(side: Side, other: Side) -> dict[str, Any]:
    """Return the settings of the targets that are held against each other: single ones, or those of one name."""
    ours, theirs = (targets_by_name(each.run.definition.get("target")) for each in (side, other))
    names, others = _target_names(side), _target_names(other)
    if len(names) == 1 and len(others) == 1:
        pairs = {"target": ours.get(names[0])}
    else:
        pairs = {f"target[{name}]": ours.get(name) for name in names if name in theirs}
    found: dict[str, Any] = {}
    for path, target in pairs.items():
        if isinstance(target, Mapping):
            kept = {name: value for name, value in target.items() if name not in ("model", "name", "command", "python")}
            found |= dict(_leaves(path, kept))
    return found


def _evaluators(run: RunRecord) -> dict[str, Mapping[str, Any]]:
    listed = run.definition.get("evaluators")
    return {name_of(each): each for each in listed if isinstance(each, Mapping)} if isinstance(listed, list) else {}


def _shared_evaluators(a: RunRecord, b: RunRecord) -> set[str]:
    return set(_evaluators(a)) & set(_evaluators(b))


def _evaluator_settings(run: RunRecord, names: set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, evaluator in _evaluators(run).items():
        if name in names:
            settings = {key: value for key, value in evaluator.items() if key != "name"}
            found |= dict(_leaves(f"evaluators[{name}]", settings))
    return found


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every setting with its path: single values, lists of them, and schemas, which are read as a whole."""
    if isinstance(value, Mapping) and path.endswith("schema"):
        yield path, json.dumps(value, ensure_ascii=False, indent=2, default=str)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(f"{path}.{name}", item)
    elif isinstance(value, list) and any(isinstance(item, (Mapping, list)) for item in value):
        for place, item in enumerate(value):
            yield from _leaves(f"{path}[{_label(item, place)}]", item)
    elif value is not None:
        yield path, value


def _label(item: object, place: int) -> str:
    if isinstance(item, Mapping):
        for key in ("id", "name"):
            if isinstance(item.get(key), str):
                return str(item[key])
    return str(place)
