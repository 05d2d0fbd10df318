"""The web pages: they work without JavaScript, which adds live updates, the drawer and the long table."""

from __future__ import annotations

from fastapi import APIRouter

from evenhand.server.pages import cases, compare, home, judges, profiles, prompts, results, runs, settings, transfer

router = APIRouter(include_in_schema=False)
for _part in (
    home.router,
    prompts.router,
    cases.router,
    judges.router,
    transfer.router,
    settings.router,
    runs.router,
    results.router,
    profiles.router,
    profiles.audit_router,
    compare.router,
    settings.login_router,
):
    router.include_router(_part)
