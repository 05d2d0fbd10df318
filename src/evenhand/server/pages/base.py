"""What all pages share: forms, and where a browser goes after a change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData, UploadFile

from evenhand.server.form_data import form_of
from evenhand.server.problems import Problem
from evenhand.server.security import guard


def page_routes() -> APIRouter:
    """Make a router for pages, whose routes require the token where others do and are not part of the API."""
    return APIRouter(dependencies=[Depends(guard)], include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form that was sent."""

    sent: FormData

    def text(self, name: str) -> str:
        """Return a field's text, empty if it was not sent. Browsers send line endings as CR LF."""
        value = self.sent.get(name, "")
        return _plain(value) if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """Return all values of a field, such as of checkboxes."""
        return [_plain(value) for value in self.sent.getlist(name) if isinstance(value, str)]

    def has(self, name: str) -> bool:
        """Return whether the form has such a field."""
        return name in self.sent

    def file(self, name: str) -> bytes:
        """Return the content of an uploaded file, empty if there is none."""
        upload = self.sent.get(name)
        return upload.file.read() if isinstance(upload, UploadFile) else b""

    def file_name(self, name: str) -> str:
        """Return what an uploaded file is called where it comes from, empty if there is none."""
        upload = self.sent.get(name)
        return (upload.filename or "") if isinstance(upload, UploadFile) else ""

    def number(self, name: str) -> int:
        """Return an integer that our own page put into the form."""
        text = self.text(name)
        if not text.isascii() or not text.isdecimal() or len(text) > 15:
            raise Problem(422, "Invalid request", f"{name} must be an integer, not {text[:40]!r}", field=name)
        return int(text)


async def _sent(request: Request) -> AsyncIterator[Form]:
    sent = await form_of(request)
    try:
        yield Form(sent)
    finally:
        await sent.close()


Sent = Annotated[Form, Depends(_sent)]


def as_typed(sent: str, kept: str | None) -> str | None:
    """Return the text of a field: the stored one if nothing was changed, None if it is empty."""
    if sent == _plain(kept or ""):
        return kept
    return sent or None


def see_other(address: str) -> RedirectResponse:
    """Redirect to a page after a change, so that reloading it changes nothing."""
    return RedirectResponse(address, status_code=303)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
