"""The cases of a run: the list of them, and each by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from fastapi import Request
from fastapi.responses import Response

from evenhand.domain.errors import ConfigError, IncomparableError
from evenhand.domain.evaluation import Status
from evenhand.domain.run import RunRecord
from evenhand.domain.run_kind import has_verdicts
from evenhand.domain.slices import slice_value
from evenhand.reports.html.judgment import badge_text, outcome_of
from evenhand.reports.phrases import NONE, Standing, counted, score_text
from evenhand.reports.safe_text import plain
from evenhand.server.dependencies import ResultsDep, SettingsDep, StoreDep, SummaryCacheDep
from evenhand.server.pages.base import page_routes
from evenhand.server.pages.results_query import CASES, LINES, ResultsQuery
from evenhand.server.pages.results_view import ListPage, list_page
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.problems import Problem
from evenhand.server.runs.baseline import became_worse, earlier_run
from evenhand.server.runs.profile_summaries import scale_of
from evenhand.server.runs.progress import AT_WORK
from evenhand.server.runs.summaries import SummaryCache
from evenhand.server.runs.views import models_of
from evenhand.store.store import Store

router = page_routes()

ON_A_PAGE: Final = 30
# Written by results.js: how many lines of each text this browser shows.
COOKIE: Final = "evenhand-lines"
# How many characters of text are sent for a line of the table, for all columns together: enough for a wide screen.
_IN_A_LINE: Final = 240
_LEAST_IN_A_LINE: Final = 24
_MOST_SLICES: Final = 4
_LONGEST_SLICE: Final = 40
_NO_ANSWER: Final = "No answer."


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What an evaluator found: its standing, its score, and why."""

    evaluator: str
    standing: str
    glyph: str
    score: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """An answer in the list, with what came of it and the marks of the evaluators."""

    position: int
    standing: str
    score: str
    samples: str
    answer: str
    is_missing: bool
    marks: Mapping[str, Mark]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A case in the list: its title, its id, the slices that it is in, and a cell for each target."""

    position: int
    id: str
    title: str
    slices: tuple[tuple[str, str], ...]
    cells: Mapping[str, Cell]


class _Shown(NamedTuple):
    """How the scores of a run are shown: from 0 to ``scale``, and with verdicts or without."""

    scale: int | None
    has_verdicts: bool


@router.get("/runs/{run_id}/results")
def show_results(
    request: Request,
    run_id: str,
    *,
    store: StoreDep,
    results: ResultsDep,
    settings: SettingsDep,
    summaries: SummaryCacheDep,
) -> Response:
    """Show the cases of a run: one page, filtered and sorted as the address says."""
    run = find_run(store, run_id)
    query = ResultsQuery.of(request, run, CASES, path=f"{own(run)}/results")
    lines = query.lines or _lines_in_cookie(request)
    scale = scale_of(run)
    shown = _Shown(scale, has_verdicts(run.definition))
    earlier = earlier_run(store, run)
    condition = query.case_filter
    if query.has("worse"):
        worse = _worse(store, summaries, run, earlier, settings.result_wait_seconds)
        condition = replace(condition, positions=worse)

    evaluators, targets = results.evaluators(run), models_of(run)
    columns = len(targets) if len(targets) > 1 else 1 + len(evaluators)
    most_shown = lines * max(_IN_A_LINE // columns, _LEAST_IN_A_LINE)

    def read(offset: int) -> ListPage:
        found = results.cases(run, condition, query.case_order, limit=ON_A_PAGE, offset=offset, most_shown=most_shown)
        rows = [_row(item, shown) for item in found["items"]]
        return ListPage(rows=rows, total=found["total"], matching=found["matching"])

    return list_page(
        request,
        "results.html",
        run,
        query,
        read,
        on_a_page=ON_A_PAGE,
        is_live=run.status in AT_WORK,
        targets=targets,
        models=targets,
        evaluators=evaluators,
        lines=lines,
        all_lines=LINES,
        earlier=earlier,
        noun={None: "group", 1: "case"}.get(scale, "profile"),
    )


def _worse(
    store: Store, summaries: SummaryCache, run: RunRecord, earlier: RunRecord | None, seconds: float
) -> tuple[int, ...]:
    """Return the positions of the cases that have a worse verdict than in the run that this one is held against."""
    if earlier is None:
        why = "there is no earlier finished run of the same suite or prompt to compare with"
        raise Problem(409, "No regressions to show", why, field="worse")
    try:
        return became_worse(summaries, store, (earlier, run), seconds=seconds)
    except TimeoutError:
        wait = {"retry-after": "5"}
        raise Problem(503, "Still comparing", "the runs are large; try again in a moment", headers=wait) from None
    except ConfigError as error:
        why = error.why if isinstance(error, IncomparableError) else str(error)
        raise Problem(409, "No regressions to show", f"{earlier.id} cannot be compared: {why}", field="worse") from None


def _lines_in_cookie(request: Request) -> int:
    kept = request.cookies.get(COOKIE, "")
    return int(kept) if kept in map(str, LINES) else LINES[0]


def _row(item: Mapping[str, Any], shown: _Shown) -> Row:
    slices = ((key, slice_value(item["metadata"], key)) for key in item["metadata"])
    short = ((key, value) for key, value in slices if len(key) + len(value) <= _LONGEST_SLICE)
    return Row(
        position=item["position"],
        id=item["case_id"],
        title=plain(item["question"], None) or item["case_id"],
        slices=tuple(short)[:_MOST_SLICES],
        cells={answer["model"] or "": _cell(answer, shown) for answer in item["answers"]},
    )


def _cell(answer: Mapping[str, Any], shown: _Shown) -> Cell:
    marks = [_mark(evaluation, shown) for evaluation in answer["evaluations"] if evaluation["sample"] == 0]
    text = answer["answer"]
    return Cell(
        position=answer["position"],
        standing=_standing(answer, shown),
        score=_score(answer, shown.scale),
        samples=counted(answer["samples"], "sample") if answer["samples"] > 1 else "",
        answer=plain(text if text is not None else answer["error"] or _NO_ANSWER, None),
        is_missing=text is None,
        marks={mark.evaluator: mark for mark in marks},
    )


def _mark(evaluation: Mapping[str, Any], shown: _Shown) -> Mark:
    why = evaluation["error"] if evaluation["status"] == Status.ERROR else evaluation["reasoning"]
    standing = _standing(evaluation, shown)
    return Mark(
        evaluator=evaluation["evaluator"],
        standing=standing,
        glyph=badge_text(standing).partition(" ")[0],
        score=_score(evaluation, shown.scale),
        why=plain(why or "", None),
    )


def _standing(outcome: Mapping[str, Any], shown: _Shown) -> str:
    if outcome["status"] != Status.SCORED:
        return str(outcome["status"])
    return outcome_of(Standing(outcome["verdict"]), shown.scale, has_verdicts=shown.has_verdicts)


def _score(outcome: Mapping[str, Any], scale: int | None) -> str:
    is_scored = outcome["status"] == Status.SCORED and outcome["score"] is not None
    return score_text(outcome["score"] * scale) if is_scored and scale else NONE
