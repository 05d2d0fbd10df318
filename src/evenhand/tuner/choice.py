"""The choice of a candidate by cross-validation, and what is to be expected of the one that is chosen.

Of each way to make a candidate, two kinds of verdicts are known: of candidates made without one fold, on that fold, and
of candidates made without two folds, on these two. The latter choose a way for each fold without looking at it; the
former then say how good the way that was chosen is there. Why is in docs/design/tune.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from evenhand.domain.paired_difference import PairedDifference
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.paired import PairedScores
from evenhand.tuner.labelled import Labelled

CURRENT: Final = "current"
# A way whose candidates left more of the cases without a verdict is not chosen: the rest may be the easy ones.
MOST_WITHOUT_VERDICT: Final = 0.1


class Judged(NamedTuple):
    """Which verdict: of a candidate made in some way, without some folds, on a case."""

    way: str
    without: tuple[int, ...]
    case: str


# Whether the judge passed the case; where it failed, there is nothing.
Verdicts: TypeAlias = Mapping[Judged, bool]
_VerdictOf: TypeAlias = Callable[[Labelled], bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What judge and people said of some cases: how many of each, and on how many the judge gave no verdict."""

    counts: JudgedLabels
    errors: int = 0

    @property
    def agreement(self) -> float | None:
        """The share of cases on which the judge said what people did; None without any."""
        return (self.counts.tp + self.counts.tn) / self.counts.n if self.counts.n else None

    @property
    def is_usable(self) -> bool:
        """Whether nearly all cases have a verdict."""
        return self.errors <= MOST_WITHOUT_VERDICT * (self.counts.n + self.errors) and self.counts.n > 0


def side(cases: Iterable[Labelled], verdict_of: _VerdictOf) -> Side:
    """Count what judge and people said of cases."""
    found = [(case.passes, verdict_of(case)) for case in cases]
    counts = JudgedLabels.of((people, judge) for people, judge in found if judge is not None)
    return Side(counts=counts, errors=len(found) - counts.n)


def change(cases: Iterable[Labelled], verdict_of: _VerdictOf) -> PairedDifference:
    """Return by how much more often a candidate agrees with people than the current prompt, on the same cases."""
    pairs = PairedScores()
    for case in cases:
        verdict = verdict_of(case)
        if verdict is not None:
            pairs.add(float(case.agrees), float(verdict is case.passes), case.cluster)
    return pairs.compared()


class CrossValidation:
    """Verdicts over folds, and the choices that follow from them."""

    def __init__(self, cases: Sequence[Labelled], verdicts: Verdicts, ways: Sequence[str], folds: int) -> None:
        self._cases = [case for case in cases if case.fold is not None]
        self._verdicts = verdicts
        self._ways = ways
        self._folds = folds
        self.by_fold = tuple(self._chosen_for(fold) for fold in range(folds))

    def outer(self, way: str) -> _VerdictOf:
        """Return the verdicts of candidates that were made without the fold of the case."""
        return lambda case: self._verdict(way, case, *(() if case.fold is None else (case.fold,)))

    def honest(self, case: Labelled) -> bool | None:
        """Return the verdict by the way that was chosen without looking at the fold of the case."""
        return None if case.fold is None else self.outer(self.by_fold[case.fold])(case)

    def of_way(self, way: str) -> Side:
        """Return how good a way is over all folds; of several, the best looks better than it is."""
        return side(self._cases, self.outer(way))

    @property
    def best(self) -> str | None:
        """The best of all ways that make a candidate; None where none has verdicts on nearly all cases."""
        return _best({way: self.of_way(way) for way in self._ways})

    @property
    def helps(self) -> bool:
        """Whether the best way agrees with people more often than the current prompt."""
        if self.best is None:
            return False
        difference = change(self._cases, self.outer(self.best)).difference
        return difference is not None and difference > 0

    def _chosen_for(self, fold: int) -> str:
        """Choose a way for a fold, by candidates that saw neither it nor the fold they were judged on."""
        others = [case for case in self._cases if case.fold != fold]

        def inner(way: str) -> _VerdictOf:
            return lambda case: self._verdict(way, case, fold, *(() if case.fold is None else (case.fold,)))

        return _best({way: side(others, inner(way)) for way in (CURRENT, *self._ways)}) or CURRENT

    def _verdict(self, way: str, case: Labelled, *without: int) -> bool | None:
        return case.judge if way == CURRENT else self._verdicts.get(Judged(way, tuple(sorted(without)), case.id))


def _best(sides: Mapping[str, Side]) -> str | None:
    """Return the name of the side that agrees most often; of equals the first."""
    usable = {name: one.agreement for name, one in sides.items() if one.is_usable}
    return max(usable, key=lambda name: usable[name] or 0.0, default=None)
