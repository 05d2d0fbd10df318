"""Logging in: whoever shows the token gets a cookie that opens the pages of a server beyond this machine."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from evenhand.server.rendering import page
from evenhand.server.security import SESSION_COOKIE, equal
from evenhand.server.settings import ServerSettings

router = APIRouter()

_DAYS = 30


@router.get("/login", name="login")
def show_login(request: Request) -> Response:
    """Ask for the token."""
    return page(request, "login.html", error="")


@router.post("/login", name="login")
def log_in(request: Request, token: Annotated[str, Form(max_length=1000)] = "") -> Response:
    """Set the cookie for whoever shows the token."""
    settings: ServerSettings = request.app.state.settings
    if not equal(token, settings.token.reveal()):
        return page(request, "login.html", status=401, error="That is not the token.")
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie(
        SESSION_COOKIE,
        settings.session,
        max_age=_DAYS * 24 * 3600,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer
