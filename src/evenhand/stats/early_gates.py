"""Gates that are decided before all cases are judged: what is decided is what the full run would have said.

The bound on wrong decisions is a theorem for scores that are fixed and come in a random order. That a judge would score
the same case otherwise another time is outside it. Results must be added in the drawn order, not as they arrive: fast
answers may be better or worse ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NamedTuple, TypeAlias

from evenhand.domain.early_decision import ALPHA, Outcome
from evenhand.stats.mean_bets import MeanBets
from evenhand.stats.pass_count import PassCount, passes_needed, passes_needed_for_low
from evenhand.stats.refusal import Refused

# With fewer cases there is little to save, and nothing to be decided before nearly all are judged.
FEWEST: Final = 50

Rule: TypeAlias = Literal["min_pass_rate", "min_pass_rate_low", "min_mean"]


class Judged(NamedTuple):
    """What came of a case: its score and whether it passed, each None where there is none."""

    score: float | None = None
    passed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a gate decided, after how many cases; ``certain`` if no result of the others could change it.

    >>> Decision(outcome="fail", after=57, cases=200, certain=False).words
    'decided after 57 of 200'
    """

    outcome: Outcome
    after: int
    cases: int
    certain: bool

    @property
    def words(self) -> str:
        """Say when it was decided."""
        return f"decided after {self.after:,} of {self.cases:,}"


class EarlyGate:
    """One gate, which takes the cases one by one until it is decided.

    >>> gate = EarlyGate("min_pass_rate", 0.8, cases=200)
    >>> for _ in range(19):
    ...     gate.add(Judged(passed=True))
    >>> gate.decision.words
    'decided after 19 of 200'

    ``known`` are results from before, such as those of a run that is resumed: they are taken out first, and what the
    others must reach is moved. ``alpha`` bounds the chance of a wrong decision, to either side. A case without a
    verdict, or without a score, counts as exactly the limit; where no case has one, the gate fails, as in a full run.
    """

    __slots__ = ("_rule", "_threshold", "_tracks", "cases", "decision", "judged", "limit")

    def __init__(
        self, rule: Rule, limit: float, *, cases: int, alpha: float | Fraction = ALPHA, known: Sequence[Judged] = ()
    ) -> None:
        if not 0 <= limit <= 1 or not 0 < alpha < 1 or not 0 <= len(known) <= cases:
            raise ValueError(
                f"a limit lies from 0 to 1, alpha between, and known results are among the cases; got {limit!r}, "
                f"{alpha!r} and {len(known)} of {cases}"
            )
        self.limit = limit
        self.cases = cases
        self.judged = len(known)
        self.decision: Decision | None = None
        self._threshold = 1 / Fraction(alpha)
        self._rule: Rule = rule
        self._tracks: _Tracks
        if rule == "min_mean":
            self._tracks = _Scores(cases, limit, known)
        elif rule == "min_pass_rate":
            self._tracks = _Verdicts(cases, limit, known)
        else:
            self._tracks = _LowEnd(cases, limit, known)
        self._look()

    def add(self, judged: Judged) -> None:
        """Take in the next case of the drawn order; what comes after the decision does not change it."""
        if self.judged >= self.cases:
            raise ValueError(f"all {self.cases} cases were judged already")
        self.judged += 1
        if self.decision is None:
            self._tracks = self._tracks.after(judged)
            self._look()

    @property
    def e_values(self) -> tuple[float, float]:
        """How much speaks for a pass and for a fail, up to the decision; 1 / alpha decides, infinity is certain."""
        return self._tracks.e_values

    def _look(self) -> None:
        certain = self._tracks.certain
        if not self._tracks.counted:
            # Nothing reaches a limit without a verdict, or a score.
            certain = False if self.judged == self.cases else None
        outcome: Outcome | None = None
        if certain is not None:
            outcome = "pass" if certain else "fail"
        elif self._tracks.counted and self._tracks.passes_at(self._threshold):
            outcome = "pass"
        elif self._tracks.fails_at(self._threshold):
            outcome = "fail"
        if outcome is not None:
            self.decision = Decision(outcome=outcome, after=self.judged, cases=self.cases, certain=certain is not None)


class _Scores:
    """The mean of scores."""

    def __init__(
        self, cases: int, limit: float, known: Sequence[Judged], start: tuple[float, float] = (1.0, 1.0)
    ) -> None:
        self._bets = MeanBets(cases=cases, limit=limit, start=start)
        for judged in known:
            self._bets.know(judged.score)

    def after(self, judged: Judged) -> _Tracks:
        self._bets.add(judged.score)
        return self

    @property
    def counted(self) -> int:
        return self._bets.scored

    @property
    def certain(self) -> bool | None:
        return self._bets.certain

    @property
    def e_values(self) -> tuple[float, float]:
        return self._bets.e_pass, self._bets.e_fail

    def passes_at(self, threshold: Fraction) -> bool:
        return self._bets.passes_at(threshold)

    def fails_at(self, threshold: Fraction) -> bool:
        return self._bets.fails_at(threshold)


class _LowEnd:
    """The lower end of the interval of a pass rate, as a number of passes.

    A case without a verdict is a fail to what must be passed, and a pass to what must be failed: fewer fails raise the
    lower end, and fewer passes lower it, so that both decisions hold without the case too.
    """

    def __init__(self, cases: int, limit: float, known: Sequence[Judged]) -> None:
        verdicts = [judged.passed for judged in known if judged.passed is not None]
        decided = cases - len(known) + len(verdicts)
        needed = passes_needed_for_low(decided, limit)
        self._lower = PassCount(cases=decided - len(verdicts), needed=needed - sum(verdicts))
        self._upper = self._lower.copy()
        self._known, self._unseen, self._limit = verdicts, 0, limit

    def after(self, judged: Judged) -> _Tracks:
        self._lower.add(passed=bool(judged.passed))
        self._upper.add(passed=judged.passed is None or judged.passed)
        self._unseen += judged.passed is None
        return self

    @property
    def counted(self) -> int:
        return self._lower.judged + len(self._known) - self._unseen

    @property
    def certain(self) -> bool | None:
        if self._lower.judged == self._lower.cases:
            return self._lower.passed + sum(self._known) >= passes_needed_for_low(self.counted, self._limit)
        if self._lower.certain:
            return True
        return False if self._upper.certain is False else None

    @property
    def e_values(self) -> tuple[float, float]:
        return self._lower.e_pass, self._upper.e_fail

    def passes_at(self, threshold: Fraction) -> bool:
        return self._lower.passes_at(threshold)

    def fails_at(self, threshold: Fraction) -> bool:
        return self._upper.fails_at(threshold)


class _Verdicts:
    """The pass rate.

    With the first case that has no verdict it goes on as bets, in which such a case counts as exactly the limit. What
    was won so far is kept, that case counted as a fail to what must be passed, and as a pass to what must be failed.
    """

    def __init__(self, cases: int, limit: float, known: Sequence[Judged]) -> None:
        verdicts = [judged.passed for judged in known if judged.passed is not None]
        self._decided = cases - len(known) + len(verdicts)
        self._seen = list(verdicts)
        self._limit = limit
        needed = passes_needed(self._decided, limit)
        self._count = PassCount(cases=self._decided - len(verdicts), needed=needed - sum(verdicts))

    def after(self, judged: Judged) -> _Tracks:
        if judged.passed is not None:
            self._count.add(passed=judged.passed)
            self._seen.append(judged.passed)
            return self
        lower, upper = self._count, self._count.copy()
        lower.add(passed=False)
        upper.add(passed=True)
        seen = [Judged(score=float(passed)) for passed in self._seen]
        return _VerdictsByBets(self._decided, self._limit, [*seen, Judged()], start=(lower.e_pass, upper.e_fail))

    @property
    def counted(self) -> int:
        return len(self._seen)

    @property
    def certain(self) -> bool | None:
        return self._count.certain

    @property
    def e_values(self) -> tuple[float, float]:
        return self._count.e_pass, self._count.e_fail

    def passes_at(self, threshold: Fraction) -> bool:
        return self._count.passes_at(threshold)

    def fails_at(self, threshold: Fraction) -> bool:
        return self._count.fails_at(threshold)


class _VerdictsByBets(_Scores):
    """A pass rate with cases that have no verdict: a mean of passes, which are 1, and fails, which are 0."""

    def after(self, judged: Judged) -> _Tracks:
        return super().after(Judged(score=None if judged.passed is None else float(judged.passed)))


_Tracks: TypeAlias = _Scores | _Verdicts | _LowEnd


_UNDECIDABLE: Final = {
    "min_mean_low": "its interval is known when all cases are judged",
    "min_pass_rate_corrected": "labels by people stand for all cases, so all must be judged",
    "min_pass_rate_corrected_low": "labels by people stand for all cases, so all must be judged",
}


class EarlyGates:
    """Several gates at once: a run can stop when one has failed, or all are decided.

    >>> gates = EarlyGates({"min_pass_rate": EarlyGate("min_pass_rate", 0.8, cases=200)})
    >>> gates.is_over
    False
    """

    def __init__(self, gates: Mapping[str, EarlyGate]) -> None:
        self.gates = dict(gates)

    @classmethod
    def of(
        cls,
        limits: Mapping[str, tuple[str, float]],
        *,
        cases: int,
        in_random_order: bool,
        alpha: float = ALPHA,
        known: Iterable[Mapping[str, Judged]] = (),
        clustered: bool = False,
    ) -> EarlyGates | Refused:
        """Return the gates by name, each a rule and its limit; the chance of a wrong decision is shared among them.

        >>> EarlyGates.of({"low": ("min_mean_low", 0.8)}, cases=200, in_random_order=True).reason
        "low: 'min_mean_low' cannot be decided early: its interval is known when all cases are judged"
        """
        if not limits:
            return Refused("there is no gate to decide")
        for name, (rule, _) in limits.items():
            if rule not in ("min_pass_rate", "min_pass_rate_low", "min_mean"):
                why = _UNDECIDABLE.get(rule, "it counts all")
                return Refused(f"{name}: {rule!r} cannot be decided early: {why}")
            if rule == "min_pass_rate_low" and clustered:
                return Refused(f"{name}: the interval of clustered cases is known when all of them are judged")
        if not in_random_order:
            return Refused("the cases are not judged in a random order: the first ones may be better, or worse")
        if cases < FEWEST:
            return Refused(f"{cases} cases; gates are decided early from {FEWEST} on")
        before = list(known)
        return cls(
            {
                name: EarlyGate(
                    rule,  # type: ignore[arg-type]  # one of the three, as was checked above
                    limit,
                    cases=cases,
                    alpha=Fraction(alpha) / len(limits),
                    known=[results.get(name, Judged()) for results in before],
                )
                for name, (rule, limit) in limits.items()
            }
        )

    def add(self, results: Mapping[str, Judged]) -> None:
        """Take in the next case of the drawn order, by the name of each gate."""
        for name, gate in self.gates.items():
            gate.add(results.get(name, Judged()))

    @property
    def decisions(self) -> dict[str, Decision | None]:
        """What each gate decided, None where it has not."""
        return {name: gate.decision for name, gate in self.gates.items()}

    @property
    def is_over(self) -> bool:
        """Whether the run can stop: a gate has failed, or all are decided."""
        decided = [gate.decision for gate in self.gates.values()]
        return None not in decided or any(one is not None and one.outcome == "fail" for one in decided)
