"""The web pages: they work without JavaScript, which adds live updates, filters as one types, and the drawer."""

from __future__ import annotations

from fastapi import APIRouter

from evenhand.server.pages import (
    case,
    case_import,
    cases,
    compare,
    doctor,
    documentation,
    drift,
    evaluations,
    home,
    judge_card,
    judge_panel,
    judges,
    labels,
    live,
    playground,
    profiles,
    prompts,
    results,
    runs,
    settings,
    transfer,
    trend,
)

router = APIRouter(include_in_schema=False)
for _part in (
    home.router,
    live.router,
    documentation.router,
    prompts.router,
    playground.router,
    cases.router,
    case_import.router,
    judges.router,
    judge_panel.router,
    transfer.router,
    settings.router,
    runs.router,
    evaluations.router,
    results.router,
    case.router,
    labels.router,
    judge_card.router,
    drift.router,
    doctor.router,
    profiles.router,
    profiles.audit_router,
    compare.router,
    trend.router,
    settings.login_router,
):
    router.include_router(_part)
