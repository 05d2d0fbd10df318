"""What the rest of a run will cost, by what its cases have cost so far."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from evenhand.domain.run import CaseResult, Judgment, PlannedCase
from evenhand.stats.distributions import t_quantile

# So many cases are judged before anything is said of the others.
LEAST_CASES: Final = 20
_LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class CostForecast:
    """What the evaluations that are left will cost, in dollars: about ``rest``, from ``low`` to ``high`` (95 %).

    ``spent`` is what was paid before, and ``cases`` is how many cases this was learnt from.
    """

    spent: float
    rest: float
    low: float
    high: float
    cases: int

    def as_dict(self) -> dict[str, Any]:
        """Return what will have been spent in the end, as plain JSON values."""
        whole = {"cost": self.spent + self.rest, "low": self.spent + self.low, "high": self.spent + self.high}
        return whole | {"cases": self.cases}


class CaseCosts:
    """Learns what cases cost, each with all its evaluations and answers.

    Cases are the sample: the evaluations of one case are about the same texts, and so are its repetitions. Where cases
    have different numbers of evaluations, the cost is taken to be in proportion to these. Cases whose replies all came
    from the cache say nothing about the others, and are left out.
    """

    __slots__ = ("_cost", "_costs_squared", "_evaluations", "_evaluations_squared", "_is_known", "_n", "_products",
                 "_repeat", "_unfinished")  # fmt: skip

    def __init__(self, repeat: int = 1) -> None:
        self._repeat = repeat
        # By position: how many evaluations there are, what they cost, and whether a reply came from the cache.
        self._unfinished: dict[int, tuple[int, float, bool]] = {}
        self._is_known = True
        self._n = 0
        # Sums over the cases.
        self._evaluations = self._evaluations_squared = 0
        self._cost = self._costs_squared = self._products = 0.0

    def learn_from(self, results: Iterable[CaseResult]) -> None:
        """Take in cases of a run that is resumed, as far as they were judged before."""
        for result in results:
            expected = (len(result.judgments) + result.awaited) // self._repeat
            planned = PlannedCase(position=result.position, case=result.case, expected=expected)
            for answer in result.answers:
                self.add_answer(planned, answer.cost)
            for judgment in result.judgments:
                self.add(planned, judgment._replace(round=0))

    def add_answer(self, planned: PlannedCase, dollars: float | None) -> None:
        """Take in what an answer cost."""
        if dollars is None:
            self._is_known = False
        elif dollars:
            done, before, cached = self._unfinished.get(planned.position, (0, 0.0, False))
            self._unfinished[planned.position] = done, before + dollars, cached

    def add(self, planned: PlannedCase, judgment: Judgment) -> None:
        """Take in an evaluation; one that is made again is not among those that are left."""
        if judgment.round:
            return
        if judgment.cost is None:
            self._is_known = False
            return
        done, before, cached = self._unfinished.pop(planned.position, (0, 0.0, False))
        done, dollars = done + 1, before + judgment.cost
        cached = cached or (judgment.cost == 0 and any(attempt.cached for attempt in judgment.evaluation.attempts))
        if done < planned.expected * self._repeat:
            self._unfinished[planned.position] = done, dollars, cached
        elif dollars > 0 or not cached:
            self._n += 1
            self._evaluations += done
            self._evaluations_squared += done * done
            self._cost += dollars
            self._costs_squared += dollars * dollars
            self._products += done * dollars

    def forecast(self, left: int, *, spent: float) -> CostForecast | None:
        """Return what so many evaluations will cost that are left; None while too few cases are known."""
        n = self._n
        if not self._is_known or n < LEAST_CASES or left <= 0:
            return None
        each = self._cost / self._evaluations
        # About the line through the origin: what cases cost beyond what their evaluations would on average.
        squares = self._costs_squared - 2 * each * self._products + each * each * self._evaluations_squared
        variance = max(squares, 0.0) / (n - 1)
        rest, cases_left = each * left, left * n / self._evaluations
        # The mean is not known exactly, and the cases that are left will differ from it: both are part of the error.
        error = math.sqrt(variance * cases_left * (cases_left / n + 1))
        half = t_quantile(_LEVEL, n - 1) * error
        return CostForecast(spent=spent, rest=rest, low=max(rest - half, 0.0), high=rest + half, cases=n)
