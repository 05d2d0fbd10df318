"""Gemini's batches: all requests in one body, and all responses in the operation that comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import orjson

from evenhand.models.batches.server import (
    BatchLimits,
    BatchResult,
    BatchServer,
    BatchState,
    as_response,
    object_in,
    unfinished,
)
from evenhand.models.dialects.dialect import listing, mapping, text_of
from evenhand.models.retry import TransportFault

_ASK: Final = ":generateContent"
_SUBMIT: Final = ":batchGenerateContent"


class GeminiBatches:
    """The protocol of Gemini. Our own key is the display name of a batch."""

    # Requests within the body may have 20 MB in all.
    limits = BatchLimits(50_000, 18_000_000)

    def line(self, custom_id: str, body: Mapping[str, Any]) -> bytes:
        """Write one request."""
        return orjson.dumps({"request": body, "metadata": {"key": custom_id}})

    async def create(self, server: BatchServer, key: str, lines: Sequence[bytes]) -> str:
        """Submit all requests at once."""
        head = b'{"batch":{"display_name":%b,"input_config":{"requests":{"requests":[' % orjson.dumps(key)
        body = b"".join((head, b",".join(lines), b"]}}}}"))
        url = server.url.removesuffix(_ASK) + _SUBMIT
        return _name_in(object_in(await server.send("POST", url, body)))

    async def find(self, server: BatchServer, key: str, *, since: float, requests: int) -> list[str]:  # noqa: ARG002
        """Look for the key among the display names."""

        def following(page: Mapping[str, Any]) -> str:
            token = text_of(page.get("nextPageToken"))
            return f"&pageToken={quote(token, safe='')}" if token else ""

        return [
            _name_in(operation)
            async for page in server.pages(f"{_root(server)}/batches?pageSize=100", following)
            for operation in map(mapping, listing(page.get("operations")))
            if mapping(operation.get("metadata")).get("displayName") == key
        ]

    async def look(self, server: BatchServer, batch: str) -> BatchState:
        """Return how far a batch is."""
        said = await server.get_json(f"{_root(server)}/{_path(batch)}")
        state = text_of(mapping(said.get("metadata")).get("state")).rpartition("_")[2]
        failure = None
        if state == "FAILED" or (said.get("error") and state not in ("CANCELLED", "EXPIRED")):
            failure = text_of(mapping(said.get("error")).get("message")) or "no reason is given"
        return BatchState(said.get("done") is True or failure is not None, failure, said)

    async def results(self, server: BatchServer, batch: str, state: BatchState) -> Iterator[BatchResult]:  # noqa: ARG002
        """Read the responses in the operation itself."""
        said = mapping(state.said.get("response")) or mapping(mapping(state.said.get("metadata")).get("output"))
        inlined = said.get("inlinedResponses")
        return map(_result, listing(mapping(inlined).get("inlinedResponses")) or listing(inlined))

    async def cancel(self, server: BatchServer, batch: str) -> None:
        """Ask for the end of a batch."""
        await server.send_json(f"{_root(server)}/{_path(batch)}:cancel", {})


def _root(server: BatchServer) -> str:
    return server.url.rpartition("/models/")[0]


def _path(batch: str) -> str:
    return quote(batch, safe="/")


def _name_in(said: Mapping[str, Any]) -> str:
    if not (name := text_of(said.get("name"))).startswith("batches/"):
        raise TransportFault("invalid_body", "the response names no batch", retryable=True)
    return name


def _result(item: object) -> BatchResult:
    result = mapping(item)
    identity, error = text_of(mapping(result.get("metadata")).get("key")), mapping(result.get("error"))
    if response := mapping(result.get("response")):
        return BatchResult(identity, as_response(200, response))
    code = error.get("code")
    if isinstance(code, int):
        # Codes of gRPC, or of HTTP.
        return BatchResult(identity, as_response(_HTTP.get(code, code if code >= 400 else 500), {"error": error}))
    return BatchResult(identity, unfinished("expired", "the batch ended before this request was answered"))


_HTTP: Final[Mapping[int, int]] = {3: 400, 5: 404, 7: 403, 8: 429, 9: 400, 13: 500, 14: 503, 16: 401}
