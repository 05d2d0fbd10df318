"""What a text of twice the length is stronger by, where strengths are drawn towards their mean by what is known."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from tests.by_chance import at_least, at_most, of_mean

from evenhand.profiles.ranking.length import length_effect
from evenhand.stats.plackett_luce import Strengths

SLOPE, SPREAD = 1.5, 2.0


def test_length_counts_for_as_much_as_before_strengths_were_drawn_to_their_mean() -> None:
    """Without a correction for that, it would count for three quarters here."""
    chance = np.random.default_rng(20261119)
    prior = 1 / (SLOPE**2 + SPREAD**2)
    found = []
    for _ in range(400):
        doublings = chance.normal(size=40)
        errors = chance.uniform(1.0, 2.0, size=40)  # of each strength, before the prior is known
        seen = SLOPE * doublings + chance.normal(scale=SPREAD, size=40) + chance.normal(size=40) * errors
        left = 1 / (prior + 1 / errors**2)
        strengths = Strengths(values=seen * (1 - prior * left), position=0.0, prior=prior)
        effect = length_effect(doublings, strengths, np.sqrt(left))
        assert effect is not None
        found.append(effect)

    slopes = [one.doubling for one in found]
    assert statistics.fmean(slopes) == pytest.approx(SLOPE, abs=of_mean(slopes))
    held = sum(one.interval[0] <= SLOPE <= one.interval[1] for one in found)
    assert at_least(400, 0.95) <= held <= at_most(400, 0.95)
