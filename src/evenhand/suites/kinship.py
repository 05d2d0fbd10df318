"""Warning of judges that are kin to the model whose answers they judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.models.families import same_family


def kinship_notes(definition: Mapping[str, Any]) -> list[str]:
    """Give a warning for each judge of a suite that is of the family of a model that answers."""
    judges = dict.fromkeys(_judges(definition))
    answering = _models(definition.get("target"))
    return [note for judge in judges for target in answering if (note := same_family(judge, target)) is not None]


def _judges(part: Any) -> Iterator[str]:
    """Find every judge that a definition names, in evaluators, their members and their aggregators too."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key == "judge" and (name := _model(value)) is not None:
                yield name
            elif key in {"evaluators", "members", "aggregator"}:
                yield from _judges(value)
    elif isinstance(part, list):
        for one in part:
            yield from _judges(one)


def _models(target: Any) -> list[str]:
    """Name the models of a target, which may be one or several."""
    several = target.get("models") if isinstance(target, Mapping) else None
    given = several if isinstance(several, list) else [target]
    return [name for one in given if (name := _model(one)) is not None]


def _model(given: Any) -> str | None:
    name = given.get("model") if isinstance(given, Mapping) else given
    return name if isinstance(name, str) else None
