"""Rankings with rough intervals, for tests that are about something else."""

from __future__ import annotations

import pytest

from evenhand.profiles.ranking import fit


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw strengths 25 times rather than 200, which takes most of the time of a ranking; intervals are rougher."""
    monkeypatch.setattr(fit, "DRAWS", 25)
