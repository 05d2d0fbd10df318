"""The list of runs: searched, filtered, sorted, page by page, and two of them chosen to be compared."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Query, Request
from fastapi.responses import Response

from evenhand.domain.errors import ConfigError, RunNotFoundError
from evenhand.domain.prompt import Prompt
from evenhand.domain.run import TAGS, RunRecord
from evenhand.server.dependencies import RunManagerDep, StoreDep, SummaryCacheDep
from evenhand.server.pages.base import Sent, page_routes, see_other
from evenhand.server.pages.run_view import Row
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.server.runs.baseline import newest_pair
from evenhand.server.runs.live_runs import in_progress, state_of_runs
from evenhand.server.runs.run_query import SORTS, RunQuery, prompts_called
from evenhand.store.store import Store

router = page_routes()

ON_A_PAGE: Final = 25
# How many prompts and tags are offered while one types.
MOST_OFFERED: Final = 100
_NOTICES: Final = {
    "deleted": "Run deleted.",
    "saved": "Filter saved.",
    "filter-deleted": "Saved filter deleted; the runs stay as they are.",
}


@router.get("/runs")
def list_of_runs(
    request: Request,
    store: StoreDep,
    manager: RunManagerDep,
    summaries: SummaryCacheDep,
    *,
    text: str = "",
    prompt: str = "",
    tag: Annotated[tuple[str, ...], Query()] = (),
    sort: str = "newest",
    after: int = 0,
    a: str = "",
    b: str = "",
    done: str = "",
) -> Response:
    """Show the runs that match, a page of them; ``a`` and ``b`` are those that are chosen, on whichever page."""
    running = in_progress(store)
    query = RunQuery.of(text=text, prompt=prompt, tags=tag, sort=sort)
    called = _prompts(store, query.prompt) if query.prompt else []
    chosen = called[0] if len(called) == 1 else None
    is_clear = chosen is not None or not query.prompt
    runs = query.runs(store, chosen) if is_clear else []
    first = min(max(after, 0), max(len(runs) - 1, 0))
    here = runs[first : first + ON_A_PAGE]
    rows = [Row.of(store, run, manager, summaries) for run in here]
    shown = {run.id for run in here}
    elsewhere = {letter: found for letter, name in (("a", a), ("b", b)) if (found := _run(store, name)) is not None}
    pair = newest_pair(row.run for row in rows) if sort == "newest" and not (a or b) else None
    return page(
        request,
        "runs.html",
        rows=rows,
        here=query.address(first, a=a, b=b),
        state=state_of_runs(running),
        chosen_ids={"a": a, "b": b} if pair is None else dict(zip("ab", pair, strict=True)),
        elsewhere={letter: run for letter, run in elsewhere.items() if run.id not in shown},
        carried={letter: run.id for letter, run in elsewhere.items()},
        query=query,
        sorts=SORTS,
        prompt=chosen,
        prompts=[] if is_clear else called,
        prompt_names=[name for _, name in store.prompts.names(MOST_OFFERED)],
        tag_names=_tag_names(store),
        saved=store.saved_filters.all(),
        notice_text=_NOTICES.get(done),
        shown=f"{first + 1:,} to {first + len(here):,} of {len(runs):,}" if here else "",
        before=max(first - ON_A_PAGE, 0) if first else None,
        after=first + ON_A_PAGE if first + ON_A_PAGE < len(runs) else None,
    )


@router.post("/runs/filters")
def save_filter(store: StoreDep, sent: Sent) -> Response:
    """Save a filter of the list under a name."""
    query = RunQuery.from_text(sent.text("query"))
    try:
        store.saved_filters.save(sent.text("name").strip(), str(query))
    except ConfigError as error:
        raise Problem(422, "Invalid request", str(error), field="name") from None
    return see_other(query.address(done="saved"))


@router.post("/runs/filters/delete")
def delete_filter(store: StoreDep, sent: Sent) -> Response:
    """Delete a saved filter."""
    store.saved_filters.delete(sent.text("name"))
    return see_other("/runs?done=filter-deleted")


def _run(store: Store, run_id: str) -> RunRecord | None:
    """Return a run that was chosen before; None where it is gone."""
    try:
        found = store.runs.find(run_id) if run_id else None
    except RunNotFoundError:
        return None
    return found if found is not None and found.id == run_id else None


def _tag_names(store: Store) -> list[str]:
    return sorted({tag for run in store.runs.with_option(TAGS) for tag in run.tags})[:MOST_OFFERED]


def _prompts(store: Store, name: str) -> list[Prompt]:
    found = prompts_called(store, name)
    if not found:
        raise Problem(404, "Not found", f"no prompt {name!r:.80}; its runs are in the list of all runs", field="prompt")
    return found
