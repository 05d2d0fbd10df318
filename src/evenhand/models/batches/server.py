"""The server of a batch API: requests to it over the endpoint of a model, and what all three protocols share."""

from __future__ import annotations

import asyncio
import io
import math
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Protocol

import orjson

from evenhand.models.client import HttpModel
from evenhand.models.dialects.dialect import Complaint, mapping, text_of
from evenhand.models.exchange import send
from evenhand.models.retry import TransportFault, quoted, retry_after_seconds, status_fault
from evenhand.models.wire.connection import Response

JSON: Final = "application/json"
# The results of a whole batch come in one body.
_MOST_RESULT_BYTES: Final = 1 << 30
_LONGEST_READ: Final = 64 * 1024
_MOST_PAGES: Final = 50
# Clocks differ, and batches are looked for by when they were made.
SKEW_SECONDS: Final = 3600.0


class BatchLimits(NamedTuple):
    """The most that may be submitted at once: requests, and bytes."""

    requests: int
    size: int


class BatchState(NamedTuple):
    """How far a batch is: whether it is over, why it failed as a whole, and what the provider said of it."""

    is_over: bool
    failure: str | None
    said: Mapping[str, Any]


class BatchResult(NamedTuple):
    """What became of one request, by its own id: a response, or the fault that stands for it."""

    id: str
    outcome: Response | TransportFault


class BatchProtocol(Protocol):
    """How a provider takes batches. Its methods raise ``TransportFault``."""

    limits: BatchLimits

    def line(self, custom_id: str, body: Mapping[str, Any]) -> bytes:
        """Write one request."""
        ...

    async def create(self, server: BatchServer, key: str, lines: Sequence[bytes]) -> str:
        """Submit requests under a key of our own, and return the id of the batch."""
        ...

    async def find(self, server: BatchServer, key: str, *, since: float, requests: int) -> list[str]:
        """Return the ids of batches that were submitted under a key; this may have to wait until they have ended."""
        ...

    async def look(self, server: BatchServer, batch: str) -> BatchState:
        """Return how far a batch is."""
        ...

    async def results(self, server: BatchServer, batch: str, state: BatchState) -> Iterator[BatchResult]:
        """Return what became of the requests of a batch that is over, in any order."""
        ...

    async def cancel(self, server: BatchServer, batch: str) -> None:
        """Ask for the end of a batch; what was answered by then is still to be had."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchServer:
    """Where the batches of a model go."""

    model: HttpModel

    @property
    def url(self) -> str:
        """The address at which the model is asked one by one."""
        return self.model.endpoint.url

    async def get(self, url: str) -> Response:
        """Get what is at an address, trying again a few times."""
        policy, failures = self.model.policy, 0
        while True:
            try:
                return await self.send("GET", url, b"")
            except TransportFault as fault:
                failures += 1
                if not fault.retryable or failures >= policy.max_transport_attempts:
                    raise
                await asyncio.sleep(policy.wait(failures, fault, random.random()))  # noqa: S311 - no secret

    async def get_json(self, url: str) -> Mapping[str, Any]:
        """Get a JSON object."""
        return object_in(await self.get(url))

    async def pages(self, url: str, following: Callable[[Mapping[str, Any]], str]) -> AsyncIterator[Mapping[str, Any]]:
        """Get a list page by page; ``following`` returns what the address of the next one has in addition, if any."""
        more = ""
        for _ in range(_MOST_PAGES):
            page = await self.get_json(url + more)
            yield page
            if not (more := following(page)):
                return

    async def send(self, method: str, url: str, body: bytes, *, content_type: str = JSON) -> Response:
        """Send a request once; raises ``TransportFault`` for everything but success, without the keys in it."""
        endpoint = replace(
            self.model.endpoint,
            url=url,
            written_url="",
            method=method,
            headers={**self.model.endpoint.headers, "content-type": content_type},
            max_body_bytes=_MOST_RESULT_BYTES,
        )
        try:
            response = await send(endpoint, body, seconds=math.inf)
            if not 200 <= response.status < 300:
                said = self.model.dialect.complaint(response.json, response.headers) or Complaint(None, response.page)
                wait = retry_after_seconds(response.headers.get("retry-after"), now=time.time()) or said.retry_after
                raise status_fault(response.status, said.message, code=said.code, retry_after=wait)
        except TransportFault as fault:
            raise fault.saying(quoted(endpoint.scrub(fault.message[:_LONGEST_READ]))) from None
        return response

    async def send_json(self, url: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Post a JSON object once, and return the one that comes back."""
        return object_in(await self.send("POST", url, orjson.dumps(body)))


def object_in(response: Response) -> Mapping[str, Any]:
    """Return the JSON object in a response."""
    body = response.json
    if not isinstance(body, dict):
        raise TransportFault("invalid_body", f"the response is no JSON object: {response.page}", retryable=True)
    return body


def id_in(said: Mapping[str, Any]) -> str:
    """Return the id of what a response tells of."""
    if not (identity := text_of(said.get("id"))):
        raise TransportFault("invalid_body", "the response has no 'id'", retryable=True)
    return identity


def lines_in(response: Response) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a body that has one on each line; a line that is none is left out."""
    for line in io.BytesIO(response.content):  # which are not all in memory once more
        try:
            yield mapping(orjson.loads(line))
        except ValueError:
            continue


def as_response(status: int, body: object) -> Response:
    """Return the answer to one request of a batch as if it had come by itself."""
    return Response(status=status, headers={}, content=orjson.dumps(body))


def unfinished(kind: str, why: str) -> TransportFault:
    """Return the fault of a request that the batch ended without: it was not answered, and is not paid for."""
    return TransportFault(kind, why, retryable=True)
