"""Intervals and verdicts that hold for new cases of the same kind as the labelled ones, as often as is said.

What is guaranteed holds on the average over sets of labels, and for cases that were drawn as the labelled ones were.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.domain.summary import Interval
from evenhand.domain.verdict import FLOAT_NOISE, Thresholds, Verdict
from evenhand.stats.refusal import Refused


def rank_of_quantile(n: int, alpha: float) -> int | None:
    """Return which of n errors, in rising order, a new one is above with a chance of alpha at most; None if none is.

    >>> rank_of_quantile(100, 0.1), rank_of_quantile(18, 0.05)
    (91, None)
    """
    rank = n + 1 - _surplus(n, alpha)
    return rank if rank <= n else None


def _surplus(n: int, alpha: float) -> int:
    """Return how many of n + 1 equally likely places can be left out: alpha of them, rounded down."""
    if n < 0 or not 0 < alpha < 1:
        raise ValueError(f"n is 0 or more, and alpha between 0 and 1; got {n!r} and {alpha!r}")
    # 0.07 * 100 is 7.000000000000001, and 0.29 * 100 is 28.999999999999996.
    return math.floor(alpha * (n + 1) + FLOAT_NOISE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreMargin:
    """How far people's scores are from the judge's, but for a share ``alpha`` of cases."""

    margin: float
    alpha: float
    labels: int

    def interval(self, score: float) -> Interval:
        """Return where people's score of a case is, given the judge's; it ends where scores do."""
        low, high = max(0.0, score - self.margin), min(1.0, score + self.margin)
        return Interval(low=low, high=high, method="split_conformal", level=1 - self.alpha)

    def levels(self, score: float, levels: Sequence[float]) -> tuple[float, ...]:
        """Return the levels, such as grades, that people may give, given the judge's score.

        >>> ScoreMargin(margin=0.2, alpha=0.1, labels=40).levels(0.5, (0, 0.25, 0.5, 0.75, 1))
        (0.5,)
        """
        return tuple(level for level in levels if abs(level - score) <= self.margin + FLOAT_NOISE)


def score_margin(judge: Sequence[float], people: Sequence[float], alpha: float = 0.1) -> ScoreMargin | Refused:
    """Return how far people's scores are from the judge's (split conformal).

    >>> score_margin([0.5] * 19, [0.4] * 18 + [0.9], 0.1).margin
    0.09999999999999998
    """
    if len(judge) != len(people):
        raise ValueError(f"each case has two scores; got {len(judge)} and {len(people)}")
    n = len(judge)
    rank = rank_of_quantile(n, alpha)
    if rank is None:
        return Refused(f"{n} labels; at least {_fewest(alpha)} are needed to leave out {alpha:g} of cases")
    errors = sorted(abs(label - score) for score, label in zip(judge, people, strict=True))
    return ScoreMargin(margin=errors[rank - 1], alpha=alpha, labels=n)


@dataclass(frozen=True, slots=True, kw_only=True)
class SureVerdicts:
    """Which scores make a verdict sure: a share ``alpha``, at most, of people's fails passes, and of passes fails.

    A score above ``pass_above`` passes, one below ``fail_below`` fails, and what is neither is borderline. Where the
    labels leave no doubt at this alpha, the two overlap; a score between them then fails.
    """

    pass_above: float
    fail_below: float
    alpha: float
    passes: tuple[float, ...]
    fails: tuple[float, ...]

    def verdict(self, score: float) -> Verdict:
        """Return the verdict of a score."""
        if score < self.fail_below - FLOAT_NOISE:
            return Verdict.FAIL
        return Verdict.PASS if score > self.pass_above + FLOAT_NOISE else Verdict.BORDERLINE

    def p_pass(self, score: float) -> float:
        """Return how usual a score this low is among those that people passed."""
        return (1 + bisect_right(self.passes, score + FLOAT_NOISE)) / (len(self.passes) + 1)

    def p_fail(self, score: float) -> float:
        """Return how usual a score this high is among those that people failed."""
        return (1 + len(self.fails) - bisect_left(self.fails, score - FLOAT_NOISE)) / (len(self.fails) + 1)

    @property
    def thresholds(self) -> Thresholds | Refused:
        """The same as thresholds of a suite, whose pass mark passes itself: the lowest labelled score that does."""
        passing = [score for score in (*self.passes, *self.fails) if self.verdict(score) is Verdict.PASS]
        if not passing:
            return Refused(f"no labelled case has a score above {self.pass_above:g}, from which on a pass is sure")
        mark = min(passing)
        return Thresholds(pass_at=mark, borderline_at=min(self.fail_below, mark))


def sure_verdicts(scores: Sequence[float], passes: Sequence[bool], alpha: float = 0.1) -> SureVerdicts | Refused:
    """Return from which scores on verdicts are sure; ``passes`` is whether people passed each case (label-conditional).

    >>> found = sure_verdicts([0.9, 0.8, 0.7] * 4 + [0.75, 0.5, 0.2] * 4, [True] * 12 + [False] * 12)
    >>> found.pass_above, found.fail_below, found.verdict(0.72), found.verdict(0.76)
    (0.75, 0.7, <Verdict.BORDERLINE: 'borderline'>, <Verdict.PASS: 'pass'>)
    """
    if len(scores) != len(passes):
        raise ValueError(f"each case has a score and a label; got {len(scores)} and {len(passes)}")
    passed = sorted(score for score, is_pass in zip(scores, passes, strict=True) if is_pass)
    failed = sorted(score for score, is_pass in zip(scores, passes, strict=True) if not is_pass)
    for some, verdict in ((passed, "passed"), (failed, "failed")):
        if _surplus(len(some), alpha) == 0:
            return Refused(
                f"people {verdict} {len(some)} of the labelled cases; verdicts that are wrong in at most {alpha:g} of "
                f"them take at least {_fewest(alpha)}"
            )
    return SureVerdicts(
        pass_above=failed[-_surplus(len(failed), alpha)],
        fail_below=passed[_surplus(len(passed), alpha) - 1],
        alpha=alpha,
        passes=tuple(passed),
        fails=tuple(failed),
    )


def _fewest(alpha: float) -> int:
    """Return the fewest labels of which one can be left out."""
    return math.ceil(1 / alpha - FLOAT_NOISE) - 1
