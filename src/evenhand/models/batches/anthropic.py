"""Anthropic's message batches: all requests in one body."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

import orjson

from evenhand.models.batches.server import (
    SKEW_SECONDS,
    BatchLimits,
    BatchResult,
    BatchServer,
    BatchState,
    as_response,
    id_in,
    lines_in,
    object_in,
    unfinished,
)
from evenhand.models.dialects.dialect import listing, mapping, text_of

_STATUSES: Final[Mapping[str, int]] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}


class AnthropicBatches:
    """The protocol of Anthropic. A batch has no field for our own key: it is part of the ids of its requests."""

    limits = BatchLimits(100_000, 100_000_000)

    def line(self, custom_id: str, body: Mapping[str, Any]) -> bytes:
        """Write one request."""
        return orjson.dumps({"custom_id": custom_id, "params": body})

    async def create(self, server: BatchServer, key: str, lines: Sequence[bytes]) -> str:  # noqa: ARG002 - in the lines
        """Submit all requests at once."""
        body = b"".join((b'{"requests":[', b",".join(lines), b"]}"))
        return id_in(object_in(await server.send("POST", f"{server.url}/batches", body)))

    async def find(self, server: BatchServer, key: str, *, since: float, requests: int) -> list[str]:
        """Look at the batches of this size that were made since; whose they are, only their results say."""
        found: list[str] = []
        for candidate in await _made_since(server, since, requests):
            waits = 0
            while not (state := await self.look(server, candidate)).is_over:
                waits += 1
                await asyncio.sleep(_pause(server, waits))
            results = await self.results(server, candidate, state)
            if any(result.id.startswith(f"{key}-") for result in results):
                found.append(candidate)
        return found

    async def look(self, server: BatchServer, batch: str) -> BatchState:
        """Return how far a batch is."""
        said = await server.get_json(f"{server.url}/batches/{quote(batch, safe='')}")
        return BatchState(said.get("processing_status") == "ended", None, said)

    async def results(self, server: BatchServer, batch: str, state: BatchState) -> Iterator[BatchResult]:  # noqa: ARG002
        """Read the results; from our own address, and not from one that the response names."""
        body = await server.get(f"{server.url}/batches/{quote(batch, safe='')}/results")
        return map(_result, lines_in(body))

    async def cancel(self, server: BatchServer, batch: str) -> None:
        """Ask for the end of a batch."""
        await server.send_json(f"{server.url}/batches/{quote(batch, safe='')}/cancel", {})


async def _made_since(server: BatchServer, since: float, requests: int) -> list[str]:
    def following(page: Mapping[str, Any]) -> str:
        last = mapping((listing(page.get("data")) or [None])[-1])
        if not page.get("has_more") or not last or _moment(last) < since - SKEW_SECONDS:
            return ""
        return f"&after_id={quote(id_in(last), safe='')}"

    found: list[str] = []
    async for page in server.pages(f"{server.url}/batches?limit=100", following):
        for batch in map(mapping, listing(page.get("data"))):
            counts = mapping(batch.get("request_counts")).values()
            size = sum(count for count in counts if isinstance(count, int))
            if size == requests and _moment(batch) >= since - SKEW_SECONDS:
                found.append(id_in(batch))
    return found


def _moment(batch: Mapping[str, Any]) -> float:
    """Return when a batch was made; one that does not say so may be any."""
    try:
        return datetime.fromisoformat(text_of(batch.get("created_at"))).timestamp()
    except (ValueError, OverflowError):
        return float("inf")


def _pause(server: BatchServer, waits: int) -> float:
    policy = server.model.policy
    return min(policy.cap * 8, policy.base * 2.0 ** min(waits, 16)) * (0.5 + 0.5 * random.random())  # noqa: S311


def _result(line: Mapping[str, Any]) -> BatchResult:
    identity, result = text_of(line.get("custom_id")), mapping(line.get("result"))
    match result.get("type"):
        case "succeeded":
            return BatchResult(identity, as_response(200, result.get("message")))
        case "errored":
            error = mapping(result.get("error"))
            kind = text_of(mapping(error.get("error")).get("type"))
            return BatchResult(identity, as_response(_STATUSES.get(kind, 500), error))
        case "expired":
            return BatchResult(identity, unfinished("expired", "the batch ended before this request was answered"))
        case _:
            return BatchResult(identity, unfinished("canceled", "the batch was cancelled before this request"))
