"""Group commit: what finishes at about the same time is written in one transaction, by one writer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from evenhand.store.replies import FoundReply
from evenhand.store.rows import Batch
from evenhand.store.store import Store

# How long the first row of a batch waits for others. Nobody who asks a model notices, and a transaction costs more
# than the rows in it.
GATHER_SECONDS = 0.005


class Committer:
    """The one writer of a run. Whoever hands in rows waits until the commit that contains them has returned.

    ``failed`` is called with the error of a commit that could not be made, before those who wait for it are.
    """

    def __init__(self, store: Store, *, failed: Callable[[Exception], None] | None = None) -> None:
        self._store = store
        self._failed = failed
        self._batch = Batch()
        self._waiting: list[asyncio.Future[None]] = []
        self._writing: asyncio.Task[None] | None = None

    async def commit(
        self,
        *,
        answers: tuple[tuple[Any, ...], ...] = (),
        evaluations: tuple[tuple[Any, ...], ...] = (),
        replies: Sequence[FoundReply | tuple[Any, ...]] = (),
        asked: Sequence[tuple[int, str]] = (),
    ) -> None:
        """Hand in rows, and wait until they are committed; raises ``StoreError`` when they could not be.

        Replies for the cache are in the one row that is handed in with them. ``asked`` are the requests in batches
        whose answers that row has.
        """
        loop = asyncio.get_running_loop()
        self._batch.answers.extend(answers)
        self._batch.evaluations.extend(evaluations)
        self._batch.asked.extend(asked)
        for reply in replies:
            if isinstance(reply, FoundReply):
                reply = reply.at((evaluations or answers)[0], is_answer=not evaluations)  # noqa: PLW2901
            self._batch.replies.append(reply)
        written = loop.create_future()
        self._waiting.append(written)
        if self._writing is None or self._writing.done():
            self._writing = loop.create_task(self._write())
        await written

    async def settle(self) -> None:
        """Wait until all that was handed in is committed, or could not be: also what nobody waits for any more."""
        if self._writing is not None:
            await self._writing

    async def _write(self) -> None:
        await asyncio.sleep(GATHER_SECONDS)
        while self._waiting:
            batch, self._batch = self._batch, Batch()
            waiting, self._waiting = self._waiting, []
            error = await self._commit_batch(batch)
            if error is not None and self._failed is not None:
                self._failed(error)
            for future in waiting:
                if not future.done():  # who was cancelled does not wait any more
                    future.set_result(None) if error is None else future.set_exception(error)

    async def _commit_batch(self, batch: Batch) -> Exception | None:
        try:
            if self._store.commits_quickly:
                self._store.commit(batch)
            else:
                await asyncio.to_thread(self._store.commit, batch)
        except Exception as error:  # reported to everybody who waits for it
            return error
        return None
