"""The page of settings: how it looks, where things are kept, and which models can be asked."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evenhand.models.embedded.catalogue import MODELS as EMBEDDED
from evenhand.models.embedded.files import megabytes, models_folder
from evenhand.models.embedded.pulling import is_here
from evenhand.models.resolve import JUDGE_VARIABLE
from evenhand.server.api.shared import Opened
from evenhand.server.providers import KnownProvider, known_providers
from evenhand.server.rendering import page

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownEmbedded:
    """An embedded model as the page shows it."""

    name: str
    title: str
    size: str
    is_here: bool
    about: str


@router.get("/settings")
def show_settings(request: Request, store: Opened) -> Response:
    """Show the settings; those of the browser are kept by the browser."""
    settings = request.app.state.settings
    return page(
        request,
        "settings.html",
        settings=settings,
        kept=store.database.where,
        judge=settings.judge or os.environ.get(JUDGE_VARIABLE, "").strip() or None,
        judge_variable=JUDGE_VARIABLE,
        models_folder=models_folder(),
        # Those of other packages may be anything that makes a model, and have no variables to show.
        providers=sorted(
            (one for one in known_providers() if one.needs_key is not None),
            key=lambda one: (one.found is None, one.name),
        ),
        embedded=_embedded(),
        can_embed=importlib.util.find_spec("xllamacpp") is not None,
    )


def _providers() -> list[KnownProvider]:
    """Give those that can be asked first; those of other packages have no variables to show."""
    found = [one for one in known_providers() if one.needs_key is not None]
    return sorted(found, key=lambda one: (one.found is None, one.name))


def _embedded() -> list[KnownEmbedded]:
    return [
        KnownEmbedded(
            name=one.name,
            title=one.title,
            size=megabytes(one.bytes),
            is_here=is_here(one),
            about=one.quality.summary if one.quality else one.about,
        )
        for one in EMBEDDED.values()
    ]
