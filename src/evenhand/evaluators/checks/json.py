"""Checks of the answer's JSON: whether it is JSON, and how much of what was expected it has."""

from __future__ import annotations

import json
import math
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

from evenhand.domain.aggregate import weighted_mean
from evenhand.domain.ask import Steps
from evenhand.domain.case import Case, is_blank
from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError, ContractError, require_flag
from evenhand.domain.json_path import path_text
from evenhand.domain.rubric import is_weight
from evenhand.evaluators.checks.check import (
    NO_ANSWER,
    NO_REFERENCE,
    DeterministicCheck,
    Finding,
    Found,
    GradedCheck,
    Missing,
)
from evenhand.evaluators.reading import first_value, parse_strict
from evenhand.evaluators.schema.compiled import compile_schema
from evenhand.evaluators.schema.evaluator import compile_option, find_errors, is_empty
from evenhand.evaluators.value_text import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class IsJson(DeterministicCheck):
    """The answer is JSON and nothing else; with ``schema``, it is valid against it too."""

    type: ClassVar[str] = "is_json"

    schema: str | Mapping[str, Any] | bool | None = None

    def __post_init__(self) -> None:
        DeterministicCheck.__post_init__(self)
        if not is_empty(self.schema):
            compile_option(self.schema, self.where)

    def look(self, case: Case) -> Steps[Finding]:
        """Read the answer, and hold it against the schema."""
        if case.candidate_answer is None:
            return NO_ANSWER
        try:
            value = parse_strict(case.candidate_answer)
        except ContractError as error:
            return Found.that(False, f"The answer is not JSON: {error}.")
        if self.schema is None or is_empty(self.schema):
            return Found.that(True, "The answer is JSON.")
        errors = yield from find_errors(compile_schema(self.schema), value)
        if errors:
            return Found(score=0.0, misses=tuple(f"{path}: {message}" for path, message in errors))
        return Found.that(True, "The answer is JSON and valid against the schema.")


ListMode: TypeAlias = Literal["ordered", "unordered", "subset", "superset"]
Path: TypeAlias = tuple[str | int, ...]

# Pairs of values that are tried to find out which items of two lists are alike: well under a second.
MOST_PAIRS: Final = 100_000


class Comparison:
    """One comparison of an answer with what was expected; ``misses`` has a line for every difference that counts."""

    def __init__(self, *, list_mode: ListMode, ignore: Collection[str], extra_keys: bool) -> None:
        self._list_mode = list_mode
        self._ignore = ignore
        self._extra_keys = extra_keys
        self._pairs_left = MOST_PAIRS
        # How alike two values are, by their identities, so that nested lists are not tried again at every level.
        self._likenesses: dict[tuple[int, int], float] = {}
        self._trying = 0
        self.misses: list[str] = []

    def score(self, expected: object, answer: object, path: Path = ()) -> float:
        """Return how much of what was expected is there: all of it is 1."""
        if isinstance(expected, dict) and isinstance(answer, dict):
            return _mean(self.keys(expected, answer, path).values())
        if isinstance(expected, list) and isinstance(answer, list):
            if self._list_mode == "ordered":
                return self._in_order(expected, answer, path)
            return self._in_any_order(expected, answer, path)
        if _same(expected, answer):
            return 1.0
        self._miss(path, "expected {}, found {}", expected, answer)
        return 0.0

    def keys(self, expected: dict[str, Any], answer: dict[str, Any], path: Path = ()) -> dict[str, float]:
        """Score each key that counts."""
        scores: dict[str, float] = {}
        for key, value in expected.items():
            if key in self._ignore:
                continue
            if key in answer:
                scores[key] = self.score(value, answer[key], (*path, key))
            else:
                scores[key] = 0.0
                self._miss((*path, key), "expected {}, found nothing", value)
        if not self._extra_keys:
            for key in [key for key in answer if key not in expected and key not in self._ignore]:
                scores[key] = 0.0
                self._miss((*path, key), "expected nothing, found {}", answer[key])
        return scores

    def _in_order(self, expected: list[Any], answer: list[Any], path: Path) -> float:
        both = min(len(expected), len(answer))
        scores = [self.score(expected[place], answer[place], (*path, place)) for place in range(both)]
        self._miss_items(expected, range(both, len(expected)), path, "expected {}, found nothing")
        self._miss_items(answer, range(both, len(answer)), path, "expected nothing, found {}")
        return _mean([*scores, *[0.0] * (max(len(expected), len(answer)) - both)])

    def _in_any_order(self, expected: list[Any], answer: list[Any], path: Path) -> float:
        partners = self._partners(expected, answer)
        scores = [
            self.score(expected[place], answer[partner], (*path, place)) for place, partner in sorted(partners.items())
        ]
        lacking = [place for place in range(len(expected)) if place not in partners]
        extra = sorted(set(range(len(answer))) - set(partners.values()))
        if self._list_mode == "subset":
            lacking = []
        if self._list_mode == "superset":
            extra = []
        self._miss_items(expected, lacking, path, "expected {}, found nothing")
        self._miss_items(answer, extra, path, "expected nothing, found {}")
        return _mean([*scores, *[0.0] * max(len(lacking), len(extra))])

    def _partners(self, expected: list[Any], answer: list[Any]) -> dict[int, int]:
        """Settle which items belong together: equal ones, then, pair by pair, those that are most alike."""
        places: defaultdict[str, deque[int]] = defaultdict(deque)
        for place, item in enumerate(answer):
            places[self._canonical(item)].append(place)
        partners: dict[int, int] = {}
        for place, item in enumerate(expected):
            if equal := places[self._canonical(item)]:
                partners[place] = equal.popleft()
        ours = [place for place in range(len(expected)) if place not in partners]
        theirs = sorted(place for rest in places.values() for place in rest)
        if not self._trying:  # what is tried within was paid for with the sizes of both lists
            pairs = _size([expected[place] for place in ours]) * _size([answer[place] for place in theirs])
            if pairs > self._pairs_left:  # in lists as large as these, the others are taken in order
                return partners | dict(zip(ours, theirs, strict=False))
            self._pairs_left -= pairs
        alike = sorted(
            (-self._likeness(expected[expected_place], answer[answer_place]), expected_place, answer_place)
            for expected_place in ours
            for answer_place in theirs
        )
        taken: set[int] = set()
        for unlikeness, expected_place, answer_place in alike:
            if unlikeness < 0 and expected_place not in partners and answer_place not in taken:
                partners[expected_place] = answer_place
                taken.add(answer_place)
        return partners

    def _likeness(self, expected: object, answer: object) -> float:
        both = (id(expected), id(answer))
        if both not in self._likenesses:
            self._trying += 1
            self._likenesses[both] = self.score(expected, answer)
            self._trying -= 1
        return self._likenesses[both]

    def _canonical(self, value: object) -> str:
        return json.dumps(self._plain(value), sort_keys=True)

    def _plain(self, value: object) -> object:
        if isinstance(value, dict):
            return {key: self._plain(member) for key, member in value.items() if key not in self._ignore}
        if isinstance(value, list):
            return [self._plain(member) for member in value]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def _miss_items(self, items: list[Any], places: Iterable[int], path: Path, template: str) -> None:
        for place in places:
            self._miss((*path, place), template, items[place])

    def _miss(self, path: Path, template: str, *values: object) -> None:
        if not self._trying:
            self.misses.append(f"{path_text(path)}: {template.format(*map(shown, values))}")


def _same(left: object, right: object) -> bool:
    # Python takes true for 1; JSON does not.
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _mean(scores: Collection[float]) -> float:
    """Return the mean; where nothing counts, nothing is wrong."""
    return math.fsum(scores) / len(scores) if scores else 1.0


def _size(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMatch(GradedCheck):
    """Scores how much of the expected JSON the answer has.

    >>> from evenhand import Case
    >>> case = Case(candidate_answer='{"name": "Ada", "born": 1816}', reference_answer='{"name": "Ada", "born": 1815}')
    >>> evaluation = JsonMatch().evaluate(case)
    >>> evaluation.score, evaluation.misses
    (0.5, ('$.born: expected 1815, found 1816',))

    An object scores the mean of its expected keys, weighed at the top by ``weights``; a list the mean of its items; any
    other value 1 or 0. Equal numbers are equal however they are written, and true is no number. Keys named in
    ``ignore`` do not count, wherever they stand; further keys do not count unless ``extra_keys`` is false.

    ``list_mode`` says how the answer's lists may differ from the expected ones: ``ordered``, not at all; ``unordered``,
    in order; ``subset``, by leaving items out, ``superset``, by having more, both in any order. Which items belong
    together is settled by taking equal ones first, then the most alike.

    ``value`` is the expected JSON, as text or as what such text means; without it, the reference answer is.
    """

    type: ClassVar[str] = "json_match"

    value: Any = None
    list_mode: ListMode = "ordered"
    ignore: Sequence[str] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    extra_keys: bool = True
    parse: Literal["strict", "tolerant"] = "strict"

    def __post_init__(self) -> None:
        GradedCheck.__post_init__(self)
        if self.list_mode not in get_args(ListMode):
            names = ", ".join(get_args(ListMode))
            raise ConfigError(
                f"{self.where}: list_mode is {self.list_mode!r}; it must be one of {names}", key="list_mode"
            )
        if isinstance(self.ignore, str) or not all(isinstance(key, str) for key in self.ignore):
            raise ConfigError(f"{self.where}: ignore is {self.ignore!r:.80}; it must be a list of keys", key="ignore")
        if not isinstance(self.weights, Mapping) or not all(map(is_weight, self.weights.values())):
            raise ConfigError(
                f"{self.where}: weights is {self.weights!r:.80}; it must give keys numbers of 0 or more", key="weights"
            )
        require_flag(self.extra_keys, "extra_keys", where=self.where)
        if self.parse not in {"strict", "tolerant"}:
            raise ConfigError(f"{self.where}: parse is {self.parse!r}; it must be 'strict' or 'tolerant'", key="parse")
        if self.value is not None:
            self._set("value", self._json(self.value))

    def _json(self, value: object) -> str:
        """Keep the expected JSON as text, so that nobody can change it."""
        try:
            text = value if isinstance(value, str) else json.dumps(value, allow_nan=False)
            parse_strict(text)
        except (ContractError, TypeError, ValueError, RecursionError) as error:
            raise ConfigError(
                f"{self.where}: value is not JSON: {error}; text needs its own quotes within the JSON", key="value"
            ) from None
        return text

    def look(self, case: Case) -> Steps[Finding]:
        """Compare the answer with what was expected."""
        yield from ()
        expected_text = case.reference_answer if self.value is None else self.value
        if case.candidate_answer is None:
            return NO_ANSWER
        if expected_text is None or is_blank(expected_text):
            return NO_REFERENCE
        try:
            expected = parse_strict(expected_text)
        except ContractError as error:
            return Missing(f"The reference answer is not JSON: {error}.")
        try:
            answer = (first_value if self.parse == "tolerant" else parse_strict)(case.candidate_answer)
        except ContractError as error:
            return Found.that(False, f"The answer is not JSON: {error}.")
        return self._compare(expected, answer)

    def _compare(self, expected: object, answer: object) -> Finding:
        comparison = Comparison(list_mode=self.list_mode, ignore=frozenset(self.ignore), extra_keys=self.extra_keys)
        if not isinstance(expected, dict) or not isinstance(answer, dict):
            score = comparison.score(expected, answer)
            return Found(
                score=score, hits=("The answer matches.",) if score == 1 else (), misses=tuple(comparison.misses)
            )
        scores = comparison.keys(expected, answer)
        if not scores and not self.extra_keys:
            return Found.that(True, "The answer has no key that counts, as expected.")
        weighed = [(score, self.weights.get(key, 1.0)) for key, score in scores.items()]
        if not any(weight for _, weight in weighed):
            return Missing("No key is expected that counts.")
        return Found(
            score=weighted_mean(weighed),
            hits=tuple(f"{path_text([key])}: as expected" for key, score in scores.items() if score == 1),
            misses=tuple(comparison.misses),
            details={"keys": {storable(key): score for key, score in scores.items()}},
        )
