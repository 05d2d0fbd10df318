"""Evaluators that never work: after so many errors of one kind and no score, the user decides, or the run stops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from evenhand.domain.evaluation import Evaluation
from evenhand.domain.failure import NEVER_SCORED, Failure

_LONGEST_REPLY: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverScored:
    """An evaluator that has scored nothing: how many errors in a row, of which kind, and the first of them."""

    evaluator: str
    kind: str
    errors: int
    case: str
    error: str
    reply: str | None

    @property
    def failure(self) -> Failure:
        """Why the run stops: the first error in full, and the reply that it is about, if there was one."""
        reply = "" if self.reply is None else f"; the reply was: {self.reply}"
        return Failure(
            NEVER_SCORED,
            f"{self.evaluator} has scored nothing: {self.errors} evaluations in a row failed ({self.kind}). "
            f"The first, of case {self.case}: {self.error}{reply}",
        )


# Returns whether to continue anyway.
Confirm: TypeAlias = Callable[[NeverScored], Awaitable[bool]]


class NeverScoredWatch:
    """Watches the evaluators of a run; 0 as ``most`` watches none.

    ``stop`` is told why, unless ``confirm`` says to continue. Until that is decided, nothing should begin: see
    ``undecided``.
    """

    def __init__(self, most: int, *, stop: Callable[[Failure], None], confirm: Confirm | None) -> None:
        self._most = most
        self._stop = stop
        self._confirm = confirm
        # Of evaluators that have scored something, and need not be watched any more: None.
        self._streaks: dict[str, NeverScored | None] = {}
        self._turn = asyncio.Lock()
        # The question to the user that is still open.
        self.undecided: asyncio.Future[bool] | None = None
        self._is_over = False

    def scored(self, evaluator: str) -> None:
        """Note that an evaluator works."""
        if self._streaks.get(evaluator, self) is not None:
            self._streaks[evaluator] = None

    async def failed(self, case: str, evaluation: Evaluation) -> None:
        """Count an error; with the last one that is allowed, wait for the user's decision, or stop."""
        name, error = evaluation.evaluator, evaluation.error or ""
        kind = Failure.of(error).kind
        streak = self._streaks.get(name)
        if not self._most or (streak is None and name in self._streaks):
            return
        if streak is None or streak.kind != kind:
            streak = NeverScored(evaluator=name, kind=kind, errors=0, case=case, error=error, reply=_reply(evaluation))
        streak = self._streaks[name] = replace(streak, errors=streak.errors + 1)
        if streak.errors >= self._most:
            self._streaks[name] = None  # it is asked about once
            await self._decide(streak)

    def give_up(self) -> None:
        """Ask nobody any more: the run ends for another reason."""
        self._is_over = True
        if self.undecided is not None:
            self.undecided.cancel()

    async def _decide(self, streak: NeverScored) -> None:
        async with self._turn:
            if self._is_over:
                return
            go_on = self._confirm is not None and await self._asked(self._confirm(streak))
            if not go_on and not self._is_over:
                self._is_over = True
                self._stop(streak.failure)

    async def _asked(self, confirmation: Awaitable[bool]) -> bool:
        self.undecided = asyncio.ensure_future(confirmation)
        try:
            await asyncio.wait([self.undecided])
            return not self.undecided.cancelled() and self.undecided.result()
        finally:
            self.undecided.cancel()
            self.undecided = None


def _reply(evaluation: Evaluation) -> str | None:
    """Return what the judge said last, shortened; None if it said nothing."""
    raw = next((attempt.raw for attempt in reversed(evaluation.attempts) if attempt.raw), None)
    if raw is None:
        return None
    return raw if len(raw) <= _LONGEST_REPLY else f"{raw[:_LONGEST_REPLY]}… ({len(raw):,} characters)"
