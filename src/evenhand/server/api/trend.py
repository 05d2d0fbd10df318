"""Trends over HTTP: the runs of a prompt or a suite over time."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query

from evenhand.domain.errors import ConfigError
from evenhand.server.api.bodies import Cursor, routes
from evenhand.server.api.result_schemas import TrendShape
from evenhand.server.dependencies import SettingsDep, StoreDep, SummaryCacheDep
from evenhand.server.runs.results import cursor_offset, offset_cursor
from evenhand.server.runs.trend import MOST_POINTS, runs_like, runs_of_prompt, trend_of

router = routes("comparisons")


@router.get("/trend", response_model=TrendShape)
def get_trend(
    *,
    store: StoreDep,
    settings: SettingsDep,
    summaries: SummaryCacheDep,
    prompt: Annotated[str | None, Query(max_length=300, description="The runs of this prompt, by id or name.")] = None,
    run: Annotated[
        str | None, Query(max_length=200, description="The runs of the same suite or prompt as this one.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = MOST_POINTS,
    cursor: Cursor = None,
) -> Any:
    """Return the finished runs of a prompt or a suite over time, the newest first, and what was changed for each.

    `changed` compares a run with the one before it: the prompt version, judge, target, or cases.
    """
    if (prompt is None) == (run is None):
        raise ConfigError("name a prompt, or a run of the suite: prompt=ID or run=ID")
    first = cursor_offset(cursor)
    if run is not None:
        runs = runs_like(store, store.runs.find(run))
    else:
        runs = runs_of_prompt(store, store.prompts.find(str(prompt)).id)
    trend = trend_of(store, runs, summaries, first=first, limit=limit, seconds=settings.result_wait_seconds)
    return {
        "items": [point.as_dict() for point in reversed(trend.points)],
        "total": trend.total,
        "unfinished": trend.unfinished,
        "next": offset_cursor(first + limit) if first + limit < trend.total else None,
    }
