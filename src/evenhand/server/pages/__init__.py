"""The web pages: they work without JavaScript, which adds live updates, filters as one types, and the drawer."""

from __future__ import annotations

from typing import Final

from starlette.routing import BaseRoute

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
    ranked_profile,
    results,
    run_form,
    run_list,
    runs,
    settings,
    transfer,
    trend,
)

_ROUTERS: Final = (
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
    run_list.router,
    run_form.router,
    runs.baseline_router,
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
    ranked_profile.router,
    compare.router,
    trend.router,
    settings.login_router,
)
# They do not include each other: FastAPI would make every route anew for each router above its own.
ROUTES: Final[tuple[BaseRoute, ...]] = tuple(route for router in _ROUTERS for route in router.routes)
