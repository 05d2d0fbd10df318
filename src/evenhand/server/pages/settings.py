"""The page of settings, and logging in."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from typing import Annotated

from fastapi import Form, Query, Request
from fastapi.responses import Response

from evenhand.models.embedded.catalogue import MODELS as EMBEDDED, megabytes, models_folder
from evenhand.models.embedded.download import is_here
from evenhand.models.resolve import JUDGE_VARIABLE
from evenhand.server.dependencies import SettingsDep, StoreDep
from evenhand.server.pages.base import page_routes, see_other
from evenhand.server.rendering import page
from evenhand.server.runs.requests import KnownProvider, known_providers
from evenhand.server.security import SESSION_COOKIE, equal, own_path

router = page_routes()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownEmbedded:
    """An embedded model as the page shows it."""

    name: str
    title: str
    size: str
    is_here: bool
    about: str


@router.get("/settings")
def show_settings(request: Request, store: StoreDep, settings: SettingsDep) -> Response:
    """Show the settings; those of the browser are kept by the browser."""
    return page(
        request,
        "settings.html",
        settings=settings,
        kept=store.where,
        judge=settings.judge or os.environ.get(JUDGE_VARIABLE, "").strip() or None,
        judge_variable=JUDGE_VARIABLE,
        models_folder=models_folder(),
        providers=_providers(),
        embedded=_embedded(),
        can_embed=importlib.util.find_spec("xllamacpp") is not None,
    )


def _providers() -> list[KnownProvider]:
    """Return those that can be asked first; those of other packages have no variables to show."""
    providers = [provider for provider in known_providers() if provider.needs_key is not None]
    return sorted(providers, key=lambda provider: (provider.found is None, provider.name))


def _embedded() -> list[KnownEmbedded]:
    return [
        KnownEmbedded(
            name=model.name,
            title=model.title,
            size=megabytes(model.bytes),
            is_here=is_here(model),
            about=model.quality.summary if model.quality else model.about,
        )
        for model in EMBEDDED.values()
    ]


login_router = page_routes()

_DAYS = 30
Next = Annotated[str, Query(alias="next", max_length=2000)]


@login_router.get("/login", name="login")
def show_login(request: Request, following: Next = "") -> Response:
    """Ask for the token."""
    return page(request, "login.html", error="", following=following)


@login_router.post("/login", name="login")
def log_in(
    request: Request,
    settings: SettingsDep,
    token: Annotated[str, Form(max_length=1000)] = "",
    following: Annotated[str, Form(alias="next", max_length=2000)] = "",
) -> Response:
    """Set the session cookie if the token is right, and lead to the page that was asked for."""
    if not equal(token, settings.token.reveal()):
        return page(request, "login.html", status=401, error="Wrong token.", following=following)
    answer = see_other(own_path(following))
    answer.set_cookie(
        SESSION_COOKIE,
        settings.session,
        max_age=_DAYS * 24 * 3600,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@login_router.post("/logout")
def log_out(request: Request) -> Response:
    """Forget the session of this browser."""
    answer = see_other("/login")
    answer.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return answer
