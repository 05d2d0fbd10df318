"""The target: what makes the answers that are judged (SPEC-S2). It is never the judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from evenhand.domain.ask import ModelClient, Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.run import MadeAnswer
from evenhand.engine.targets.command import CommandTarget
from evenhand.engine.targets.function import FunctionTarget
from evenhand.engine.targets.model import ModelTarget, SeveralModels, resolved

_KINDS: Final = ("model", "models", "command", "python")


class Target(Protocol):
    """Something that answers a case. Like an evaluator it never acts: what it wants done, it yields."""

    @property
    def name(self) -> str:
        """How the target is called in reports."""
        ...

    @property
    def client(self) -> ModelClient | None:
        """The model that it asks; None where it is a program or a function."""
        ...

    def description(self) -> Mapping[str, Any]:
        """Say what decides on the answers, in plain JSON values and without secrets."""
        ...

    def steps(self, case: Case) -> Steps[MadeAnswer]:
        """Make the answer to a case, step by step."""
        ...


def target_of(target: object, *, folder: str | None = None, trusted: bool = True) -> Target | None:
    """Make a target from what a user gave: a model's name, a mapping, a client, a function, or None.

    >>> target_of("ollama/qwen2.5:7b").name
    'ollama/qwen2.5:7b'
    >>> target_of({"command": ["python", "app.py"], "timeout": 30}).name
    'python app.py'

    ``folder`` is that of the suite: a command runs there, and a Python function is looked for there first. A suite
    that is not ``trusted`` runs no code (SPEC-O2). Whatever cannot be right is refused here, before anything is sent.
    """
    if target is None:
        return None
    if isinstance(target, Mapping):
        return _from_mapping(target, folder, trusted)
    if callable(target) and not isinstance(target, (type, ModelClient)):
        return FunctionTarget.around(target)
    if isinstance(target, type):
        raise ConfigError(f"target is the class {target.__name__}; give a model's name, a mapping, or a function")
    return ModelTarget(client=resolved(target))


def _from_mapping(mapping: Mapping[Any, Any], folder: str | None, trusted: bool) -> Target:
    options = {str(name): value for name, value in mapping.items() if value is not None}
    kinds = [kind for kind in _KINDS if kind in options]
    if not kinds:
        near = did_you_mean(str(next(iter(mapping), "")), _KINDS)
        raise ConfigError(f"target: it needs one of {', '.join(_KINDS)}; it has {', '.join(map(str, mapping))}{near}")
    if len(kinds) > 1:
        raise ConfigError(f"target: it has {' and '.join(kinds)}; it must be one of them")
    if kinds == ["model"]:
        return ModelTarget.of(options)
    if kinds == ["models"]:
        return SeveralModels.of(options)
    if not trusted:
        raise ConfigError(f"target: this suite is not trusted yet, and its {kinds[0]} would run code on this machine")
    return (CommandTarget if kinds == ["command"] else FunctionTarget).of(options, folder=folder)
