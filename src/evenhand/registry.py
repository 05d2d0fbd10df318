"""Names to factories, through entry points: the built-in parts register the same way as anybody's.

Two groups are for everybody: ``evenhand.evaluators`` (type -> class) and ``evenhand.models`` (provider -> factory).
``evenhand.resolvers`` has the one part that evaluators need and must not import: how a judge is found.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from evenhand.domain.errors import ConfigError, UnknownNameError, did_you_mean
from evenhand.domain.seams import Evaluator, ModelClient

EVALUATORS = "evenhand.evaluators"
MODELS = "evenhand.models"
RESOLVERS = "evenhand.resolvers"


@functools.cache
def points(group: str) -> Mapping[str, EntryPoint]:
    """Give the registered entry points of a group by name, sorted."""
    return {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def find(group: str, name: str, *, what: str) -> Any:
    """Load what is registered under a name, or say which name was probably meant."""
    known = points(group)
    if name not in known:
        raise UnknownNameError(f"no {what} {name!r}{did_you_mean(name, known)}")
    return known[name].load()


def evaluator(definition: Mapping[str, Any]) -> Evaluator:
    """Make an evaluator from its definition in a file: ``{"type": "llm_judge", "name": …, …}``."""
    options = dict(definition)
    kind = options.pop("type", None)
    if not isinstance(kind, str):
        raise ConfigError(f"an evaluator needs a type, such as 'llm_judge'; got {definition!r:.120}")
    factory = find(EVALUATORS, kind, what="evaluator type")
    try:
        return cast("Evaluator", factory(**options))
    except TypeError as error:
        raise ConfigError(f"evaluator {options.get('name', kind)!r} ({kind}): {error}") from None


def judge(given: object, *, model: str | None = None) -> ModelClient:
    """Make a model client from whatever a user gave as judge: a client, a name, a mapping, a foreign object, None."""
    resolve = find(RESOLVERS, "judge", what="resolver")
    return cast("ModelClient", resolve(given, model=model))
