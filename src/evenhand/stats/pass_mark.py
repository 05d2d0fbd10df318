"""The pass mark that tells people's passes from their fails best, and how good it is on cases it was not chosen on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from evenhand.domain.summary import Rate
from evenhand.domain.verdict import FLOAT_NOISE, reaches
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.refusal import Refused
from evenhand.stats.wilson import LEVEL

# Below so many passes or fails by people, the best mark is a matter of luck.
FEWEST_OF_A_CLASS: Final = 10
FOLDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PassMark:
    """The mark chosen on all labels, and what is to be expected of it.

    ``apparent`` is its sensitivity + specificity - 1 on the labels that it was chosen on; ``honest`` the same over
    folds, each with the mark that was chosen without it, and ``labels`` and ``agreement`` are those of the folds too.
    ``by_fold`` has the marks of the folds: far apart, they say that the mark is a matter of luck.
    """

    mark: float
    apparent: float
    honest: float
    by_fold: tuple[float, ...]
    fold_of: tuple[int, ...]
    passes: tuple[bool, ...]
    labels: JudgedLabels
    agreement: Rate

    @property
    def optimism(self) -> float:
        """By how much better the mark looks on its own labels than it is."""
        return self.apparent - self.honest


def pass_mark(
    scores: Sequence[float],
    passes: Sequence[bool],
    *,
    current: float,
    folds: int = FOLDS,
    level: float = LEVEL,
    fewest: int = FEWEST_OF_A_CLASS,
) -> PassMark | Refused:
    """Return the pass mark by Youden's index; ``passes`` is whether people passed a case, ``current`` the mark so far.

    Of several marks that are equally good, the one nearest to the current one is chosen, and of two the higher.
    The cases are dealt to folds in the order given, fails before passes: the same labels give the same result.

    >>> found = pass_mark([0.9, 0.8, 0.7, 0.4, 0.3] * 5, [True, True, False, False, False] * 5, current=0.7)
    >>> found.mark, found.apparent, found.honest
    (0.8, 1.0, 1.0)
    """
    if len(scores) != len(passes) or folds < 2:
        raise ValueError(f"each case has a score and a label; got {len(scores)} and {len(passes)}, and {folds} folds")
    people = [bool(passed) for passed in passes]
    for count, verdict in ((sum(people), "passed"), (len(people) - sum(people), "failed")):
        if count < max(2, fewest):
            return Refused(
                f"people {verdict} {count} of the labelled cases; a pass mark takes at least {max(2, fewest)}"
            )
    fold_of = _dealt(people, folds)
    by_fold = []
    for fold in range(folds):
        rest = [place for place, of in enumerate(fold_of) if of != fold]
        by_fold.append(_best([scores[place] for place in rest], [people[place] for place in rest], current))
    verdicts = [reaches(score, by_fold[fold]) for score, fold in zip(scores, fold_of, strict=True)]
    labels = JudgedLabels.of(zip(people, verdicts, strict=True))
    agreement = labels.agreement(level)
    if isinstance(agreement, Refused):
        return agreement
    mark = _best(scores, people, current)
    return PassMark(
        mark=mark,
        apparent=_youden(scores, people, mark),
        honest=labels.tp / labels.human_passes + labels.tn / (labels.n - labels.human_passes) - 1,
        by_fold=tuple(by_fold),
        fold_of=tuple(fold_of),
        passes=tuple(verdicts),
        labels=labels,
        agreement=agreement,
    )


def _dealt(people: Sequence[bool], folds: int) -> list[int]:
    """Deal cases to folds: fails first, then passes, so that each fold has its part of both."""
    fold_of = [0] * len(people)
    for number, place in enumerate(sorted(range(len(people)), key=people.__getitem__)):
        fold_of[place] = number % folds
    return fold_of


def _youden(scores: Sequence[float], people: Sequence[bool], mark: float) -> float:
    passes = sum(people)
    hit = sum(reaches(score, mark) for score, passed in zip(scores, people, strict=True) if passed)
    spared = sum(not reaches(score, mark) for score, passed in zip(scores, people, strict=True) if not passed)
    return hit / passes + spared / (len(people) - passes) - 1


def _best(scores: Sequence[float], people: Sequence[bool], current: float) -> float:
    """Return the best mark: counts change from one score to the next, so that all marks take one pass over them."""
    passes = sum(people)
    fails = len(people) - passes
    ordered = sorted(zip(scores, people, strict=True))
    hit, spared, place = passes, 0, 0
    best: tuple[float, float, float] | None = None
    for mark in sorted(set(scores)):
        while place < len(ordered) and not reaches(ordered[place][0], mark):
            passed = ordered[place][1]
            hit, spared, place = hit - passed, spared + (not passed), place + 1
        # Whole numbers: two marks that are equally good must not differ by float noise.
        found = (hit * fails + spared * passes, -_apart(mark, current), mark)
        best = found if best is None or found > best else best
    if best is None:
        raise ValueError("a mark is one of the scores; got none")
    return best[2]


def _apart(mark: float, current: float) -> float:
    """Return how far a mark is from the current one, without float noise."""
    return round(abs(mark - current) / FLOAT_NOISE) * FLOAT_NOISE
