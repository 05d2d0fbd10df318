"""Changes in the text of a suite: what is changed is found by its place, and all else stays as it was written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import yaml
from yaml import MappingNode, ScalarNode, SequenceNode

from evenhand.domain.errors import ConfigError
from evenhand.suites.document import CASE_KEYS
from evenhand.suites.evaluators import name_of
from evenhand.suites.python_evaluators import MADE_IN_PYTHON
from evenhand.suites.text_file import TextFile
from evenhand.suites.values import plain
from evenhand.suites.yaml_reader import LOADER, YamlReader

_THRESHOLDS: Final = "thresholds"
_EVALUATORS: Final = "evaluators"
# After which keys a new line is put: those that take one line, and stand before what is long.
_AFTER: Final = ("judge", "name", "type", "description")
_BOM: Final = "\ufeff"
# A mark that is rounded to so many digits still means the same: verdicts look past more noise than that.
_DIGITS: Final = 9
_WIDTH: Final = 100
_TEXT: Final = "tag:yaml.org,2002:str"


class _Change(NamedTuple):
    """What stands in place of a part of the text."""

    start: int
    end: int
    text: str


class _UneditableError(Exception):
    """Why a text is not edited."""


def with_thresholds(text: str, marks: Mapping[str, float], *, evaluator: str | None = None, name: str = "suite") -> str:
    r"""Return the text of a suite in YAML or JSON with other ``pass`` and ``borderline`` marks.

    They are those of whole cases, or of an evaluator. Comments and layout stay; what cannot be edited in this way is
    refused.

    >>> print(with_thresholds("name: cities # mine\nthresholds: {pass: 0.8} # usual\n", {"pass": 0.7}))
    name: cities # mine
    thresholds: {pass: 0.7} # usual
    <BLANKLINE>
    """
    rounded = {mark: round(float(value), _DIGITS) for mark, value in marks.items()}

    def changes(body: str, root: MappingNode) -> list[_Change]:
        return _changed_marks(body, root if evaluator is None else _evaluator(root, evaluator), rounded)

    def changed(data: dict[str, Any]) -> None:
        owner = data if evaluator is None else data[_EVALUATORS][_number_of(data, evaluator)]
        owner[_THRESHOLDS] = {**(owner.get(_THRESHOLDS) or {}), **rounded}

    shown = ", ".join(f"{mark}: {value!r}" for mark, value in rounded.items())
    return _edited(text, changes, changed, name, f"write it there yourself: {_THRESHOLDS}: {{{shown}}}")


def with_evaluator(text: str, definition: Mapping[str, Any], *, name: str = "suite") -> str:
    r"""Return the text of a suite in YAML or JSON with another definition of the evaluator of the same name.

    >>> print(with_evaluator("evaluators:\n- type: llm_judge # ours\n", {"type": "llm_judge", "scale": "1-5"}), end="")
    evaluators:
    - type: llm_judge
      scale: 1-5 # ours
    """
    wanted = name_of(definition)

    def changes(body: str, root: MappingNode) -> list[_Change]:
        return [_replaced(body, _evaluator(root, wanted), definition)]

    def changed(data: dict[str, Any]) -> None:
        data[_EVALUATORS][_number_of(data, wanted)] = dict(definition)

    return _edited(text, changes, changed, name, "add the evaluator by hand")


def definition_text(definition: Mapping[str, Any]) -> str:
    """Write the definition of an evaluator as a suite has it.

    >>> print(definition_text({"name": "quality", "instructions": "Be strict."}), end="")
    name: quality
    instructions: Be strict.
    """
    written = {key: value for key, value in definition.items() if key != MADE_IN_PYTHON}
    text: str = yaml.dump(written, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and repeats what is there twice: suites have no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(_TEXT, text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def _edited(
    text: str,
    changes: Callable[[str, MappingNode], Sequence[_Change]],
    changed: Callable[[dict[str, Any]], None],
    name: str,
    advice: str,
) -> str:
    """Make changes in a text, and refuse them unless it then reads as what was there, ``changed``."""
    bom, body = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    try:
        root = yaml.compose(body, Loader=LOADER)
        if not isinstance(root, MappingNode):
            raise _UneditableError("it is no mapping")
        made = body
        for change in sorted(changes(body, root), reverse=True):
            made = made[: change.start] + change.text + made[change.end :]
        expected, found = _read(body), _read(made)
    except (yaml.YAMLError, _UneditableError, RecursionError) as error:
        why = f"{error}" if isinstance(error, _UneditableError) else "it cannot be read as YAML"
        raise ConfigError(f"{name} cannot be edited safely: {why}; {advice}") from None
    changed(expected)
    if expected != found:
        raise ConfigError(f"{name} cannot be edited safely: something else would change, too; {advice}")
    return bom + made


def _read(text: str) -> dict[str, Any]:
    """Read a text as strictly as suites are read."""
    if text.lstrip().startswith("{"):
        try:
            found: dict[str, Any] = json.loads(text)
        except ValueError:  # it is YAML
            pass
        else:
            return found
    try:
        with TextFile(text.encode("utf-8", "surrogatepass")) as file:
            pieces = list(YamlReader(file).suite(frozenset(CASE_KEYS)))
    except ConfigError as error:
        raise _UneditableError(f"it cannot be read as YAML: {error}") from None
    for fault in (fault for piece in pieces for fault in piece.faults):
        raise _UneditableError(f"it cannot be read as YAML: line {fault.line}: {fault.text}")
    cases = [plain(piece.value) for piece in pieces if piece.key is None]
    return {"": cases} | {piece.key: plain(piece.value) for piece in pieces if piece.key is not None}


def _find(node: MappingNode, key: str) -> Any:
    return next((value for name, value in node.value if isinstance(name, ScalarNode) and name.value == key), None)


def _evaluator(root: MappingNode, wanted: str) -> MappingNode:
    listed = _find(root, _EVALUATORS)
    for item in listed.value if isinstance(listed, SequenceNode) else ():
        if isinstance(item, MappingNode):
            known = {key: getattr(_find(item, key), "value", None) for key in ("name", "type")}
            if name_of(known) == wanted:
                return item
    raise _UneditableError(f"it has no evaluator {wanted!r:.80}")


def _number_of(data: Mapping[str, Any], wanted: str) -> int:
    """Return the same evaluator's place in what was read."""
    return next(
        number for number, item in enumerate(data[_EVALUATORS]) if isinstance(item, Mapping) and name_of(item) == wanted
    )


def _changed_marks(text: str, place: MappingNode, marks: Mapping[str, float]) -> list[_Change]:
    is_quoted = any(name.style == '"' for name, _ in place.value)
    found = _find(place, _THRESHOLDS)
    if found is None:
        inner = ", ".join(f"{_key(mark, is_quoted)}: {value!r}" for mark, value in marks.items())
        return [_added(text, place, f"{_key(_THRESHOLDS, is_quoted)}: {{{inner}}}")]
    if not isinstance(found, MappingNode) or not found.value:
        raise _UneditableError("its thresholds are not a mapping with marks")
    changes: list[_Change] = []
    more: list[str] = []
    for mark, value in marks.items():
        there = _find(found, mark)
        if there is None:
            more.append(f"{_key(mark, is_quoted)}: {value!r}")
        elif not isinstance(there, ScalarNode):
            raise _UneditableError(f"its mark {mark} is not a number")
        else:
            changes.append(_Change(there.start_mark.index, there.end_mark.index, repr(value)))
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
    indent, newline = " " * first.start_mark.column, _newline(text)
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


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _replaced(text: str, node: MappingNode, definition: Mapping[str, Any]) -> _Change:
    """Put another definition in the place of an evaluator: as a block, or as JSON within brackets."""
    begin = node.start_mark.index
    end = begin + len(text[begin : _end(node)].rstrip())
    before = text[:begin].rpartition("\n")[2]
    if before.strip() != "-":  # it stands in the brackets of others, where no block can; a lone one can become a block
        return _Change(begin, end, json.dumps(definition, ensure_ascii=False))
    indent = _newline(text) + " " * node.start_mark.column
    return _Change(begin, end, indent.join(definition_text(definition).rstrip("\n").split("\n")))


def _end(node: Any) -> int:
    """Return where a node ends. A block ends with its last value; what follows up to the next key may be comments."""
    if isinstance(node, ScalarNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)
