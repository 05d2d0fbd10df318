"""Comparing a JSON answer with what was expected, field by field."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from evenhand.domain.errors import ContractError
from evenhand.domain.json_path import path_text
from evenhand.domain.rubric import exact
from evenhand.evaluators.checks.assignment import best_pairs
from evenhand.evaluators.checks.field import JsonField, Path, is_step
from evenhand.evaluators.value_text import shown

ListMode: TypeAlias = Literal["ordered", "unordered", "subset", "superset"]

# Steps of looking and pairing: about a second. Two lists of 120 objects are within it.
MOST_STEPS: Final = 2_500_000
_STEPS_A_VALUE: Final = 20


class Absent:
    """What stands for a value that is not there."""


ABSENT: Final = Absent()


class Compared(NamedTuple):
    """Two values that were held against each other; ``right`` is None where a judge decides.

    ``field`` is None for a value that no field is about; it then counts as many times as it has values in it.
    """

    path: Path
    field: JsonField | None
    expected: object
    found: object
    right: bool | None
    size: int = 1

    @property
    def line(self) -> str:
        """Both values on one line."""
        place = path_text(self.path)
        margin = self.field.margin if self.field is not None else ""
        if self.right and not margin and self.expected == self.found:
            return f"{place}: {shown(self.found)}, as expected"
        return f"{place}: expected {_shown(self.expected)}{margin}, found {_shown(self.found)}"


def _shown(value: object) -> str:
    return "nothing" if value is ABSENT else shown(value)


class FieldComparison:
    """Holds answers against what was expected: by the fields, and by all other values where ``others`` is true.

    ``whole`` is how the values of fields are compared that are objects or lists; in the same way, if it is not given.
    """

    def __init__(
        self,
        fields: Sequence[JsonField],
        *,
        list_mode: ListMode,
        ignore: Collection[str] = (),
        others: bool,
        extra_keys: bool,
        whole: FieldComparison | None = None,
    ) -> None:
        self._fields = tuple((field, field.steps) for field in fields)
        self._list_mode = list_mode
        self._ignore = ignore
        self._others = others
        self._extra_keys = extra_keys
        self._whole = self if whole is None else whole
        weights = [exact(field.weight) for field in fields]
        self._scale = math.lcm(*(weight.denominator for weight in weights)) if weights else 1
        self._steps_left = MOST_STEPS
        # By the identities of both: what is tried within a pair of lists is not tried again further out.
        self._gains: dict[tuple[int, int, bool], tuple[int, int]] = {}
        self._digests: dict[int, str] = {}

    def compare(self, expected: object, answer: object) -> list[Compared]:
        """Compare an answer; ``ContractError`` means that its lists are too long to pair."""
        return list(self.walk(expected, answer, (), self._fields, self._others))

    def walk(self, expected: object, found: object, path: Path, fields: _Fields, others: bool) -> Iterator[Compared]:
        """Compare two values; ``fields`` are those that are here or further in."""
        self._spend(_STEPS_A_VALUE)
        for field, steps in fields:
            if len(steps) == len(path):
                yield from self._field(field, expected, found, path)
                return
        if not (fields or others) or (expected is ABSENT and found is ABSENT):
            return
        if not fields and (expected is ABSENT or found is ABSENT or not _alike(expected, found)):
            if expected is ABSENT and self._extra_keys:
                return
            size = self._size(found if expected is ABSENT else expected)
            if size:
                yield Compared(path, None, expected, found, right=_same(expected, found), size=size)
            return
        if isinstance(expected, dict) or (isinstance(found, dict) and expected is ABSENT):
            yield from self._keys(_dict(expected), _dict(found), path, fields, others)
        elif isinstance(expected, list) or (isinstance(found, list) and expected is ABSENT):
            yield from self._items(_list(expected), _list(found), path, fields, others)

    def _field(self, field: JsonField, expected: object, found: object, path: Path) -> Iterator[Compared]:
        if expected is ABSENT and (found is ABSENT or self._extra_keys):
            return
        if found is ABSENT and field.optional:
            return
        right: bool | None = False
        if expected is not ABSENT and found is not ABSENT:
            right = None if field.match == "judge" else self._is_right(field, expected, found, path)
        yield Compared(path, field, expected, found, right)

    def _is_right(self, field: JsonField, expected: object, found: object, path: Path) -> bool:
        if field.match != "exact":
            return field.is_right(expected, found)
        return all(compared.right for compared in self._whole.walk(expected, found, path, (), others=True))

    def _keys(
        self, expected: dict[str, Any], found: dict[str, Any], path: Path, fields: _Fields, others: bool
    ) -> Iterator[Compared]:
        if not expected and not found and others:
            yield Compared(path, None, expected, found, right=True)
        for key in [*expected, *(key for key in found if key not in expected)]:
            inner = _further(fields, path, key)
            if inner or (others and key not in self._ignore):
                both = expected.get(key, ABSENT), found.get(key, ABSENT)
                yield from self.walk(*both, (*path, key), inner, others and key not in self._ignore)

    def _items(
        self, expected: list[Any], found: list[Any], path: Path, fields: _Fields, others: bool
    ) -> Iterator[Compared]:
        if not expected and not found and others:
            yield Compared(path, None, expected, found, right=True)
        # The places are those of the expected items; further ones of the answer follow, so that no two share a path.
        further = itertools.count(len(expected))
        for ours, theirs in self._pairs(expected, found, path, fields, others):
            place = next(further) if ours is None else ours
            both = (ABSENT if ours is None else expected[ours]), (ABSENT if theirs is None else found[theirs])
            yield from self.walk(*both, (*path, place), _further(fields, path, place), others)

    def _pairs(
        self, expected: list[Any], found: list[Any], path: Path, fields: _Fields, others: bool
    ) -> list[tuple[int | None, int | None]]:
        """Say which items belong together, and which are alone and count."""
        if self._list_mode == "ordered":
            pairs = [(place, place) for place in range(min(len(expected), len(found)))]
        else:
            pairs = self._best_pairs(expected, found, path, _further(fields, path, 0), others)
        ours, theirs = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
        lacking = (
            []
            if self._list_mode == "subset"
            else [(place, None) for place in range(len(expected)) if place not in ours]
        )
        extra = (
            []
            if self._list_mode == "superset"
            else [(None, place) for place in range(len(found)) if place not in theirs]
        )
        return [*pairs, *lacking, *extra]

    def _best_pairs(
        self, expected: list[Any], found: list[Any], path: Path, fields: _Fields, others: bool
    ) -> list[tuple[int, int]]:
        """Pair items so that most is right and, of several such ways, least is wrong, in whatever order they come."""
        # Sorted by what they are, so that the same items are paired in the same way in every order.
        rows = sorted(range(len(expected)), key=lambda place: self._canonical(expected[place]))
        columns = sorted(range(len(found)), key=lambda place: self._canonical(found[place]))
        here = next((field for field, steps in fields if len(steps) == len(path) + 1), None)
        if (here is None and not fields) or (here is not None and (here.by_key or here.match == "exact")):
            keyed = self._pairs_by_key(expected, found, rows, columns, here)
            if keyed is not None:
                return keyed
        few, many = sorted((len(rows), len(columns)))
        if few * few * many + _STEPS_A_VALUE * few * many > self._steps_left:
            raise ContractError(
                f"the lists at {path_text(path)} have {len(expected)} and {len(found)} items, which are too many to "
                "find out which belong together; compare them in order",
                kind="too_long",
            )
        self._spend(few * few * many)
        gains = [[self._gain(expected[row], found[column], path, fields, others) for column in columns] for row in rows]
        most_wrong = 1 + sum(wrong for row in gains for _, wrong in row)
        chosen = best_pairs([[right * most_wrong - wrong for right, wrong in row] for row in gains])
        return sorted((rows[row], columns[column]) for row, column in chosen)

    def _pairs_by_key(
        self, expected: list[Any], found: list[Any], rows: list[int], columns: list[int], field: JsonField | None
    ) -> list[tuple[int, int]] | None:
        """Pair items that are the same or not, equal ones first; None where they can be alike in part."""
        whole = field is not None and field.match == "exact" and self._list_mode == "unordered" and not self._extra_keys
        if not whole and any(isinstance(item, (dict, list)) for item in (*expected, *found)):
            return None
        key = self._canonical if field is None or not field.by_key else _key_of(field)
        places: defaultdict[object, deque[int]] = defaultdict(deque)
        for column in columns:
            places[key(found[column])].append(column)
        pairs = [(row, places[same].popleft()) for row in rows if places[same := key(expected[row])]]
        paired = {row for row, _ in pairs}
        rest = sorted(column for several in places.values() for column in several)
        return sorted([*pairs, *zip([row for row in sorted(rows) if row not in paired], rest, strict=False)])

    def _gain(self, expected: object, found: object, path: Path, fields: _Fields, others: bool) -> tuple[int, int]:
        """Return how much is right in a pair of items, and how much wrong."""
        containers = isinstance(expected, (dict, list)) and isinstance(found, (dict, list))
        both = (id(expected), id(found), bool(fields))
        if containers and both in self._gains:
            return self._gains[both]
        right = wrong = 0
        for compared in self.walk(expected, found, (*path, 0), fields, others):
            weight = Fraction(compared.size) if compared.field is None else exact(compared.field.weight)
            is_right = compared.right
            if is_right is None:  # the judge is asked about those that are paired
                is_right = _same(compared.expected, compared.found)
            gained = int(weight * self._scale)
            right, wrong = (right + gained, wrong) if is_right else (right, wrong + gained)
        if containers:
            self._gains[both] = right, wrong
        return right, wrong

    def _canonical(self, value: object) -> str:
        """Return a text that equal values share; of an object or a list it is a hash, so that none is read twice."""
        if not isinstance(value, (dict, list)):
            return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)
        if id(value) not in self._digests:
            self._spend(1)
            if isinstance(value, dict):
                counted = sorted((each for each in value.items() if each[0] not in self._ignore), key=itemgetter(0))
                parts = ["{", *(f"{json.dumps(key)}:{self._canonical(member)}" for key, member in counted)]
            else:
                members = map(self._canonical, value)
                parts = ["[", *(members if self._list_mode == "ordered" else sorted(members))]
            self._digests[id(value)] = hashlib.sha256(",".join(parts).encode()).hexdigest()
        return self._digests[id(value)]

    def _size(self, value: object) -> int:
        """Count the values within a value; those of ignored keys do not count."""
        self._spend(1)
        if isinstance(value, dict) and value:
            return sum(self._size(member) for key, member in value.items() if key not in self._ignore)
        return sum(map(self._size, value)) if isinstance(value, list) and value else 1

    def _spend(self, steps: int) -> None:
        self._steps_left -= steps
        if self._steps_left < 0:
            raise ContractError("the answer is too large to compare with what was expected", kind="too_long")


_Fields: TypeAlias = tuple[tuple[JsonField, tuple[Any, ...]], ...]


def _further(fields: _Fields, path: Path, place: str | int) -> _Fields:
    return tuple([each for each in fields if is_step(each[1][len(path)], place)]) if fields else ()


def _key_of(field: JsonField) -> Any:
    def key(value: object) -> object:
        kind = field.key(value)
        return ("other", json.dumps(value)) if kind is None else kind

    return key


def _alike(left: object, right: object) -> bool:
    """Return whether both are objects, or both lists."""
    return any(isinstance(left, kind) and isinstance(right, kind) for kind in (dict, list))


def _same(left: object, right: object) -> bool:
    # Python takes true for 1; JSON does not.
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def field_scores(compared: Sequence[Compared]) -> Mapping[JsonField, float]:
    """Return the share of each field's values that are right."""
    rights: defaultdict[JsonField, list[bool]] = defaultdict(list)
    for each in compared:
        if each.field is not None:
            rights[each.field].append(bool(each.right))
    return {field: sum(right) / len(right) for field, right in rights.items()}
