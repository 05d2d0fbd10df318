"""How the scores of profiles spread: counted one by one, so that a hundred thousand take no more room than ten."""

from __future__ import annotations

import itertools
import math
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from evenhand.evaluators.profile_score import SCALE
from evenhand.reports.overview import BINS, bin_of
from evenhand.reports.phrases import counted, score_text
from evenhand.reports.safe_text import plain

# As many as a sentence has room for.
MOST_NAMED: Final = 10
_NAME: Final = 60
# Means of repeats that are equal may differ in their last digits.
DIGITS: Final = 9
_BAR: Final = 40
_FULL: Final = "█"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSpread:
    """How the scores of profiles spread, from 0 to 10.

    ``standard_deviation`` is that between the profiles, None below two. ``top`` names the first of the ``at_top``
    profiles that have the highest score. ``histogram`` counts the profiles in twenty steps of half a point.
    """

    n: int = 0
    median: float | None = None
    standard_deviation: float | None = None
    lowest: float | None = None
    highest: float | None = None
    at_top: int = 0
    top: tuple[str, ...] = ()
    histogram: tuple[int, ...] = (0,) * BINS

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return asdict(self) | {"top": list(self.top), "histogram": list(self.histogram)}

    @classmethod
    def of(cls, scores: Iterable[tuple[str, float]]) -> ScoreSpread:
        """Count the scores of profiles, each with the id of its profile.

        >>> found = ScoreSpread.of([("ann", 9.0), ("ben", 4.0), ("cleo", 9.0)])
        >>> found.median, round(found.standard_deviation, 2), found.top
        (9.0, 2.89, ('ann', 'cleo'))
        """
        counts = ScoreCounts()
        for identity, score in scores:
            counts.add(identity, score)
        return counts.spread()

    def sentences(self) -> Iterator[str]:
        """Say how the scores spread, and who shares the first place."""
        if self.n > 1:
            yield (
                f"median {score_text(self.median)}, standard deviation {score_text(self.standard_deviation)}, "
                f"from {score_text(self.lowest)} to {score_text(self.highest)}"
            )
        if self.at_top > 1:
            *others, last = [plain(identity, _NAME) for identity in self.top]
            left = self.at_top - len(self.top)
            names = f"{', '.join([*others, last])} and {left:,} more" if left else f"{', '.join(others)} and {last}"
            yield f"{counted(self.at_top, 'profile')} share the top score of {score_text(self.highest)}: {names}"

    def bars(self) -> Iterator[str]:
        """Draw the histogram in text, a bar for each point of the scale, the highest scores first."""
        points = [sum(self.histogram[first : first + 2]) for first in range(0, BINS, 2)]
        width = len(f"{max(points):,}")
        for low, count in reversed([*enumerate(points)]):
            # Even one profile among thousands has a bar.
            bar = _FULL * max(round(_BAR * count / max(points)), 1) if count else ""
            yield f"{f'{low}–{low + 1}':>5}  {count:>{width},}  {bar}".rstrip()


class ScoreCounts:
    """Takes in scores one by one; memory grows with the scores that differ, not with the profiles."""

    def __init__(self) -> None:
        self._counts: Counter[float] = Counter()
        self._highest = -math.inf
        self._top: list[str] = []

    def add(self, identity: str, score: float) -> None:
        """Take in the score of a profile."""
        score = round(score, DIGITS)
        self._counts[score] += 1
        if score > self._highest:
            self._highest, self._top = score, []
        if score == self._highest and (len(self._top) < MOST_NAMED or identity < self._top[-1]):
            insort(self._top, identity)
            del self._top[MOST_NAMED:]

    def spread(self) -> ScoreSpread:
        """Return what was counted so far."""
        if not self._counts:
            return ScoreSpread()
        ordered = sorted(self._counts.items())
        total = self._counts.total()
        mean = math.fsum(score * count for score, count in ordered) / total
        squares = math.fsum(count * (score - mean) ** 2 for score, count in ordered)
        histogram = [0] * BINS
        for score, count in ordered:
            histogram[bin_of(score / SCALE.high)] += count
        return ScoreSpread(
            n=total,
            median=(_at(ordered, (total - 1) // 2) + _at(ordered, total // 2)) / 2,
            standard_deviation=math.sqrt(squares / (total - 1)) if total > 1 else None,
            lowest=ordered[0][0],
            highest=self._highest,
            at_top=self._counts[self._highest],
            top=tuple(self._top),
            histogram=tuple(histogram),
        )


def _at(ordered: list[tuple[float, int]], place: int) -> float:
    """Return the score at a place among all, the lowest of which is at 0."""
    ends = itertools.accumulate(count for _, count in ordered)
    return next(score for (score, _), end in zip(ordered, ends, strict=True) if place < end)
