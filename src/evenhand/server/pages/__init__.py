"""The web pages: they work without JavaScript, which adds live updates, the drawer and the long table."""

from __future__ import annotations

from fastapi import APIRouter

from evenhand.server.pages import (
    audits,
    cases,
    compare,
    home,
    judges,
    login,
    prompts,
    rankings,
    results,
    runs,
    settings,
    transfer,
)

router = APIRouter(include_in_schema=False)
for _part in (home, prompts, cases, judges, transfer, settings, runs, results, rankings, audits, compare, login):
    router.include_router(_part.router)
