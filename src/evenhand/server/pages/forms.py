"""What a page's form sends: texts as they were typed, whatever browsers do to their line ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData, UploadFile

from evenhand.server.api.shared import Opened
from evenhand.server.problems import Problem
from evenhand.server.security import MOST_IMPORT_BYTES

__all__ = ["Form", "Opened", "Sent", "as_typed", "see_other"]


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form that was sent."""

    sent: FormData

    def text(self, name: str) -> str:
        """Give a field's text; what was not sent is empty. Browsers send line ends as CR LF, whatever was typed."""
        found = self.sent.get(name, "")
        return _plain(found) if isinstance(found, str) else ""

    def texts(self, name: str) -> list[str]:
        """Give all values of a field, such as of boxes that are ticked."""
        return [_plain(one) for one in self.sent.getlist(name) if isinstance(one, str)]

    def has(self, name: str) -> bool:
        """Tell whether the form has such a field."""
        return name in self.sent

    def file(self, name: str) -> bytes:
        """Give the content of a file that was chosen; empty where there is none."""
        found = self.sent.get(name)
        return found.file.read() if isinstance(found, UploadFile) else b""

    def number(self, name: str) -> int:
        """Give a whole number that our own page put into the form."""
        found = self.text(name)
        if not found.isascii() or not found.isdecimal() or len(found) > 15:
            raise Problem(422, "Not valid", f"{name} must be a whole number, not {found[:40]!r}", field=name)
        return int(found)


async def _sent(request: Request) -> AsyncIterator[Form]:
    # The whole body is limited at the gate, so that a field of it needs no limit. Closes files that came with it.
    async with request.form(max_part_size=MOST_IMPORT_BYTES) as sent:
        yield Form(sent)


Sent = Annotated[Form, Depends(_sent)]


def as_typed(sent: str, kept: str | None) -> str | None:
    """Give the text that a field stands for: what is kept where nothing was changed, None where nothing is there."""
    if sent == _plain(kept or ""):
        return kept
    return sent or None


def see_other(address: str) -> RedirectResponse:
    """Go on to a page after a change, so that loading it again changes nothing."""
    return RedirectResponse(address, status_code=303)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
