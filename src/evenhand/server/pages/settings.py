"""The page of settings: how it looks, where things are kept, and which models can be asked."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evenhand import registry
from evenhand.models.embedded.catalogue import MODELS as EMBEDDED
from evenhand.models.embedded.files import megabytes, models_folder
from evenhand.models.embedded.pulling import is_here
from evenhand.models.environment import variable
from evenhand.models.providers import Provider
from evenhand.models.resolve import JUDGE_VARIABLE
from evenhand.server.api.shared import Opened
from evenhand.server.rendering import page

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProvider:
    """A provider as the page shows it: the names of its variables, and never what they hold."""

    name: str
    variables: tuple[str, ...]
    needs_key: bool
    found: str | None

    @property
    def state(self) -> str:
        """Whether its models can be asked."""
        if self.found:
            return "key is set"
        return "no key" if self.needs_key else "needs no key"

    @classmethod
    def of(cls, provider: Provider) -> KnownProvider:
        """Look which of its variables is set."""
        found = next((name for name in provider.key_variables if variable(name)), None)
        return cls(name=provider.name, variables=provider.key_variables, needs_key=provider.needs_key, found=found)


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
        providers=_providers(),
        embedded=_embedded(),
        can_embed=importlib.util.find_spec("xllamacpp") is not None,
    )


def _providers() -> list[KnownProvider]:
    """Find the providers that are registered; those of other packages may be anything that makes a model."""
    found = (point.load() for point in registry.points(registry.MODELS).values())
    return sorted(
        (KnownProvider.of(one) for one in found if isinstance(one, Provider)),
        key=lambda one: (one.found is None, one.name),
    )


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
