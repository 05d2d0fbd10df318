"""The questions to one model that wait for a batch."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from evenhand.domain.ask import Ask
from evenhand.domain.evaluation import Attempt
from evenhand.domain.reply import Reply, Unanswered
from evenhand.engine.batch_submission import BatchAtProvider
from evenhand.models.client import HttpModel
from evenhand.models.dialects.dialect import Generation


@dataclass(slots=True, kw_only=True)
class BatchQuestion:
    """A question that waits for its answer: in the queue, or in a batch."""

    item: str
    ask: Ask
    model: HttpModel
    # How it was put last.
    form: Generation
    answered: asyncio.Future[Reply | Unanswered]
    # In dollars: what it is expected to cost, what it may cost, which is reserved, and what the batch should save.
    guess: float = 0.0
    expected: float = 0.0
    saving: float = 0.0
    failed: list[Attempt] = field(default_factory=list)


class BatchLane:
    """The questions to one model that are not submitted yet."""

    def __init__(self, provider: BatchAtProvider) -> None:
        self.provider = provider
        self.queued: deque[BatchQuestion] = deque()
