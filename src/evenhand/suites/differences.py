"""What has changed between the definition of a run and that of a suite now, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evenhand.evaluators.showing import shown

_NOTHING: Final = object()
# What may be another from one day to the next: it has no part in any judgment.
_OF_THE_DAY: Final = frozenset({"concurrency", "description"})


def definition_differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Name each field that has changed, with both values; evaluators are told apart by their names.

    The description, and how much is done at once, may change.

    >>> definition_differences({"judge": {"temperature": 0.2}}, {"judge": {"temperature": 0.3}})
    ['judge.temperature: 0.2 in the run, 0.3 now']
    """
    before, after = ({key: one for key, one in each.items() if key not in _OF_THE_DAY} for each in (stored, now))
    return list(_differences("", before, after))


def _differences(path: str, stored: Any, now: Any) -> Iterator[str]:
    if isinstance(stored, Mapping) and isinstance(now, Mapping):
        before = path and f"{path}."
        for key in dict.fromkeys((*stored, *now)):
            yield from _differences(f"{before}{key}", stored.get(key, _NOTHING), now.get(key, _NOTHING))
    elif isinstance(stored, list) and isinstance(now, list):
        members, others = _named(stored), _named(now)
        if members is None or others is None:
            members, others = dict(enumerate(stored)), dict(enumerate(now))
        for place in dict.fromkeys((*members, *others)):
            yield from _differences(f"{path}[{place}]", members.get(place, _NOTHING), others.get(place, _NOTHING))
    elif not _same(stored, now):
        yield f"{path}: {_words(stored)} in the run, {_words(now)} now"


def _named(items: list[Any]) -> dict[Any, Any] | None:
    """Give items by their names, where each has one of its own."""
    if not all(isinstance(one, Mapping) for one in items):
        return None
    named = {one.get("name") or one.get("id") or one.get("type"): one for one in items}
    return named if len(named) == len(items) and None not in named else None


def _same(stored: object, now: object) -> bool:
    # Python takes true for 1.
    return stored == now and isinstance(stored, bool) == isinstance(now, bool)


def _words(value: object) -> str:
    return "not there" if value is _NOTHING else shown(value)
