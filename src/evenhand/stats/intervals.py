"""Means of scores with error bars: which interval belongs to which scores."""

from __future__ import annotations

from evenhand.domain.summary import Interval
from evenhand.stats.sample import Sample
from evenhand.stats.wilson import LEVEL, scaled_wilson, wilson


class Scores(Sample):
    """Scores from 0 to 1, taken in one by one and not kept: how many, their mean, and an interval around it.

    >>> scores = Scores()
    >>> for score in (0.5, 0.75, 1.0):
    ...     scores.add(score)
    >>> scores.mean, scores.interval().method
    (0.75, 'scaled_wilson')
    """

    __slots__ = ()

    def interval(self, level: float = LEVEL) -> Interval | None:
        """Return the interval that suits the scores; None below two scores, or clusters that are worth two.

        ``wilson`` where all are 0 or 1, else ``scaled_wilson``, and ``clustered`` where scores share clusters. Scores
        that are all equal show no spread, which is no proof that there is none: ``widest`` then allows for the largest
        spread that scores from 0 to 1 with that mean can have.
        """
        mean, error, units = self.mean, self.error, self.units
        if mean is None or error is None:
            return None
        is_share = self.is_binary and (error == 0 or not self.is_clustered)
        if is_share or error == 0:
            low, high = wilson(mean, units, level)
            return Interval(low=low, high=high, method="wilson" if is_share else "widest", level=level)
        cautious = self.cautious_error(mean * (1 - mean)) or error
        low, high = scaled_wilson(mean, cautious, units, level, df=self.df)
        method = "clustered" if self.is_clustered else "scaled_wilson"
        return Interval(low=low, high=high, method=method, level=level)
