"""OpenAI's batches: a file of requests is uploaded, then a batch is made of it."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator, Mapping, Sequence
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

_PATH: Final = "/chat/completions"
_KEY: Final = "evenhand"
_OVER: Final = frozenset({"completed", "failed", "expired", "cancelled"})


class OpenAIBatches:
    """The protocol of OpenAI. Our own key is in the metadata of a batch."""

    limits = BatchLimits(50_000, 100_000_000)

    def line(self, custom_id: str, body: Mapping[str, Any]) -> bytes:
        """Write one line of the file."""
        request = {"custom_id": custom_id, "method": "POST", "url": f"/v1{_PATH}", "body": body}
        return orjson.dumps(request)

    async def create(self, server: BatchServer, key: str, lines: Sequence[bytes]) -> str:
        """Upload the file, which costs nothing, and make a batch of it."""
        boundary = secrets.token_hex(16)
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{key}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        first, *others = lines
        body = b"\n".join((head.encode() + first, *others, f"\r\n--{boundary}--\r\n".encode()))
        content_type = f"multipart/form-data; boundary={boundary}"
        uploaded = object_in(await server.send("POST", f"{_root(server)}/files", body, content_type=content_type))
        made = await server.send_json(
            f"{_root(server)}/batches",
            {
                "input_file_id": id_in(uploaded),
                "endpoint": f"/v1{_PATH}",
                "completion_window": "24h",
                "metadata": {_KEY: key},
            },
        )
        return id_in(made)

    async def find(self, server: BatchServer, key: str, *, since: float, requests: int) -> list[str]:  # noqa: ARG002
        """Look for the key in the metadata of the batches that were made since."""

        def following(page: Mapping[str, Any]) -> str:
            last = mapping((listing(page.get("data")) or [None])[-1])
            made = last.get("created_at")
            if not page.get("has_more") or not last or (isinstance(made, (int, float)) and made < since - SKEW_SECONDS):
                return ""
            return f"&after={quote(id_in(last), safe='')}"

        return [
            id_in(batch)
            async for page in server.pages(f"{_root(server)}/batches?limit=100", following)
            for batch in map(mapping, listing(page.get("data")))
            if mapping(batch.get("metadata")).get(_KEY) == key
        ]

    async def look(self, server: BatchServer, batch: str) -> BatchState:
        """Return how far a batch is."""
        said = await server.get_json(f"{_root(server)}/batches/{quote(batch, safe='')}")
        status = text_of(said.get("status"))
        failure = None
        if status == "failed":
            errors = [mapping(error) for error in listing(mapping(said.get("errors")).get("data"))]
            failure = "; ".join(text_of(error.get("message")) for error in errors[:3]) or "no reason is given"
        return BatchState(status in _OVER, failure, said)

    async def results(self, server: BatchServer, batch: str, state: BatchState) -> Iterator[BatchResult]:  # noqa: ARG002
        """Read the two files of results: answers, and errors."""
        files = [text_of(state.said.get(name)) for name in ("output_file_id", "error_file_id")]
        bodies = [await server.get(f"{_root(server)}/files/{quote(file, safe='')}/content") for file in files if file]
        return (_result(line) for line in itertools.chain.from_iterable(map(lines_in, bodies)))

    async def cancel(self, server: BatchServer, batch: str) -> None:
        """Ask for the end of a batch."""
        await server.send_json(f"{_root(server)}/batches/{quote(batch, safe='')}/cancel", {})


def _root(server: BatchServer) -> str:
    return server.url.removesuffix(_PATH)


def _result(line: Mapping[str, Any]) -> BatchResult:
    identity = text_of(line.get("custom_id"))
    response, error = mapping(line.get("response")), mapping(line.get("error"))
    status = response.get("status_code")
    if isinstance(status, int):
        return BatchResult(identity, as_response(status, response.get("body")))
    code, message = text_of(error.get("code")) or "error_body", text_of(error.get("message"))
    return BatchResult(identity, unfinished(code, message or "the batch has no answer to this request"))
