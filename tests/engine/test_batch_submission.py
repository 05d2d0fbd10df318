"""A batch is submitted once: sent again where it surely was not taken, and looked for where nobody knows."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from evenhand.engine.batch_submission import BatchAtProvider, BatchRefusedError, BatchUnknownError
from evenhand.models.retry import RetryPolicy, TransportFault

MOST = 3
BUSY = TransportFault("rate_limited", "too many requests", retryable=True)
WRONG = TransportFault("bad_request", "no such model", retryable=False)
LOST = TransportFault("timeout", "no response", retryable=True)


class Provider:
    """Stands for a provider's protocol: fails as it is told, and then takes a batch; has ``listed`` ones already."""

    def __init__(self, *faults: TransportFault, listed: tuple[str, ...] = ()) -> None:
        self.faults = list(faults)
        self.listed = list(listed)
        self.sent = self.looked = 0
        self.cancelled: list[str] = []

    async def create(self, *_: Any) -> str:
        self.sent += 1
        if self.faults:
            raise self.faults.pop(0)
        return "batch-new"

    async def find(self, *_: Any, **__: Any) -> list[str]:
        self.looked += 1
        return self.listed

    async def cancel(self, _: Any, batch: str) -> None:
        self.cancelled.append(batch)


def submitted(provider: Provider) -> str:
    policy = RetryPolicy(max_transport_attempts=MOST, base=0)
    model: Any = SimpleNamespace(name="openai/gpt", policy=policy)
    at_provider = BatchAtProvider(model, provider)  # type: ignore[arg-type]
    return asyncio.run(at_provider.create("eh-key", [b"{}"], since=0.0))


def test_what_was_surely_not_taken_is_sent_again_and_not_looked_for() -> None:
    provider = Provider(*[BUSY] * (MOST - 1))

    assert submitted(provider) == "batch-new"
    assert (provider.sent, provider.looked) == (MOST, 0)


@pytest.mark.parametrize(("faults", "sent"), [([WRONG], 1), ([BUSY] * 9, MOST), ([BUSY, WRONG], 2)])
def test_what_is_refused_is_sent_as_often_as_may_be_and_no_more(faults: list[TransportFault], sent: int) -> None:
    provider = Provider(*faults)

    with pytest.raises(BatchRefusedError, match=f"openai/gpt: the batch was refused: {faults[-1].kind}"):
        submitted(provider)

    assert (provider.sent, provider.looked) == (sent, 0)


def test_where_the_response_was_lost_the_batch_is_found_and_others_of_its_key_are_cancelled() -> None:
    provider = Provider(LOST, listed=("batch-1", "batch-2", "batch-3"))

    assert submitted(provider) == "batch-1"
    assert (provider.sent, provider.looked, provider.cancelled) == (1, 1, ["batch-2", "batch-3"])


def test_where_there_is_none_it_is_sent_again() -> None:
    provider = Provider(LOST)

    assert submitted(provider) == "batch-new"
    assert provider.sent == 2
    assert provider.looked > 1  # lists may be a little behind


def test_what_is_lost_again_and_again_is_left_for_the_next_run() -> None:
    provider = Provider(*[LOST] * 9)

    with pytest.raises(BatchUnknownError, match=r"could not be submitted .*timeout: no response.*, and is not in"):
        submitted(provider)

    assert provider.sent == MOST
