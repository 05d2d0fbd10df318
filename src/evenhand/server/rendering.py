"""Pages from templates: everything is escaped, and every page gets what the layout needs."""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FunctionLoader, StrictUndefined

from evenhand.reports.standing import Standing
from evenhand.version import __version__

if TYPE_CHECKING:
    from evenhand.server.problems import Problem


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
