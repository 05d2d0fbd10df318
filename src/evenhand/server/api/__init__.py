"""The REST API under /api: everything that the pages and the command line can do."""

from __future__ import annotations

from fastapi import APIRouter

from evenhand.server.api import about, checking, evaluations, models, prompts, runs, test_cases, transfers

router = APIRouter(prefix="/api")
for _part in (prompts, test_cases, checking, runs, evaluations, transfers, models, about):
    router.include_router(_part.router)
