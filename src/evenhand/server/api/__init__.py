"""The REST API under /api: prompts, test cases, runs and their results, for programs."""

from __future__ import annotations

from fastapi import APIRouter

from evenhand.server.api import (
    about,
    checking,
    comparing,
    evaluations,
    judges,
    models,
    profiles,
    prompts,
    runs,
    test_cases,
    transfers,
)

router = APIRouter(prefix="/api")
for _part in (prompts, test_cases, checking, judges, runs, evaluations, profiles, comparing, transfers, models, about):
    router.include_router(_part.router)
