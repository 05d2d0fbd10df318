"""Who answers and who judges in a run, by the names that its definition has for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.domain.run import RunRecord


def names_in(defined: Any) -> list[str]:
    """Give the names of the models that a part of a definition names.

    >>> names_in({"models": ["openai/gpt-5-mini", {"model": "ollama/qwen2.5:7b", "temperature": 0}]})
    ['openai/gpt-5-mini', 'ollama/qwen2.5:7b']
    """
    match defined:
        case str():
            return [defined]
        case list() | tuple():
            return [name for one in defined for name in names_in(one)]
        case {"models": found} | {"model": found}:
            return names_in(found)
    return []


def models_of(run: RunRecord) -> list[str]:
    """Name the models that answered where there may be several, so that each case says which."""
    target = run.definition.get("target")
    return names_in(target) if isinstance(target, Mapping) and "models" in target else []


def judge_of(run: RunRecord) -> str | None:
    """Name the judge, where the definition does."""
    return next(iter(names_in(run.definition.get("judge"))), None)


def told(defined: Any) -> str | None:
    """Name a judge or a target for people: a program or a function by what it is."""
    if names := names_in(defined):
        return ", ".join(names)
    if isinstance(defined, Mapping):
        return str(defined.get("command") or defined.get("python") or dict(defined))
    return None if defined is None else str(defined)
