"""What all pages share: templates, forms, and the markup of reports within pages."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib import resources
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import FormData, UploadFile

from evenhand.reports.html import case
from evenhand.reports.phrases import Standing
from evenhand.server.api.dependencies import Opened
from evenhand.server.problems import Problem
from evenhand.server.security import MOST_IMPORT_BYTES
from evenhand.version import __version__


@functools.cache
def templates() -> Environment:
    """Make the environment of the templates, once."""
    folder = resources.files("evenhand.server") / "templates"

    def source(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    made = Environment(loader=FunctionLoader(source), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    made.globals.update(version=__version__, Standing=Standing)
    return made


def page(request: Request, template: str, /, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a page; ``token`` is there for its forms."""
    state = request.app.state
    text = (
        templates().get_template(template).render(path=request.url.path, token=state.settings.token.reveal(), **values)
    )
    return HTMLResponse(text, status_code=status)


def problem_page(problem: Problem) -> HTMLResponse:
    """Render what went wrong."""
    text = templates().get_template("problem.html").render(path="", token="", problem=problem)
    return HTMLResponse(text, status_code=problem.status)


def drawn(made: Markup) -> Markup:
    """Let a template take markup as it is. Text is refused, whoever wrote it."""
    if not isinstance(made, Markup):
        raise TypeError(f"markup made by the reports is wanted, not {type(made).__name__}")
    return made


def verbatim(said: str) -> Markup:
    """Show somebody else's text line by line, also where it has characters that nobody sees."""
    return drawn(case.verbatim(said))


def as_json(value: object) -> Markup:
    """Show a value to people who read JSON."""
    return verbatim(case.as_json(value))


__all__ = ["Form", "Opened", "Sent", "as_typed", "see_other"]


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form that was sent."""

    sent: FormData

    def text(self, name: str) -> str:
        """Return a field's text; what was not sent is empty. Browsers send line ends as CR LF, whatever was typed."""
        found = self.sent.get(name, "")
        return _plain(found) if isinstance(found, str) else ""

    def texts(self, name: str) -> list[str]:
        """Return all values of a field, such as of boxes that are ticked."""
        return [_plain(one) for one in self.sent.getlist(name) if isinstance(one, str)]

    def has(self, name: str) -> bool:
        """Tell whether the form has such a field."""
        return name in self.sent

    def file(self, name: str) -> bytes:
        """Return the content of a file that was chosen; empty where there is none."""
        found = self.sent.get(name)
        return found.file.read() if isinstance(found, UploadFile) else b""

    def number(self, name: str) -> int:
        """Return a whole number that our own page put into the form."""
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
    """Return the text that a field stands for: what is kept where nothing was changed, None where nothing is there."""
    if sent == _plain(kept or ""):
        return kept
    return sent or None


def see_other(address: str) -> RedirectResponse:
    """Go on to a page after a change, so that loading it again changes nothing."""
    return RedirectResponse(address, status_code=303)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
