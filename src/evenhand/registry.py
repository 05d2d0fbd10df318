"""Names to factories, through entry points: the built-in parts register the same way as anybody's.

Three groups are for everybody: ``evenhand.evaluators`` (type -> class), ``evenhand.models`` (provider -> factory) and
``evenhand.stores`` (scheme of a URL -> function that connects).
``evenhand.resolvers`` has the one part that evaluators need and must not import: how a judge is found.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from evenhand.domain.ask import Evaluator, ModelClient
from evenhand.domain.errors import ConfigError, UnknownNameError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

EVALUATORS = "evenhand.evaluators"
MODELS = "evenhand.models"
RESOLVERS = "evenhand.resolvers"


@functools.cache
def points(group: str) -> Mapping[str, EntryPoint]:
    """Return the registered entry points of a group by name, sorted."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to load, and not needed to import the package

    return {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def find(group: str, name: str, *, what: str) -> Any:
    """Load what is registered under a name, or say which name was probably meant."""
    known = points(group)
    if name not in known:
        raise UnknownNameError(f"no {what} {name!r}{did_you_mean(name, known)}")
    return known[name].load()


def evaluator(definition: Mapping[str, Any]) -> Evaluator:
    """Make an evaluator from its definition in a file: ``{"type": "llm_judge", "name": …, …}``."""
    if not isinstance(definition, Mapping):
        raise ConfigError(f"an evaluator is defined by a mapping with a type, not by {type(definition).__name__}")
    options = dict(definition)
    kind = options.pop("type", None)
    if not isinstance(kind, str):
        # Its keys only: the values may hold a key of another kind.
        raise ConfigError(
            f"an evaluator needs a type, such as 'llm_judge'; this one has only {', '.join(map(str, options))}",
            key="type",
        )
    factory = find(EVALUATORS, kind, what="evaluator type")
    return cast("Evaluator", make(factory, options, where=f"evaluator {options.get('name', kind)!r} ({kind})"))


def make(factory: Callable[..., Any], options: Mapping[str, Any], *, where: str) -> Any:
    """Call a factory with options from a file: one that it does not have, or lacks, is named."""
    accepted = inspect.signature(factory).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in accepted.values()):
        for name in options:
            if name not in accepted:
                raise ConfigError(f"{where}: no option {name!r}{did_you_mean(str(name), accepted)}", key=str(name))
    for name, parameter in accepted.items():
        is_needed = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        if is_needed and name not in options:
            raise ConfigError(f"{where}: {name} is missing", key=name)
    for name in options:
        if not isinstance(name, str):
            raise ConfigError(f"{where}: an option's name must be text, not {name!r}")
    return factory(**options)


def judge(given: object, *, model: str | None = None) -> ModelClient:
    """Make a model client from whatever a user gave as judge: a client, a name, a mapping, a foreign object, None."""
    resolve = find(RESOLVERS, "judge", what="resolver")
    return cast("ModelClient", resolve(given, model=model))
