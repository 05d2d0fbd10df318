"""Runs over profiles as the server shows them: the scale of their scores, and computed rankings and audits."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from evenhand.domain.errors import ConflictError
from evenhand.domain.run import RunRecord
from evenhand.domain.run_kind import AUDIT, HIGHEST_OF_PROFILES, RANKING, SCORING, highest_score, mode_of
from evenhand.engine.case_scores import judged_cases
from evenhand.profiles.score_spread import DIGITS, ScoreCounts, ScoreSpread
from evenhand.server.runs.progress import AT_WORK
from evenhand.server.runs.summaries import BackgroundCache, Key, state_of
from evenhand.store.store import Store

if TYPE_CHECKING:  # both bring a library for arithmetic along
    from evenhand.profiles.audit.result import AuditNumbers
    from evenhand.profiles.ranking.result import Ranks

Value = TypeVar("Value")

# A ranking of ten thousand profiles takes some megabytes.
MOST_KEPT: Final = 16
_KINDS: Final = {
    SCORING: "a scoring of profiles",
    RANKING: "a ranking, available at {}/ranking",
    AUDIT: "an audit, available at {}/audit",
}
_WITH_ARTICLE: Final = {RANKING: "a ranking", AUDIT: "an audit"}


def scale_of(run: RunRecord) -> int | None:
    """Return the highest score of a run: 1, or 10 for profiles (SPEC-K1); None for a ranking, which has no scores."""
    return highest_score(run.definition)


# So many of the best profiles are on the page of a scoring.
MOST_BEST: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """How the scores of a run spread, and the positions of its best profiles."""

    spread: ScoreSpread
    best: tuple[int, ...]

    @classmethod
    def of(cls, store: Store, run: RunRecord) -> ScoredRun:
        """Read the scores of a run, and nothing else of it."""
        counts = ScoreCounts()

        def from_the_top() -> Iterator[tuple[float, str, int]]:
            for case in judged_cases(store, run):
                score = case.found[None].score
                if score is not None:
                    points = round(score * HIGHEST_OF_PROFILES, DIGITS)
                    counts.add(case.id, points)
                    yield -points, case.id, case.position

        best = heapq.nsmallest(MOST_BEST, from_the_top())
        return cls(spread=counts.spread(), best=tuple(position for _, _, position in best))


class ProfileNumbers:
    """Computed scorings, rankings and audits, each kept until something more is judged.

    For a run in progress, one is computed at a time, and returned even if more has been judged since.
    """

    def __init__(self) -> None:
        self._mine = threading.Lock()
        self._begun: dict[str, Key] = {}
        self._ranks: BackgroundCache[Ranks] = BackgroundCache(MOST_KEPT)
        self._audits: BackgroundCache[AuditNumbers] = BackgroundCache(MOST_KEPT)
        self._scored: BackgroundCache[ScoredRun] = BackgroundCache(MOST_KEPT)

    def scored(self, store: Store, run: RunRecord, seconds: float | None = None) -> ScoredRun:
        """Return how scores spread; raise ``TimeoutError`` if that takes longer, and continue in the background."""
        return self._cached(self._scored, store, run, lambda: ScoredRun.of(store, run), seconds)

    def ranks(self, store: Store, run: RunRecord, seconds: float | None = None) -> Ranks:
        """Return a ranking; raise ``TimeoutError`` if that takes longer, and continue in the background."""
        _require_mode(run, RANKING)

        def work() -> Ranks:
            from evenhand.profiles.ranking.fit import ranks_from  # noqa: PLC0415
            from evenhand.profiles.ranking.job import design_of  # noqa: PLC0415

            return ranks_from(store.results(run), design_of(run.definition))

        return self._cached(self._ranks, store, run, work, seconds)

    def audit(self, store: Store, run: RunRecord, seconds: float | None = None) -> AuditNumbers:
        """Return the results of an audit; raise ``TimeoutError`` if that takes longer, and continue meanwhile."""
        _require_mode(run, AUDIT)

        def work() -> AuditNumbers:
            from evenhand.profiles.audit.result import numbers_of  # noqa: PLC0415

            return numbers_of(run.definition, store.results(run))

        return self._cached(self._audits, store, run, work, seconds)

    def _cached(
        self,
        cache: BackgroundCache[Value],
        store: Store,
        run: RunRecord,
        work: Callable[[], Value],
        seconds: float | None,
    ) -> Value:
        key = state_of(store, run)
        if run.status in AT_WORK:
            with self._mine:
                key = self._begun.setdefault(run.id, key)
        try:
            value = cache.get(key, work, seconds)
        except TimeoutError:
            raise
        except Exception:
            self._forget(run)
            raise
        self._forget(run)
        return value

    def _forget(self, run: RunRecord) -> None:
        with self._mine:
            self._begun.pop(run.id, None)


def _require_mode(run: RunRecord, required: str) -> None:
    mode = mode_of(run.definition)
    if mode != required:
        kind = _KINDS.get(mode or "", "a run over cases").format(run.id)
        raise ConflictError(f"run {run.id} is not {_WITH_ARTICLE[required]}: it is {kind}")
