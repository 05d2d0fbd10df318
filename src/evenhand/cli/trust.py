"""Runs that came from elsewhere get nothing of this machine's until somebody trusts them (SPEC-O2).

They run no code, talk to no server of their own, and read no variable: one that names a provider and ``${ANY}`` as its
key would send that provider whatever the variable holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.domain.errors import ConfigError
from evenhand.domain.run import RunRecord
from evenhand.models.environment import references
from evenhand.store.store import Store
from evenhand.store.transfer import IMPORTED

_MOST_TOLD = 5
_MERE_DATA = ("metadata", "config")
# Where the prompts go, and what goes with them. What is written out there is not shown: it may be somebody's secret.
_PLACES = ("base_url", "proxy", "ca_file")
_SENT = ("api_key", "headers", "extra_body", "env")


def is_imported(run: RunRecord) -> bool:
    """Tell whether a run came from elsewhere."""
    return bool(run.options.get(IMPORTED))


def require_trust(store: Store, run: RunRecord) -> None:
    """Refuse to go on with a run that would run a program, import a function, or choose where to send what."""
    found = dict.fromkeys(_dealings(run.definition))
    for page in store.planned(run):
        for planned in page:
            found |= dict.fromkeys(_dealings(list(planned.evaluators or ())))
        if len(found) > _MOST_TOLD:
            break
    if found:
        more = ["- and more"] if len(found) > _MOST_TOLD else []
        raise ConfigError(
            "\n".join(
                [
                    f"run {run.id} was imported, and going on with it would use, on this machine:",
                    *[f"- {one}" for one in list(found)[:_MOST_TOLD]],
                    *more,
                    f"If you trust where it came from: evenhand resume {run.id} --trust",
                ]
            )
        )


def _dealings(part: Any) -> Iterator[str]:
    """Find what a definition would do beyond asking a well-known model."""
    if isinstance(part, list):
        for one in part:
            yield from _dealings(one)
    if not isinstance(part, Mapping):
        return
    for key, value in part.items():
        if key == "command":
            yield f"the program {_shown(value)}"
        elif key == "python":
            yield f"the Python function {_shown(value)}"
        elif key in _PLACES:
            yield f"{key} {_shown(value)}"
        elif key in _SENT:
            names = ", ".join(dict.fromkeys(_names(value)))
            yield f"{key} with {'the value of ' + names if names else 'values of its own'}"
        elif key not in _MERE_DATA:
            yield from _dealings(value)


def _names(value: Any) -> Iterator[str]:
    """Give the names of the variables to which a value refers, however deep."""
    if isinstance(value, str):
        yield from references(value)
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _names(one)


def _shown(value: Any) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"
