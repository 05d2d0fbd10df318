"""Rankings and audits over HTTP: the numbers that their pages and files have (SPEC-K2, K4)."""

from __future__ import annotations

from typing import Any, Final

from evenhand.server.api.profile_shapes import AuditShape, RankingShape
from evenhand.server.api.shared import BUSY, Counts, Opened, Profiled, RunId, routes
from evenhand.server.problems import Problem
from evenhand.server.progress import as_it_is

router = routes("profiles")

# A ranking of some thousand profiles takes longer, and is there for who asks again.
PATIENCE_SECONDS: Final = 20.0


@router.get("/runs/{run}/ranking", response_model=RankingShape, responses=BUSY)
def get_ranking(run: RunId, store: Opened, profiled: Profiled) -> Any:
    """Give the ranking of a run, the best first, with how sure each place is; 409 if the run ranks nothing.

    While the run goes on, the order may change.
    """
    found = as_it_is(store, store.runs.find(run))
    try:
        ranks = profiled.ranks(store, found, PATIENCE_SECONDS)
    except TimeoutError:
        raise _not_yet() from None
    from evenhand.profiles.ranking.job import design_of  # noqa: PLC0415 - brings much arithmetic along

    return {
        "run": found.id,
        "status": found.status.value,
        "ranking": {**design_of(found.definition).as_dict(), **ranks.numbers()},
        "profiles": [one.as_dict() for one in ranks.profiles],
    }


@router.get("/runs/{run}/audit", response_model=AuditShape, responses=BUSY)
def get_audit(run: RunId, store: Opened, profiled: Profiled, counts: Counts) -> Any:
    """Give the numbers of an audit: effects with intervals, impact ratios, swaps, gates; 409 if the run is none."""
    found = as_it_is(store, store.runs.find(run))
    try:
        numbers = profiled.audit(store, found, PATIENCE_SECONDS)
        gates = (*counts.of(store, found, PATIENCE_SECONDS).gates, *numbers.gates)
    except TimeoutError:
        raise _not_yet() from None
    from evenhand.profiles.audit.saying import NO_CERTIFICATE  # noqa: PLC0415 - brings much arithmetic along

    return {
        "run": found.id,
        "status": found.status.value,
        "audit": {**numbers.as_dict(), "notice": NO_CERTIFICATE},
        "gates": [one.as_dict() for one in gates],
    }


def _not_yet() -> Problem:
    wait = {"retry-after": "5"}
    return Problem(503, "Not worked out yet", "the run is large; ask again in a moment", headers=wait)
