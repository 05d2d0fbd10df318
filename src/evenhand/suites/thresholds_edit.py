"""Other thresholds in the text of a suite: two numbers are changed or added, and all else stays as it was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import yaml
from yaml import MappingNode, ScalarNode, SequenceNode

from evenhand.domain.errors import ConfigError

_THRESHOLDS: Final = "thresholds"
_EVALUATORS: Final = "evaluators"
# After which keys a new line is put: those that take one line, and stand before what is long.
_AFTER: Final = ("judge", "name", "type", "description")
_BOM: Final = "\ufeff"
# A mark that is rounded to so many digits still means the same: verdicts look past more noise than that.
_DIGITS: Final = 9


class _Change(NamedTuple):
    """What stands in place of a part of the text."""

    start: int
    end: int
    text: str


def with_thresholds(text: str, marks: Mapping[str, float], *, evaluator: str | None = None, name: str = "suite") -> str:
    r"""Return the text of a suite in YAML or JSON with other ``pass`` and ``borderline`` marks.

    They are those of whole cases, or of an evaluator. Comments and layout stay; what cannot be edited in this way is
    refused.

    >>> print(with_thresholds("name: cities # mine\nthresholds: {pass: 0.8} # usual\n", {"pass": 0.7}))
    name: cities # mine
    thresholds: {pass: 0.7} # usual
    <BLANKLINE>
    """
    bom, body = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    shown = ", ".join(f"{mark}: {_number(value)}" for mark, value in marks.items())
    advice = f"write it there yourself: {_THRESHOLDS}: {{{shown}}}"
    try:
        root = yaml.compose(body, Loader=yaml.SafeLoader)
        place = _place(root, evaluator)
        changed = _applied(body, _changes(body, place, marks))
        expected, found = yaml.safe_load(body), yaml.safe_load(changed)
    except (yaml.YAMLError, _UneditableError, RecursionError) as error:
        why = f"{error}" if isinstance(error, _UneditableError) else "it cannot be read as YAML"
        raise ConfigError(f"{name} cannot be edited safely: {why}; {advice}") from None
    patched = _patched(expected, evaluator)
    patched[_THRESHOLDS] = {**(patched.get(_THRESHOLDS) or {}), **_plain(marks)}
    if expected != found:
        raise ConfigError(f"{name} cannot be edited safely: something else would change, too; {advice}")
    return bom + changed


class _UneditableError(Exception):
    """Why a text is not edited."""


def _number(value: float) -> str:
    return repr(round(float(value), _DIGITS))


def _plain(marks: Mapping[str, float]) -> dict[str, float]:
    return {mark: float(_number(value)) for mark, value in marks.items()}


def _place(root: Any, evaluator: str | None) -> MappingNode:
    """Return the mapping that has, or is to have, the thresholds."""
    if not isinstance(root, MappingNode):
        raise _UneditableError("it is no mapping")
    if evaluator is None:
        return root
    listed = _find(root, _EVALUATORS)
    for item in listed.value if isinstance(listed, SequenceNode) else ():
        if isinstance(item, MappingNode):
            named = _find(item, "name") or _find(item, "type")
            if isinstance(named, ScalarNode) and named.value == evaluator:
                return item
    raise _UneditableError(f"it has no evaluator {evaluator!r:.80}")


def _patched(data: Any, evaluator: str | None) -> Any:
    """Return the same place in what was read."""
    if evaluator is None:
        return data
    return next(item for item in data[_EVALUATORS] if str(item.get("name") or item.get("type")) == evaluator)


def _find(node: MappingNode, key: str) -> Any:
    return next((value for name, value in node.value if isinstance(name, ScalarNode) and name.value == key), None)


def _changes(text: str, place: MappingNode, marks: Mapping[str, float]) -> list[_Change]:
    is_quoted = any(name.style == '"' for name, _ in place.value)
    found = _find(place, _THRESHOLDS)
    if found is None:
        inner = ", ".join(f"{_key(mark, is_quoted)}: {_number(value)}" for mark, value in marks.items())
        return [_added(text, place, f"{_key(_THRESHOLDS, is_quoted)}: {{{inner}}}")]
    if not isinstance(found, MappingNode) or not found.value:
        raise _UneditableError("its thresholds are not a mapping with marks")
    changes: list[_Change] = []
    more: list[str] = []
    for mark, value in marks.items():
        there = _find(found, mark)
        if there is None:
            more.append(f"{_key(mark, is_quoted)}: {_number(value)}")
        elif not isinstance(there, ScalarNode):
            raise _UneditableError(f"its mark {mark} is not a number")
        else:
            changes.append(_Change(there.start_mark.index, there.end_mark.index, _number(value)))
    return changes + [_added(text, found, line) for line in more]


def _key(name: str, is_quoted: bool) -> str:
    return f'"{name}"' if is_quoted else name


def _added(text: str, place: MappingNode, line: str) -> _Change:
    """Add a key to a mapping: behind its last value within braces, else as a line of its own."""
    if not place.value:
        raise _UneditableError("there is an empty mapping where the marks belong")
    if place.flow_style:
        at = place.value[-1][1].end_mark.index
        return _Change(at, at, f", {line}")
    first = place.value[0][0]
    indent, newline = " " * first.start_mark.column, "\r\n" if "\r\n" in text else "\n"
    short = {
        name.value: value
        for name, value in place.value
        if isinstance(value, ScalarNode)
        and value.style not in ("|", ">")
        and value.start_mark.line == value.end_mark.line
    }
    after = next((short[name] for name in (*_AFTER, *short) if name in short), None)
    if after is None:
        return _Change(first.start_mark.index, first.start_mark.index, f"{line}{newline}{indent}")
    end = text.find("\n", after.end_mark.index)
    if end < 0:
        return _Change(len(text), len(text), f"{newline}{indent}{line}")
    end -= text[end - 1] == "\r"
    return _Change(end, end, f"{newline}{indent}{line}")


def _applied(text: str, changes: list[_Change]) -> str:
    for change in sorted(changes, reverse=True):
        text = text[: change.start] + change.text + text[change.end :]
    return text
