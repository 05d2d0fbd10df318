"""How a run is getting on, for whoever wants to look."""

from __future__ import annotations

import time
from collections.abc import Callable

from evenhand.domain.run import Judgment
from evenhand.domain.verdict import Verdict

# By names of their own: to look into an enum, for each evaluation, takes seven times as long.
_PASS, _BORDERLINE = Verdict.PASS, Verdict.BORDERLINE


class Progress:
    """Counts that grow while a run goes on; reading them costs nothing."""

    def __init__(self, *, total: int = 0, done: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.began = clock()
        self.total = total
        self.done_before = self.done = done
        self.scored = self.not_evaluated = self.errors = self.retries = 0
        self.passed = self.borderline = 0
        self.calls = self.cached = self.faults = 0
        self.cost: float | None = 0.0
        # Which provider is gone and waited for, in words.
        self.paused: str | None = None

    def add(self, judgment: Judgment) -> None:
        """Count an evaluation that was committed."""
        evaluation = judgment.evaluation
        if judgment.round == 0:
            self.done += 1
        self.retries += evaluation.retry_count
        if evaluation.score is None:  # which only one that did not happen has
            self.not_evaluated += 1
        elif evaluation.error is not None:
            self.errors += 1
        else:
            self.scored += 1
            self.passed += evaluation.verdict is _PASS
            self.borderline += evaluation.verdict is _BORDERLINE

    @property
    def failed(self) -> int:
        """How many were scored and did not pass, not even nearly."""
        return self.scored - self.passed - self.borderline

    @property
    def seconds(self) -> float:
        """How long this process has been at it."""
        return self._clock() - self.began

    @property
    def rate(self) -> float:
        """Evaluations a second."""
        return (self.done - self.done_before) / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """How long the rest may take at this rate; None while nobody can tell."""
        return (self.total - self.done) / self.rate if self.rate > 0 else None
