"""How two runs were to be judged, and where that differs: judges, evaluators and thresholds, by their definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evenhand.domain.verdict import Thresholds
from evenhand.evaluators.showing import shown
from evenhand.suites.evaluators import name_of

# What has a part in reaching a judge, and none in what it says.
_OF_THE_WAY: Final = frozenset(
    {
        "api_key", "timeout", "connect_timeout", "first_byte_timeout", "max_transport_attempts", "backoff",
        "max_body_bytes", "ca_file", "proxy",
    }
)  # fmt: skip
_ABSENT: Final = object()


def judging_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Say how the definitions of two runs differ in what judges; answers, targets, gates and costs may differ.

    >>> judging_differences({"judge": "openai/gpt-5-mini"}, {"judge": {"model": "openai/gpt-5", "timeout": 9}})
    ['judge.model: "openai/gpt-5-mini" in A, "openai/gpt-5" in B']
    """
    ours, theirs = dict(_fields(a)), dict(_fields(b))
    told = []
    for path in dict.fromkeys((*ours, *theirs)):
        one, other = ours.get(path, _ABSENT), theirs.get(path, _ABSENT)
        if one != other or isinstance(one, bool) != isinstance(other, bool):  # Python takes true for 1
            told.append(f"{path}: {_words(one)} in A, {_words(other)} in B")
    return told


def _words(value: object) -> str:
    return "nothing" if value is _ABSENT else shown(value)


def _fields(definition: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    marks = Thresholds.of(definition.get("thresholds"))
    judging = {
        "judge": definition.get("judge"),
        "evaluators": definition.get("evaluators"),
        "ambiguous": definition.get("ambiguous"),
        "thresholds": {"pass": marks.pass_at, "borderline": marks.borderline_at},
    }
    yield from _leaves("", "", judging)


def _leaves(path: str, key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Give every single value with its path; evaluators and rubric items are told apart by their names, not places."""
    if key == "judge":
        value = {"model": value} if isinstance(value, str) else value
    if isinstance(value, Mapping):
        for name, one in value.items():
            if one is not None and not (key == "judge" and name in _OF_THE_WAY):
                yield from _leaves(f"{path}.{name}" if path else str(name), str(name), one)
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _leaves(f"{path}[{_called(one, place)}]", "", one)
    elif value is not None:
        yield path, value


def _called(one: object, place: int) -> str:
    if isinstance(one, Mapping):
        if "type" in one:
            return name_of(one)
        if "id" in one:
            return str(one["id"])
    return str(place)
