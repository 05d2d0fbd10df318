"""How much work a schema can make, counted before any is done.

A validator looks at a value once for every way that leads there through the schema. Ways double with each pair of
references to the same place, so a schema of 800 bytes can make a validator look a million times. Here the ways are
counted without being walked: for each depth of a document, how often at most one value down there is looked at.

The count is in units: one look at one value, or a hundred characters under a small pattern. A unit takes at most some
40 µs, most of it for describing an error.
"""

from __future__ import annotations

import graphlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from evenhand.domain.errors import ConfigError
from evenhand.domain.json_path import step_text
from evenhand.evaluators.scanner import MAX_DEPTH
from evenhand.evaluators.schema.patterns import Kind
from evenhand.evaluators.value_text import shortened

# Where subschemas stand: alone, in a list, or under names; and which value they look at: the same one ("here"), one
# of its members that no two of them share ("named"), or any member ("below").
_ALONE = {"not", "if", "then", "else", "additionalProperties", "propertyNames", "items", "additionalItems"} | {
    "contains", "unevaluatedItems", "unevaluatedProperties", "contentSchema",
}  # fmt: skip
_LISTED = {"allOf", "anyOf", "oneOf", "prefixItems", "items"}
_KEYED = {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
_HERE = {"not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"}
_NAMED = {"properties", "prefixItems"}
_APPLIED = _ALONE | _LISTED | _KEYED
# Their errors repeat the whole subschema.
_REPEATED = {"not", "propertyNames", "contains"}
_UNAPPLIED = {"$defs", "definitions", "contentSchema"}
_UNEVALUATED = {"unevaluatedItems", "unevaluatedProperties"}

# Finding out what is unevaluated goes through the subschemas again: 2.6 times the work for each level, measured.
_UNEVALUATED_FACTOR = 3
# Each name in these is one more error where it is missing.
_REQUIRING = {"required", "dependentRequired", "dependencies"}
# Options of an enum, names of properties and the like that are compared in the time of one unit.
_COMPARED_IN_A_UNIT = 16
# Characters of the schema that an error repeats in the time, and memory, of one unit.
_MESSAGE_IN_A_UNIT = 200
_PATTERN_WEIGHTS = {Kind.SMALL: 30, Kind.LARGE: 1_000, Kind.HUGE: 20_000, Kind.LOOKING: 1_000}

# Every subschema keeps its path, and keys may be long.
_LONGEST_STEP = 60

# Most schemas look no different from a few levels down; of one that still does here, deeper levels count as too much.
_LEVELS_COUNTED = 32
# Counting stops here: no document is small enough for that much.
TOO_MUCH: Final = 1_000_000


@dataclass(slots=True, kw_only=True)
class Node:
    """One subschema and where it leads: to subschemas for the same value, for one member, for any member."""

    path: str
    schema: Mapping[str, Any]
    here: list[int] = field(default_factory=list)
    named: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)

    @property
    def message_size(self) -> int:
        """How many characters an error of this subschema may repeat."""
        own = {key: value for key, value in self.schema.items() if key in _REPEATED or key not in _APPLIED}
        return len(json.dumps(own))

    @property
    def patterns(self) -> list[str]:
        """The patterns of this subschema itself."""
        named = self.schema.get("patternProperties")
        candidates = [self.schema.get("pattern"), *(named if isinstance(named, Mapping) else ())]
        return [pattern for pattern in candidates if isinstance(pattern, str)]


class SchemaGraph:
    """All subschemas of a schema (which has passed its meta-schema), the first being the whole.

    ``beyond`` says what in it leads out of what can be counted; None if nothing does.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        dialect = str(schema.get("$schema", ""))
        self._id = "id" if "draft-04" in dialect else "$id"
        # Up to draft 7, a $ref hides whatever stands beside it.
        self._ref_hides = "draft-0" in dialect
        self._root = schema
        self._numbers: dict[int, int] = {}
        self._anchors: dict[str, Mapping[str, Any]] = {}
        self.nodes: list[Node] = []
        self.beyond: str | None = None
        self._one_document = True
        self._add(schema, "$")
        self._link()
        self.order = self._order()
        self.chain = self._longest_chain()

    def _add(self, schema: Mapping[str, Any], path: str) -> None:
        waiting = [(schema, path)]
        while waiting:
            subschema, where = waiting.pop()
            if id(subschema) not in self._numbers:
                self._numbers[id(subschema)] = len(self.nodes)
                self.nodes.append(Node(path=where, schema=subschema))
                self._note_names(subschema, where)
                waiting += [(child, f"{where}{step}") for _, child, step in subschemas(subschema)]

    def _note_names(self, schema: Mapping[str, Any], path: str) -> None:
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(name := schema.get(keyword), str):
                self._anchors[name] = schema
        if path != "$" and isinstance(name := schema.get(self._id), str):
            if name.startswith("#"):  # how drafts 6 and 7 spell an anchor
                self._anchors[name[1:]] = schema
            else:
                self.beyond = f"{path} has its own {self._id}"
                self._one_document = False
        if path != "$" and "$schema" in schema:
            self.beyond = f"{path} has its own $schema"
        for keyword in ("$dynamicRef", "$recursiveRef"):
            if keyword in schema:
                self.beyond = f"{path} has a {keyword}"

    def _link(self) -> None:
        for node in self.nodes:  # grows while it is walked: a $ref may lead to where no keyword does
            if self._one_document and isinstance(reference := node.schema.get("$ref"), str):
                target = self._target(reference, node.path)
                if target is not None:
                    self._add(target, f"{node.path}.$ref")
                    node.here.append(self._numbers[id(target)])
                if self._ref_hides:
                    continue
            for keyword, child, _ in subschemas(node.schema):
                number = self._numbers[id(child)]
                if keyword in _HERE:
                    node.here.append(number)
                elif keyword in _NAMED or isinstance(node.schema[keyword], list):
                    node.named.append(number)
                elif keyword not in _UNAPPLIED:
                    node.below.append(number)

    def _target(self, reference: str, path: str) -> Mapping[str, Any] | None:
        """Find what a reference means; None for true, false, and what is outside of this document."""
        own_name = str(self._root.get(self._id, "")).rstrip("#")
        place = reference.removeprefix(own_name) if own_name else reference
        target: Any = self._root
        if place not in {"", "#"}:
            if not place.startswith("#"):
                self.beyond = f"{path}.$ref leads out of the schema"
                return None
            name = unquote(place[1:])
            target = _resolve_pointer(target, name) if name.startswith("/") else self._anchors.get(name)
        if isinstance(target, bool):
            return None
        if not isinstance(target, Mapping):
            raise ConfigError(f"{path}.$ref is {reference!r:.120}, but there is no schema there")
        return target

    def _order(self) -> list[int]:
        """Put every subschema behind those that look at the same value for it."""
        try:
            return list(graphlib.TopologicalSorter(dict(enumerate(node.here for node in self.nodes))).static_order())
        except graphlib.CycleError as error:
            ring = " → ".join(self.nodes[number].path for number in reversed(error.args[1]))
            raise ConfigError(
                f"{ring:.400} refers to itself without going deeper into the document, so it never ends"
            ) from None

    def _longest_chain(self) -> int:
        longest = [1] * len(self.nodes)
        for number in self.order:
            longest[number] += max((longest[other] for other in self.nodes[number].here), default=0)
        return max(longest)

    def patterns(self) -> dict[str, str]:
        """Return all patterns, each with the place where it stands first."""
        places: dict[str, str] = {}
        for node in self.nodes:
            for pattern in node.patterns:
                places.setdefault(pattern, node.path)
        return places

    @property
    def unevaluated(self) -> bool:
        """Whether any subschema asks what others have left unevaluated."""
        return any(_UNEVALUATED & node.schema.keys() for node in self.nodes)

    def work(self, kinds: Mapping[str, Kind]) -> tuple[int, ...]:
        """Count, for documents of each depth from 0 to the deepest, the units that one unit of their size can cost."""
        level = self._work_here(kinds)
        # Patterns that look around are tried on every text first, wherever they stand.
        looking = sum(_PATTERN_WEIGHTS[kind] for kind in kinds.values() if kind is Kind.LOOKING)
        totals = [min(level[0] + looking, TOO_MUCH)]
        settled = False
        for depth in range(MAX_DEPTH):
            if not settled and depth < _LEVELS_COUNTED:
                above, level = level, self._one_deeper(level)
                settled = level == above
            counted = settled or depth < _LEVELS_COUNTED
            totals.append(min(totals[-1] + level[0], TOO_MUCH) if counted else TOO_MUCH)
        return tuple(totals)

    def heaviest(self, kinds: Mapping[str, Kind]) -> int:
        """Count the units that any of the subschemas costs for one value."""
        return max(self._work_here(kinds))

    def _work_here(self, kinds: Mapping[str, Kind]) -> list[int]:
        """Count for each subschema what it costs to look at one value, not at its members."""
        level = [0] * len(self.nodes)
        for number in self.order:
            node = self.nodes[number]
            own = 1 + sum(_names_in(node.schema[keyword]) for keyword in _REQUIRING & node.schema.keys())
            own += sum(map(_size, node.schema.values())) // _COMPARED_IN_A_UNIT
            own += node.message_size // _MESSAGE_IN_A_UNIT
            own += sum(_PATTERN_WEIGHTS[kinds[pattern]] for pattern in node.patterns)
            factor = _UNEVALUATED_FACTOR if _UNEVALUATED & node.schema.keys() else 1
            level[number] = min(own + factor * sum(level[other] for other in node.here), TOO_MUCH)
        return level

    def _one_deeper(self, above: list[int]) -> list[int]:
        level = [0] * len(self.nodes)
        for number in self.order:
            node = self.nodes[number]
            if not (node.here or node.named or node.below):
                continue
            looks = sum([level[other] for other in node.here])
            if _UNEVALUATED & node.schema.keys():
                looks *= _UNEVALUATED_FACTOR
            if node.named:
                looks += max([above[other] for other in node.named])
            level[number] = min(looks + sum([above[other] for other in node.below]), TOO_MUCH)
        return level


def subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Yield the subschemas of a schema, each with its keyword and the step of a path that leads to it."""
    for keyword, value in schema.items():
        if keyword in _LISTED and isinstance(value, list):
            members = [(subschema, f".{keyword}[{number}]") for number, subschema in enumerate(value)]
        elif keyword in _KEYED and isinstance(value, Mapping):
            members = [
                (subschema, f".{keyword}{step_text(shortened(name, _LONGEST_STEP))}")
                for name, subschema in value.items()
            ]
        elif keyword in _ALONE:
            members = [(value, f".{keyword}")]
        else:
            continue
        for subschema, step in members:
            if isinstance(subschema, Mapping):
                yield keyword, subschema, step


def _resolve_pointer(root: object, pointer: str) -> object:
    target = root
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(target, Mapping) and key in target:
            target = target[key]
        elif isinstance(target, list) and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        else:
            return None
    return target


def _size(value: object) -> int:
    """Count roughly what is compared for a keyword, such as the options of an enum."""
    if isinstance(value, list):
        return 1 + sum(map(_size, value))
    return 1 + len(value) if isinstance(value, Mapping) else 1


def _names_in(value: object) -> int:
    if isinstance(value, Mapping):
        return sum(map(_names_in, value.values()))
    return len(value) if isinstance(value, list) else 0
