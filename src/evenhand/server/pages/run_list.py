"""The list of runs: searched, sorted, page by page, and two of them chosen to be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evenhand.domain.errors import NotFoundError
from evenhand.domain.prompt import Prompt
from evenhand.domain.run import RunRecord
from evenhand.engine.overview import kept_overview
from evenhand.reports.overview import Overview
from evenhand.reports.phrases import names_in
from evenhand.server.dependencies import RunManagerDep, StoreDep, SummaryCacheDep
from evenhand.server.pages.run_view import Row
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.server.runs.baseline import newest_pair, of_prompt
from evenhand.server.runs.live_runs import in_progress, state_of_runs
from evenhand.server.runs.progress import with_actual_status
from evenhand.server.runs.views import judge_of
from evenhand.store.store import Store

router = APIRouter()

ON_A_PAGE: Final = 25
LONGEST_TEXT: Final = 200
# Sorting by a number reads the stored numbers of every run that matches.
MOST_SORTED_BY_NUMBER: Final = 2_000
_NOTICES: Final = {"deleted": "Run deleted."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """A way to sort runs: what it is called, and the value by which; runs without one come last."""

    words: str
    by_record: Callable[[RunRecord], Any] | None = None
    by_numbers: Callable[[Overview], float | None] | None = None
    descending: bool = False


def _duration(run: RunRecord) -> float | None:
    return None if run.finished is None else run.finished - run.created


SORTS: Final = {
    "newest": Sort(words="Newest first"),
    "oldest": Sort(words="Oldest first", by_record=lambda run: run.number),
    "name": Sort(words="Name", by_record=lambda run: run.name.casefold()),
    "pass_rate": Sort(words="Pass rate", by_numbers=lambda found: found.summary.cases.pass_rate, descending=True),
    "mean": Sort(words="Mean", by_numbers=lambda found: found.summary.cases.mean, descending=True),
    "errors": Sort(words="Errors", by_numbers=lambda found: found.summary.cases.errors, descending=True),
    "cost": Sort(words="Cost", by_numbers=lambda found: found.summary.cost, descending=True),
    "duration": Sort(words="Duration", by_record=_duration, descending=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """What the address asks for; ``after`` is how many runs come before this page."""

    text: str = ""
    prompt: str = ""
    sort: str = "newest"
    after: int = 0

    def address(self, after: int) -> str:
        """Return the address of the same list after so many runs."""
        parameters = {"text": self.text, "prompt": self.prompt, "sort": self.sort if self.sort != "newest" else ""}
        asked = {name: value for name, value in parameters.items() if value} | ({"after": after} if after else {})
        return f"/runs?{urlencode(asked)}" if asked else "/runs"

    @property
    def is_filtered(self) -> bool:
        """Whether it leaves any run out."""
        return bool(self.text or self.prompt)


@router.get("/runs")
def list_of_runs(
    request: Request,
    store: StoreDep,
    manager: RunManagerDep,
    summaries: SummaryCacheDep,
    *,
    text: str = "",
    prompt: str = "",
    sort: str = "newest",
    after: int = 0,
    done: str = "",
) -> Response:
    """Show the runs that match, a page of them."""
    if sort not in SORTS:
        raise _refused(f"it must be one of {', '.join(SORTS)}, not {sort!r:.40}", "sort")
    if len(text) > LONGEST_TEXT:
        raise _refused(f"it must have at most {LONGEST_TEXT} characters", "text")
    query = RunQuery(text=text.strip(), prompt=prompt, sort=sort)
    chosen = _prompt(store, prompt) if prompt else None
    running = in_progress(store)
    newest = (with_actual_status(store, run) for run in store.runs.newest())
    runs = [run for run in newest if chosen is None or of_prompt(run) == chosen.id]
    runs = _sorted(store, [run for run in runs if _matches(run, query.text)], SORTS[sort])
    first = min(max(after, 0), max(len(runs) - 1, 0))
    here = runs[first : first + ON_A_PAGE]
    rows = [Row.of(store, run, manager, summaries) for run in here]
    return page(
        request,
        "runs.html",
        rows=rows,
        here=query.address(first),
        state=state_of_runs(running),
        pair=newest_pair(row.run for row in rows) if sort == "newest" else None,
        query=query,
        sorts=SORTS,
        prompts=store.prompts.all(),
        prompt=chosen,
        notice_text=_NOTICES.get(done),
        shown=f"{first + 1:,} to {first + len(here):,} of {len(runs):,}" if here else "",
        before=query.address(max(first - ON_A_PAGE, 0)) if first else None,
        after=query.address(first + ON_A_PAGE) if first + ON_A_PAGE < len(runs) else None,
    )


def _matches(run: RunRecord, text: str) -> bool:
    """Return whether every word of a text is in what a run is called, in its id, or in the names of its models."""
    if not text:
        return True
    names = (
        run.name,
        run.label,
        run.id,
        run.status.value,
        judge_of(run) or "",
        *names_in(run.definition.get("target")),
    )
    searched = "\n".join(names).casefold()
    return all(word in searched for word in text.casefold().split())


def _sorted(store: Store, runs: Sequence[RunRecord], sort: Sort) -> list[RunRecord]:
    """Sort runs, which come newest first; those that are equal stay in that order."""
    if sort.by_record is not None:
        return _by_value(((run, sort.by_record(run)) for run in runs), descending=sort.descending)
    if sort.by_numbers is None:
        return list(runs)
    if len(runs) > MOST_SORTED_BY_NUMBER:
        why = (
            f"{len(runs):,} runs match, and at most {MOST_SORTED_BY_NUMBER:,} are sorted by their numbers; search first"
        )
        raise _refused(why, "sort")
    found = ((run, kept_overview(store, run)) for run in runs)
    return _by_value(
        ((run, None if overview is None else sort.by_numbers(overview)) for run, overview in found),
        descending=sort.descending,
    )


def _by_value(pairs: Iterable[tuple[RunRecord, Any]], *, descending: bool) -> list[RunRecord]:
    known, unknown = list[tuple[RunRecord, Any]](), list[RunRecord]()
    for run, value in pairs:
        if value is None:
            unknown.append(run)
        else:
            known.append((run, value))
    known.sort(key=lambda pair: pair[1], reverse=descending)
    return [*(run for run, _ in known), *unknown]


def _prompt(store: Store, name: str) -> Prompt:
    try:
        return store.prompts.find(name)
    except NotFoundError:
        raise Problem(404, "Not found", f"no prompt {name!r:.80}; its runs are in the list of all runs") from None


def _refused(why: str, field: str) -> Problem:
    return Problem(422, "Invalid request", f"{field}: {why}", field=field)
