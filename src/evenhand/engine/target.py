"""From what a user gave to the target: what makes the answers that are judged (SPEC-S2). It is never the judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evenhand.domain.ask import ModelClient
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.engine.targets.base import Target
from evenhand.engine.targets.command import CommandTarget
from evenhand.engine.targets.function import FunctionTarget
from evenhand.engine.targets.model import OWN_KEYS, ModelTarget
from evenhand.engine.targets.several import (
    MODELS,
    NAME,
    PROMPTS,
    SeveralTargets,
    single_targets,
    stands_for_several,
)
from evenhand.models.resolve import carried_over, resolve

_KINDS: Final = ("model", MODELS, "command", "python")


def target_of(target: object, *, folder: str | None = None, trusted: bool = True) -> Target | None:
    """Make a target from what a user gave: a model's name, a mapping, a client, a function, a list of these, or None.

    >>> target_of("ollama/qwen2.5:7b").name
    'ollama/qwen2.5:7b'
    >>> target_of({"command": ["python", "app.py"], "timeout": 30}).name
    'python app.py'

    ``folder`` is that of the suite: a command runs there, and a Python function is looked for there first. A suite
    that is not ``trusted`` runs no code (SPEC-O2). Whatever cannot be right is refused here, before anything is sent.
    """
    try:
        return _make_target(target, folder, trusted)
    except ConfigError as error:
        raise error.within("target") from None


def _make_target(target: object, folder: str | None, trusted: bool) -> Target | None:
    if target is None:
        return None
    if stands_for_several(target):
        singles = list(single_targets(target))
        return SeveralTargets.of([(single, _make_single(single.definition, folder, trusted)) for single in singles])
    return _make_single(target, folder, trusted)


def _make_single(target: object, folder: str | None, trusted: bool) -> Target:
    if isinstance(target, Mapping):
        return _from_mapping(target, folder, trusted)
    if callable(target) and not isinstance(target, (type, ModelClient)):
        return FunctionTarget.around(target)
    if isinstance(target, type):
        raise ConfigError(f"it is the class {target.__name__}; give a model's name, a mapping, or a function")
    return ModelTarget(client=resolve(target))


def with_model(target: object, model: str) -> tuple[object, list[str]]:
    """Return a target as a suite defines it, with another model, and the names of what cannot be carried over.

    >>> with_model({"model": "ollama/qwen2.5:7b", "prompt": "Say: {{ input }}", "temperature": 0}, "openai/gpt-5-mini")
    ({'prompt': 'Say: {{ input }}', 'model': 'openai/gpt-5-mini', 'temperature': 0}, [])
    """
    if isinstance(target, (list, tuple)):
        options: dict[str, Any] = _common_settings(target)
    elif isinstance(target, Mapping):
        options = {str(name): value for name, value in target.items() if value is not None and name != NAME}
        if MODELS in options:
            options = options | _common_settings(options.pop(MODELS))
    else:
        return model, []
    if "model" not in options:  # a program or a function, of which nothing can be asked of a model
        return model, list(options)
    own = {name: options.pop(name) for name in (*OWN_KEYS, PROMPTS) if name in options}
    settings, lost = carried_over(options, model)
    made = own | settings
    return (model if set(made) == {"model"} else made), lost


def _common_settings(members: object) -> dict[str, Any]:
    """Return the settings that several models have in common, with the name of one of them."""
    listed = members if isinstance(members, (list, tuple)) else ()
    mappings = [member if isinstance(member, Mapping) else {"model": member} for member in listed]
    models = [mapping for mapping in mappings if "model" in mapping]
    first = models[0] if models else {}
    common = {name for name, value in first.items() if all(each.get(name) == value for each in models)}
    return {name: value for name, value in first.items() if name in common - {NAME} | {"model"}}


def _from_mapping(mapping: Mapping[Any, Any], folder: str | None, trusted: bool) -> Target:
    options = {str(name): value for name, value in mapping.items() if value is not None and name != NAME}
    kinds = [kind for kind in _KINDS if kind in options]
    if not kinds:
        near = did_you_mean(str(next(iter(mapping), "")), _KINDS)
        raise ConfigError(f"it needs one of {', '.join(_KINDS)}; it has {', '.join(map(str, mapping))}{near}")
    if len(kinds) > 1:
        raise ConfigError(f"it has {' and '.join(kinds)}; it must be one of them", key=kinds[0])
    if kinds == ["model"]:
        return ModelTarget.of(options)
    if not trusted:
        raise ConfigError(f"this suite is not trusted yet, and its {kinds[0]} would run code on this machine")
    return (CommandTarget if kinds == ["command"] else FunctionTarget).of(options, folder=folder)
