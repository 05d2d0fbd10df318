"""The REST API under /api: prompts, test cases, runs and their results, for programs."""

from __future__ import annotations

from fastapi import APIRouter

from evenhand.server.api import models, openapi, prompts, results, runs

router = APIRouter(prefix="/api")
for _part in (prompts, prompts, prompts, models, runs, results, results, results, prompts, models, openapi):
    router.include_router(_part.router)
