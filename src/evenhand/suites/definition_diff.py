"""What differs between two definitions: of a run and a suite now, or of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evenhand.domain.verdict import Thresholds
from evenhand.engine.targets.several import stands_for_several, targets_by_name
from evenhand.evaluators.value_text import shown
from evenhand.models.resolve import normal_name
from evenhand.suites.evaluators import name_of

_NOTHING: Final = object()
# What may be another from one day to the next: it has no part in any judgment.
_OF_THE_DAY: Final = frozenset({"concurrency", "description"})


def definition_differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return each field that has changed, with both values; evaluators are matched by their names.

    The description, and how much is done at once, may change.

    >>> definition_differences({"judge": {"temperature": 0.2}}, {"judge": {"temperature": 0.3}})
    ['judge.temperature: 0.2 in the run, 0.3 now']
    """
    before, after = ({key: value for key, value in each.items() if key not in _OF_THE_DAY} for each in (stored, now))
    return list(_differences("", before, after))


def _differences(path: str, stored: Any, now: Any) -> Iterator[str]:
    if isinstance(stored, Mapping) and isinstance(now, Mapping):
        before = path and f"{path}."
        for key in dict.fromkeys((*stored, *now)):
            yield from _differences(f"{before}{key}", stored.get(key, _NOTHING), now.get(key, _NOTHING))
    elif isinstance(stored, list) and isinstance(now, list):
        members, others = _by_name(stored), _by_name(now)
        if members is None or others is None:
            members, others = dict(enumerate(stored)), dict(enumerate(now))
        for place in dict.fromkeys((*members, *others)):
            yield from _differences(f"{path}[{place}]", members.get(place, _NOTHING), others.get(place, _NOTHING))
    elif not _same(stored, now):
        yield f"{path}: {_words(stored)} in the run, {_words(now)} now"


def _by_name(items: list[Any]) -> dict[Any, Any] | None:
    """Return items by their names, where each has one of its own."""
    if not all(isinstance(item, Mapping) for item in items):
        return None
    named = {item.get("name") or item.get("id") or item.get("type"): item for item in items}
    return named if len(named) == len(items) and None not in named else None


def _same(stored: object, now: object) -> bool:
    # Python takes true for 1.
    return stored == now and isinstance(stored, bool) == isinstance(now, bool)


def _words(value: object) -> str:
    return "not set" if value is _NOTHING else shown(value)


# What has a part in reaching a judge, and none in what it says.
_OF_THE_WAY: Final = frozenset(
    {
        "api_key", "timeout", "connect_timeout", "first_byte_timeout", "max_transport_attempts", "backoff",
        "rpm", "tpm", "max_body_bytes", "ca_file", "proxy",
    }
)  # fmt: skip
_ABSENT: Final = object()


def judging_differences(
    a: Mapping[str, Any], b: Mapping[str, Any], *, sides: tuple[str, str] = ("in A", "in B")
) -> list[str]:
    """Return how the definitions of two runs differ in what judges, or in how a model was asked for the answers.

    The model that answers may be another, and so may gates and costs: that is what runs are compared for.

    >>> judging_differences({"judge": "openai/gpt-5-mini"}, {"judge": {"model": "openai/gpt-5", "timeout": 9}})
    ['judge.model: "openai/gpt-5-mini" in A, "openai/gpt-5" in B']
    """
    ours, theirs = dict(_fields(a)), dict(_fields(b))
    # Of a prompt, the schema that answers are to keep to is part of what was tried.
    tried = {"response_schema"} if "prompt" in a and "prompt" in b else set()
    for path, left, right in _same_targets(a.get("target"), b.get("target")):
        ours |= _target_fields(path, left, tried)
        theirs |= _target_fields(path, right, tried)
    lines = []
    for path in dict.fromkeys((*ours, *theirs)):
        left, right = ours.get(path, _ABSENT), theirs.get(path, _ABSENT)
        if left != right or isinstance(left, bool) != isinstance(right, bool):  # Python takes true for 1
            lines.append(f"{path}: {_field_words(left)} {sides[0]}, {_field_words(right)} {sides[1]}")
    return lines


def _field_words(value: object) -> str:
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


def _same_targets(a: object, b: object) -> Iterator[tuple[str, Any, Any]]:
    """Yield the models that answered in both runs, to be held against each other: of several, those of one name.

    Of two runs of a single model each, the models are what is compared, whatever their names.
    """
    ours, theirs = targets_by_name(a), targets_by_name(b)
    if not (stands_for_several(a) or stands_for_several(b)):
        pairs = [("target", left, right) for left, right in zip(ours.values(), theirs.values(), strict=False)]
    else:
        pairs = [(f"target[{name}]", ours[name], theirs[name]) for name in ours if name in theirs]
    yield from ((path, left, right) for path, left, right in pairs if _is_model(left) and _is_model(right))


def _is_model(target: object) -> bool:
    return isinstance(target, str) or (isinstance(target, Mapping) and "model" in target)


def _target_fields(path: str, target: Any, tried: set[str]) -> dict[str, Any]:
    settings = {} if isinstance(target, str) else target
    # Where a model is found is part of which model it is.
    apart = (
        _OF_THE_WAY | {"model", "base_url", "api_version", "region", "project", "location", "headers", "name"} | tried
    )
    return dict(_leaves(path, "target", {name: value for name, value in settings.items() if name not in apart}))


def _leaves(path: str, key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every single value with its path; evaluators and rubric items go by their names, not their places."""
    if key == "judge":
        value = {"model": value} if isinstance(value, str) else value
        if isinstance(value, Mapping) and isinstance(value.get("model"), str):
            value = {**value, "model": normal_name(value["model"])}
    if isinstance(value, Mapping):
        for name, item in value.items():
            if item is not None and not (key == "judge" and name in _OF_THE_WAY):
                yield from _leaves(f"{path}.{name}" if path else str(name), str(name), item)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _leaves(f"{path}[{_label(item, place)}]", "", item)
    elif value is not None:
        yield path, value


def _label(item: object, place: int) -> str:
    if isinstance(item, Mapping):
        if "type" in item:
            return name_of(item)
        if "id" in item:
            return str(item["id"])
    return str(place)
