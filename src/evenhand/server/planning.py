"""Planning a run for somebody who may ask for it again: once, and so that others can write meanwhile (REL-D10)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from evenhand.domain.errors import StoreError
from evenhand.domain.run import RunRecord
from evenhand.engine.job import Job, Scope
from evenhand.engine.plan import begin, fill, undo
from evenhand.server.once import forget, once, outcome_of
from evenhand.store.store import Store


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans runs. A key and the run that it stands for are noted at once; the cases come after, page by page.

    So whoever asks again gets that run, though it may still be planning. What is wrong with a case is told to the first
    who asked; then there is no run, and the key is free.
    """

    store: Store
    _mine: threading.Lock = field(default_factory=threading.Lock)

    def planned(
        self, job: Callable[[], Job], scope: Scope, *, key: str | None, asked: Any
    ) -> tuple[RunRecord, Job | None]:
        """Give a run that is planned, with its job; or that of an earlier request under the same key, without."""
        # Of many who ask at once, one reads the test cases; other processes are kept away by the transaction.
        with self._mine if key is not None else contextlib.nullcontext():
            known = outcome_of(self.store, key, asked)
            if known is not None:
                return self.store.runs.find(known), None
            made = job()
            identity, is_new = once(self.store, key, asked, lambda: begin(self.store, made, scope).id)
        run = self.store.runs.find(identity)
        if not is_new:
            return run, None
        try:
            return fill(self.store, run, made, scope), made
        except Exception:
            with contextlib.suppress(StoreError):  # the first trouble is the one to tell
                self._undo(run, key)
            raise

    def _undo(self, run: RunRecord, key: str | None) -> None:
        with self.store.database.transaction():
            undo(self.store, run)
            forget(self.store, key)
