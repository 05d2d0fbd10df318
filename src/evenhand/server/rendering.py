"""Pages from templates: everything is escaped, and every page gets what the layout needs."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment

from evenhand.domain.run_kind import criteria_of, has_verdicts
from evenhand.reports.html.renderer import environment
from evenhand.server.explanations import collected, explained, explanations, word
from evenhand.server.settings import settings_of


def templates() -> Environment:
    """Return the environment with the templates of the pages and those that they share with reports."""
    made = environment("evenhand.server")
    made.globals.update(
        word=word,
        explained=explained,
        explanations=explanations,
        has_verdicts=has_verdicts,
        criteria_of=criteria_of,
    )
    return made


def page(request: Request, template: str, /, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a page; ``token`` is there for its forms."""
    settings = settings_of(request)
    shared = {"path": request.url.path, "token": settings.token.reveal(), "can_log_out": settings.is_public}
    with collected():
        text = templates().get_template(template).render(**shared, **values)
    return HTMLResponse(text, status_code=status)
