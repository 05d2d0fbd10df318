"""Forms of the pages, parsed once for each request; a large one in a thread, so that the event loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from fastapi import Request
from starlette.datastructures import FormData, Headers
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser

from evenhand.server.json_slices import LARGE_BYTES
from evenhand.server.problems import Problem

URL_ENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
MOST_FIELDS: Final = 1000
_PARSED: Final = "evenhand.form"
_PIECE: Final = 64 * 1024


def form_kind(request: Request) -> str | None:
    """Return the Content-Type of a request if it is one of forms."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind if kind in (URL_ENCODED, MULTIPART) else None


async def form_of(request: Request) -> FormData:
    """Return the form that was sent, empty if there is none. The whole body is limited at the gate."""
    form: FormData | None = request.scope.get(_PARSED)
    if form is None:
        kind = form_kind(request)
        if kind is None:
            form = FormData()
        else:
            body = await request.body()
            parse = _parse(kind, request.headers, body)
            try:
                form = await (asyncio.to_thread(asyncio.run, parse) if len(body) > LARGE_BYTES else parse)
            except MultiPartException as error:
                raise Problem(400, "Malformed form", error.message) from None
        request.scope[_PARSED] = form
    return form


async def _parse(kind: str, headers: Headers, body: bytes) -> FormData:
    limits = {"max_fields": MOST_FIELDS, "max_part_size": len(body)}
    if kind == URL_ENCODED:
        return await FormParser(headers, _pieces(body), **limits).parse()  # type: ignore[arg-type]
    parser = MultiPartParser(headers, _pieces(body), **limits)  # type: ignore[arg-type]
    parser.spool_max_size = len(body) + 1  # it is in memory already
    return await parser.parse()


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(body), _PIECE):
        yield body[begin : begin + _PIECE]
    yield b""
