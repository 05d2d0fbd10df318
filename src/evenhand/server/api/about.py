"""What is told of the API itself: whether it is there, and a page about it that works offline."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse

from evenhand.server.api.shapes import Health
from evenhand.server.api.shared import routes
from evenhand.server.api_page import described, in_pieces
from evenhand.server.rendering import page
from evenhand.version import __version__

router = routes("about")


@router.get("/health", response_model=Health, name="health")
def get_health() -> Any:
    """Tell that the server is there; this needs no token."""
    return {"status": "ok", "version": __version__}


@router.get("/openapi.json", response_class=JSONResponse, include_in_schema=False)
def get_openapi(request: Request) -> JSONResponse:
    """Give the OpenAPI document."""
    return JSONResponse(request.app.openapi())


@router.get("/docs", response_class=HTMLResponse, include_in_schema=False)
def show_docs(request: Request) -> HTMLResponse:
    """Show all routes with what they take and give."""
    return page(request, "api.html", groups=described(request.app.openapi()), in_pieces=in_pieces)
