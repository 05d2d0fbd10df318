"""The documentation, served with the pages: nothing has to be fetched from elsewhere."""

from __future__ import annotations

from typing import Final

from fastapi import Request
from fastapi.responses import Response

from evenhand.server.documentation import documentation
from evenhand.server.markdown import ADDRESS
from evenhand.server.pages.base import page_routes
from evenhand.server.problems import Problem
from evenhand.server.rendering import page

router = page_routes()

_INDEX: Final = "index"
LONGEST_SEARCH: Final = 200


@router.get(ADDRESS)
def index(request: Request, q: str = "") -> Response:
    """Show the list of all pages, or the headings that have some words."""
    if len(q) > LONGEST_SEARCH:
        raise Problem(422, "Invalid request", f"q: it must have at most {LONGEST_SEARCH} characters", field="q")
    return _show(request, _INDEX, q.strip())


@router.get(ADDRESS + "/{name:path}")
def show_page(request: Request, name: str) -> Response:
    """Show a page of the documentation, or return a picture on one."""
    picture = documentation().picture(name)
    if picture is not None:
        content, media = picture
        return Response(content, media_type=media)
    return _show(request, name, "")


def _show(request: Request, name: str, words: str) -> Response:
    found = documentation().page(name)
    if found is None:
        raise Problem(404, "Not found", f"no page {name!r:.80} in the documentation; {ADDRESS} lists all pages")
    return page(
        request,
        "documentation.html",
        doc=found,
        is_index=name == _INDEX,
        words=words,
        found=documentation().search(words),
        here=[heading for heading in found.headings if heading.level == 2],
    )
