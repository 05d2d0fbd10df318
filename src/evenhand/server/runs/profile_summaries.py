"""Runs over profiles as the server shows them: how their scores are read, and what rankings and audits came to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from evenhand.domain.errors import ConflictError
from evenhand.domain.gates import GateResult
from evenhand.domain.run import RunRecord
from evenhand.profiles.job import AUDIT, RANKING, SCORING, is_audit, is_ranking, is_scoring, mode_of
from evenhand.server.runs.background_cache import BackgroundCache
from evenhand.server.runs.progress import AT_WORK
from evenhand.server.runs.summaries import Key, state_of
from evenhand.store.store import Store

if TYPE_CHECKING:  # both bring a library for arithmetic along
    from evenhand.profiles.audit.result import AuditNumbers
    from evenhand.profiles.ranking.result import Ranks

Value = TypeVar("Value")

# A ranking of ten thousand profiles takes some megabytes.
MOST_KEPT: Final = 16
_KINDS: Final = {
    SCORING: "a scoring of profiles",
    RANKING: "a ranking, which is at {}/ranking",
    AUDIT: "an audit, which is at {}/audit",
}


def scale_of(run: RunRecord) -> int | None:
    """Tell up to what the scores of a run are read: 1, or 10 for profiles (SPEC-K1); None where they say nothing.

    Those of a ranking only say that a group was ranked.
    """
    if is_ranking(run.definition):
        return None
    return 10 if is_scoring(run.definition) else 1


class ProfileNumbers:
    """What rankings and audits came to: each worked out once, for as long as nothing is judged in between.

    Of a run that goes on, one is worked out at a time, and given as it is once it is there, though more was judged.
    """

    def __init__(self) -> None:
        self._mine = threading.Lock()
        self._begun: dict[str, Key] = {}
        self._ranks: BackgroundCache[Ranks] = BackgroundCache(MOST_KEPT)
        self._audits: BackgroundCache[AuditNumbers] = BackgroundCache(MOST_KEPT)

    def ranks(self, store: Store, run: RunRecord, seconds: float | None = None) -> Ranks:
        """Return a ranking; raises ``TimeoutError`` where that takes longer, and goes on working it out."""
        _must_be(run, RANKING)

        def work() -> Ranks:
            from evenhand.profiles.ranking.fit import ranks_from  # noqa: PLC0415
            from evenhand.profiles.ranking.job import design_of  # noqa: PLC0415

            return ranks_from(store.results(run), seed=design_of(run.definition).seed)

        return self._given(self._ranks, store, run, work, seconds)

    def audit(self, store: Store, run: RunRecord, seconds: float | None = None) -> AuditNumbers:
        """Return the numbers of an audit; raises ``TimeoutError`` where that takes longer, and goes on."""
        _must_be(run, AUDIT)

        def work() -> AuditNumbers:
            from evenhand.profiles.audit.result import numbers_of  # noqa: PLC0415

            return numbers_of(run.definition, store.results(run))

        return self._given(self._audits, store, run, work, seconds)

    def _given(
        self,
        aside: BackgroundCache[Value],
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
            found = aside.get(key, work, seconds)
        except TimeoutError:
            raise
        except Exception:
            self._forget(run)
            raise
        self._forget(run)
        return found

    def _forget(self, run: RunRecord) -> None:
        with self._mine:
            self._begun.pop(run.id, None)

    def gates(self, store: Store, run: RunRecord) -> tuple[GateResult, ...]:
        """Return what the gates say that only an audit has; none for other runs."""
        return self.audit(store, run).gates if is_audit(run.definition) else ()


def _must_be(run: RunRecord, wanted: str) -> None:
    mode = mode_of(run.definition)
    if mode != wanted:
        kind = _KINDS.get(mode or "", "a run over cases").format(run.id)
        raise ConflictError(f"run {run.id} is no {wanted}: it is {kind}")
