"""What the length of a text has to do with how strong it is, as far as that can be told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from evenhand.profiles.ranking.result import LEVEL, LengthEffect
from evenhand.stats.distributions import t_quantile
from evenhand.stats.strength_posterior import EQUAL

if TYPE_CHECKING:
    from evenhand.stats.plackett_luce import Strengths
    from evenhand.stats.rankings import Floats

# Fewer profiles, or texts that are all about as long, say nothing of length.
LEAST_PROFILES: Final = 10
LEAST_SPREAD: Final = 0.2  # the standard deviation, in doublings


def length_effect(doublings: Floats, fitted: Strengths, errors: Floats | None) -> LengthEffect | None:
    """Fit a line through strengths over the logarithms of lengths; None where there is too little to tell.

    A prior draws each strength towards the mean, the more the less is known of it; the line is drawn as steep as it
    would be without.
    """
    n = len(doublings)
    if errors is None or n < LEAST_PROFILES or float(np.std(doublings)) < LEAST_SPREAD:
        return None
    if np.ptp(fitted.values) <= EQUAL:  # where nothing differs, the line would be flat, and sure of it
        return None
    kept = np.clip(1 - fitted.prior * errors**2, 0.0, 1.0)
    away = doublings - doublings.mean()
    squares = float((away * away * kept).sum())
    if squares <= 0:
        return None
    slope = float((away * fitted.values).sum()) / squares
    rest = fitted.values - slope * away * kept
    error = math.sqrt(float((rest * rest).sum()) / (n - 2) * float((away * away).sum())) / squares
    half = t_quantile(LEVEL, n - 2) * error
    return LengthEffect(doubling=slope, interval=(slope - half, slope + half))


def without_length(rate: float, place: int, rivals: Sequence[int], values: Floats, by_length: Floats) -> float:
    """Return what a win rate would be if all texts were equally long.

    The model says by how much the rate changes, and the rate itself what it changes from.
    """
    gaps = values[rivals] - values[place]
    changes = by_length[rivals] - by_length[place]
    change = _chances(gaps - changes).mean() - _chances(gaps).mean()
    return min(max(rate + float(change), 0.0), 1.0)


def _chances(gaps: Floats) -> Floats:
    chances: Floats = 1 / (1 + np.exp(np.clip(gaps, -500, 500)))
    return chances
