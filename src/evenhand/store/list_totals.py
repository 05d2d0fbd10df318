"""How many evaluations and cases of a run match the usual filters: counted once, when its listing is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from evenhand.store.list_filter import STANDINGS, CaseFilter, Filter
from evenhand.store.listed_rows import CASE_COLUMNS, EVALUATION_COLUMNS, ListedRows
from evenhand.store.rows import column

# An error is recorded as a fail.
_OF_VERDICT: Final = {"pass": ("pass",), "borderline": ("borderline",), "fail": ("fail", "error")}
_OF_STATUS: Final = {"scored": ("pass", "borderline", "fail"), "not_evaluated": ("not_evaluated",), "error": ("error",)}
# Where there are more kinds, as with hundreds of evaluators, what matches is counted when somebody asks.
_MOST_KINDS: Final = 2_000

# What is counted apart: the evaluator, the model, the standing and whether it was retried; of cases, the model, the
# standing, whether it was retried, and whether its evaluators differ.
_Kind: TypeAlias = tuple[Any, ...]
_Matches: TypeAlias = Callable[[_Kind], bool]

_EVALUATION: Final = tuple(EVALUATION_COLUMNS.index(name) for name in ("evaluator", "model", "standing", "retried"))
_CASE: Final = tuple(CASE_COLUMNS.index(name) for name in ("model", "standing", "retried", "differs"))
_POSITION: Final = EVALUATION_COLUMNS.index("position")
_SCORE: Final = EVALUATION_COLUMNS.index("score")
_NAME: Final = EVALUATION_COLUMNS.index("evaluator")


@dataclass(slots=True)
class Totals:
    """Counts of evaluations and of cases by what most filters ask for.

    ``scored`` is how many evaluations have a score, and ``is_single`` says that each evaluator judges a case at most
    once.
    """

    evaluations: Counter[_Kind] = field(default_factory=Counter)
    cases: Counter[_Kind] = field(default_factory=Counter)
    scored: int = 0
    is_single: bool = True

    def add(self, made: ListedRows) -> None:
        """Take in some rows: all of each case."""
        if not self.is_known:
            return
        one, two, three, four = _EVALUATION
        self.evaluations.update([(row[one], row[two], row[three], row[four]) for row in made.evaluations])
        self.scored += sum(row[_SCORE] is not None for row in made.evaluations)
        one, two, three, four = _CASE
        self.cases.update([(row[one], row[two], row[three], row[four]) for row in made.cases])
        if self.is_single:
            judged = {(row[_POSITION], row[_NAME]) for row in made.evaluations}
            self.is_single = len(judged) == len(made.evaluations)

    @property
    def is_known(self) -> bool:
        """Whether there were few enough kinds to count them all."""
        return max(len(self.evaluations), len(self.cases)) <= _MOST_KINDS

    def of_evaluations(self, condition: Filter) -> int | None:
        """Return how many evaluations match a filter; None if that is to be counted."""
        looked_up = replace(condition, verdict=(), status=(), evaluator=(), model=(), has_error=None, retried=None)
        if not self.is_known or not looked_up.is_empty:
            return None
        return _count(
            self.evaluations,
            _one_of(0, condition.evaluator),
            _one_of(1, map(column, condition.model)),
            *(_within(2, standings) for standings in standings_of(condition)),
            _is(3, condition.retried),
        )

    def of_cases(self, condition: CaseFilter) -> int | None:
        """Return how many cases match a filter, where each is a row of its own; None if that is to be counted."""
        looked_up = replace(condition, standing=(), model=(), evaluator=(), retried=None, differ=False)
        if not self.is_known or not looked_up.is_empty:
            return None
        model = _one_of(0, map(column, condition.model))
        standings = {STANDINGS[name] for name in condition.standing if name in STANDINGS}
        standing = _within(1, standings if condition.standing else set(STANDINGS.values()))
        if not condition.evaluator:
            return _count(self.cases, model, standing, _is(2, condition.retried), _is(3, condition.differ or None))
        if not self.is_single or len(condition.evaluator) > 1 or condition.differ:
            return None
        by_evaluator = Counter[_Kind]()
        for (name, *kind), count in self.evaluations.items():
            by_evaluator[tuple(kind)] += count if name in condition.evaluator else 0
        return _count(by_evaluator, model, standing, _is(2, condition.retried))

    def as_dict(self) -> dict[str, Any] | None:
        """Return it as JSON values; None if there were too many kinds."""
        if not self.is_known:
            return None
        return {
            "evaluations": [[*kind, count] for kind, count in self.evaluations.items()],
            "cases": [[*kind, count] for kind, count in self.cases.items()],
            "scored": self.scored,
            "is_single": self.is_single,
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Totals:
        """Return what ``as_dict`` wrote."""
        evaluations, cases = (
            Counter({tuple(kind): count for *kind, count in found[name]}) for name in ("evaluations", "cases")
        )
        return cls(evaluations, cases, found["scored"], found["is_single"])


def standings_of(condition: Filter) -> list[set[int]]:
    """Return the standings that a filter of evaluations leaves, for each of its conditions about them."""
    asked = ((condition.verdict, _OF_VERDICT), (condition.status, _OF_STATUS))
    found = [{STANDINGS[one] for name in names for one in known.get(name, ())} for names, known in asked if names]
    if condition.has_error is not None:
        error = {STANDINGS["error"]}
        found.append(error if condition.has_error else set(STANDINGS.values()) - error)
    return found


def _one_of(place: int, values: Iterable[Any]) -> _Matches:
    """Match one of some values; of none, any."""
    wanted = frozenset(values)
    return lambda kind: not wanted or kind[place] in wanted


def _within(place: int, values: set[int]) -> _Matches:
    return lambda kind: kind[place] in values


def _is(place: int, flag: bool | None) -> _Matches:
    return lambda kind: flag is None or bool(kind[place]) is flag


def _count(kinds: Counter[_Kind], *matches: _Matches) -> int:
    return sum(count for kind, count in kinds.items() if all(match(kind) for match in matches))
