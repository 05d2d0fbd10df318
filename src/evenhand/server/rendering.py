"""Pages from templates: everything is escaped, and every page gets what the layout needs."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FunctionLoader, StrictUndefined

from evenhand.reports.phrases import Standing
from evenhand.server.settings import settings_of
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
    token = settings_of(request).token.reveal()
    text = templates().get_template(template).render(path=request.url.path, token=token, **values)
    return HTMLResponse(text, status_code=status)
