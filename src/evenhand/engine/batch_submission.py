"""One batch at its provider: created once whatever happens to the response, and waited for."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from typing import Final

from evenhand.domain.errors import EvenhandError
from evenhand.models.batches.server import BatchProtocol, BatchResult, BatchServer, BatchState
from evenhand.models.client import HttpModel
from evenhand.models.retry import TransportFault

# After these, the provider has no batch. After others, nobody knows: the response was lost.
_NOT_TAKEN: Final = frozenset(
    {"bad_request", "certificate", "filtered", "forbidden", "http_error", "not_found", "quota", "rate_limited",
     "redirect", "unauthorized"}
)  # fmt: skip
# How long a batch that is not over is left alone, in units of the model's backoff: 2 s at first, a minute in the end.
_FIRST_LOOK: Final = 4.0
_LAST_LOOK: Final = 120.0
_GROWTH: Final = 1.5
# When a list is looked at for a batch, in the same units: it may be a little behind.
_LOOKS: Final = (0.0, 4.0, 16.0)


class BatchRefusedError(EvenhandError):
    """The provider does not take a batch, and has none."""


class BatchUnknownError(EvenhandError):
    """Nobody knows whether the provider has a batch; it is looked for again before anything else is submitted."""


class BatchFailedError(EvenhandError):
    """The provider gave a batch up as a whole, and answered nothing of it."""


class BatchAtProvider:
    """The batches of one model at its provider."""

    def __init__(self, model: HttpModel, protocol: BatchProtocol) -> None:
        self.model = model
        self.protocol = protocol
        self._server = BatchServer(model=model)

    async def create(self, key: str, lines: Sequence[bytes], *, since: float) -> str:
        """Submit a batch and return its id. Where the response is lost, it is looked for before it is sent again.

        Raises ``BatchRefusedError`` where there is no batch, and ``BatchUnknownError`` where there may be one.
        """
        policy, failures = self.model.policy, 0
        while True:
            try:
                return await self.protocol.create(self._server, key, lines)
            except TransportFault as caught:
                fault = caught
            failures += 1
            is_sure = fault.kind in _NOT_TAKEN
            if is_sure and (not fault.retryable or failures >= policy.max_transport_attempts):
                raise BatchRefusedError(f"{self.model.name}: the batch was refused: {fault}")
            await asyncio.sleep(policy.wait(failures, fault, random.random()))  # noqa: S311 - no secret
            if is_sure:
                continue
            if (found := await self.find(key, since=since, requests=len(lines))) is not None:
                return found
            if failures >= policy.max_transport_attempts:
                raise BatchUnknownError(
                    f"{self.model.name}: a batch could not be submitted ({fault}), and is not in the provider's list; "
                    "when the run is resumed, it is looked for once more before anything is submitted"
                )

    async def find(self, key: str, *, since: float, requests: int) -> str | None:
        """Look for a batch by our key, and return its id. If there are several, all but the first are cancelled."""
        found: list[str] = []
        for pause in _LOOKS:
            await asyncio.sleep(pause * self.model.policy.base)
            try:
                found = await self.protocol.find(self._server, key, since=since, requests=requests)
                for other in found[1:]:
                    await self.cancel(other)
            except TransportFault as fault:
                raise BatchUnknownError(
                    f"{self.model.name}: the provider does not say whether it has the batch {key} ({fault}); nothing "
                    "is submitted until it does"
                ) from None
            if found:
                return found[0]
        return None

    async def ended(self, batch: str) -> BatchState:
        """Wait until a batch is over; faults on the way are waited out, unless they will not pass."""
        policy, looks, failures = self.model.policy, 0, 0
        while True:
            try:
                state = await self.protocol.look(self._server, batch)
            except TransportFault as fault:
                if not fault.retryable:
                    raise self._lost(batch, fault) from None
                failures += 1
                await asyncio.sleep(max(policy.wait(failures, fault, random.random()), policy.cap))  # noqa: S311
                continue
            if state.failure is not None:
                raise BatchFailedError(f"{self.model.name}: batch {batch} failed as a whole: {state.failure}")
            if state.is_over:
                return state
            wait = min(_FIRST_LOOK * _GROWTH**looks, _LAST_LOOK) * policy.base
            looks = min(looks + 1, 20)
            await asyncio.sleep(wait * (0.75 + 0.5 * random.random()))  # noqa: S311 - no secret

    async def results(self, batch: str, state: BatchState) -> Iterator[BatchResult]:
        """Return what became of the requests of a batch that is over."""
        try:
            return await self.protocol.results(self._server, batch, state)
        except TransportFault as fault:
            raise self._lost(batch, fault) from None

    async def cancel(self, batch: str) -> None:
        """Ask the provider to end a batch; raises ``TransportFault``."""
        await self.protocol.cancel(self._server, batch)

    def _lost(self, batch: str, fault: TransportFault) -> EvenhandError:
        return BatchUnknownError(
            f"{self.model.name}: batch {batch} cannot be read ({fault}); its answers stay with the provider until the "
            "run is resumed"
        )
