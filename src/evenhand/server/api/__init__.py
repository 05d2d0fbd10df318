"""The REST API under /api: prompts, test cases, runs and their results, for programs."""

from __future__ import annotations

from typing import Final

from starlette.routing import BaseRoute

from evenhand.server.api import (
    batches,
    case_import,
    doctor,
    drift,
    filters,
    judge_card,
    judge_panel,
    labels,
    models,
    openapi,
    playground,
    prompts,
    results,
    runs,
    trend,
)

_ROUTERS: Final = (
    prompts.router,
    prompts.test_case_router,
    case_import.router,
    prompts.schema_router,
    models.preview_router,
    playground.router,
    runs.router,
    batches.router,
    filters.router,
    labels.router,
    judge_card.router,
    doctor.router,
    results.router,
    results.profile_router,
    results.comparison_router,
    drift.router,
    judge_panel.router,
    trend.router,
    prompts.transfer_router,
    models.router,
    openapi.router,
)
# They do not include each other: FastAPI would make every route anew for each router above its own.
ROUTES: Final[tuple[BaseRoute, ...]] = tuple(route for router in _ROUTERS for route in router.routes)
