"""Two runs compared over HTTP, case by case: what `evenhand compare --json` prints (SPEC-T1)."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Query

from evenhand.domain.errors import ConfigError
from evenhand.engine.comparing import ANYWAY
from evenhand.server.api.run_shapes import ComparisonShape
from evenhand.server.api.shared import BUSY, Counts, Opened, routes
from evenhand.server.comparisons import MOST_CHANGES, compared
from evenhand.server.problems import Problem
from evenhand.server.progress import as_it_is

router = routes("comparisons")

# A hundred thousand cases take about as long.
PATIENCE_SECONDS: Final = 20.0
_Run = Annotated[str, Query(max_length=200, description="The run's id, how that begins, or last.")]


@router.get("/compare", response_model=ComparisonShape, responses=BUSY)
def compare_two_runs(
    a: _Run,
    b: _Run,
    *,
    store: Opened,
    counts: Counts,
    evaluator: Annotated[
        str | None, Query(max_length=300, description="Compare by this evaluator, not by whole cases.")
    ] = None,
    limit: Annotated[int, Query(ge=0, le=10_000, description="How many changed cases to list.")] = MOST_CHANGES,
    anyway: Annotated[bool, Query(description="Also runs that are not finished, or were judged differently.")] = False,
) -> Any:
    """Tell whether run B is better than run A: the difference with its interval, a test, and the cases that changed."""
    runs = as_it_is(store, store.runs.find(a)), as_it_is(store, store.runs.find(b))
    try:
        found = compared(
            counts, store, runs, seconds=PATIENCE_SECONDS, evaluator=evaluator, most_changes=limit, anyway=anyway
        )
    except TimeoutError:
        wait = {"retry-after": "5"}
        raise Problem(503, "Not compared yet", "both runs are large; ask again in a moment", headers=wait) from None
    except ConfigError as error:
        raise ConfigError(str(error).replace(ANYWAY, "to compare them all the same: anyway=true")) from None
    return found.as_dict()
