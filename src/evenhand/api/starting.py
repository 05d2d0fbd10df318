"""What all doors to a run share: its pace, and the start of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.engine.job import Job, Pace, Scope
    from evenhand.engine.place import PlaceLike
    from evenhand.engine.undertaking import Undertaking, Watcher


def pace_of(
    concurrency: int | None,
    *,
    max_calls: int | None,
    max_cost: float | None,
    cache: bool,
    outage_timeout: float | None,
) -> Pace:
    """Give the pace that the options ask for; what is not said is as usual."""
    from evenhand.engine.budget import Limits  # noqa: PLC0415
    from evenhand.engine.job import DEFAULT_CONCURRENCY, DEFAULT_OUTAGE_SECONDS, Pace  # noqa: PLC0415

    return Pace(
        concurrency=DEFAULT_CONCURRENCY if concurrency is None else concurrency,
        limits=Limits(max_calls=max_calls, max_cost=max_cost),
        use_cache=cache,
        outage_timeout=DEFAULT_OUTAGE_SECONDS if outage_timeout is None else outage_timeout,
    )


def started(job: Job, scope: Scope, pace: Pace, *, store: PlaceLike, progress: bool | Watcher) -> Undertaking:
    """Plan a run where it is to be kept."""
    from evenhand.engine.place import Place  # noqa: PLC0415
    from evenhand.engine.undertaking import Undertaking  # noqa: PLC0415

    return Undertaking(job, scope=scope, pace=pace, place=Place.of(store), progress=progress)
