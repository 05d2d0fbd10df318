"""The pages that compare two runs, case by case, and one case of both (SPEC-T1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evenhand.domain.comparison import STANDINGS, Change, Comparison, PairedResult
from evenhand.domain.errors import ConfigError, IncomparableError, ModelChoiceError
from evenhand.engine.comparison import Side, paired_results
from evenhand.reports.html.case_sides import CaseSide, CaseSidesView
from evenhand.reports.html.comparison import ChangeView, ComparisonView
from evenhand.reports.phrases import Standing, counted
from evenhand.server.dependencies import SettingsDep, StoreDep, SummaryCacheDep
from evenhand.server.pages.base import see_other
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.server.runs.baseline import MOST_CHANGES, SCORED, ChangeFilter, compare_in_background, newest_pair
from evenhand.store.store import Store

# How many characters of each text the list of changes has; the page of the case has more.
MOST_TEXT: Final = 1_200

router = APIRouter()

MOST_RUNS: Final = 100


@router.get("/compare")
def compare(
    request: Request,
    store: StoreDep,
    settings: SettingsDep,
    summaries: SummaryCacheDep,
    *,
    a: str = "",
    b: str = "",
    evaluator: str = "",
    before: str = "",
    after: str = "",
    way: str = "",
    anyway: str = "",
    model_a: str = "",
    model_b: str = "",
) -> Response:
    """Compare two runs; ``before``, ``after`` and ``way`` select changes of verdicts."""
    runs = store.runs.newest(MOST_RUNS)
    chosen: dict[str, Any] = {"a": a, "b": b, "runs": runs}
    if not a or not b:
        if not a and not b:
            chosen["a"], chosen["b"] = newest_pair(runs) or ("", "")
        return page(request, "compare.html", comparison=None, refused=None, waiting=None, **chosen)
    ours, theirs = find_run(store, a), find_run(store, b)
    change_filter = ChangeFilter(before=before, after=after, way=way)
    address = _Address(a=a, b=b, evaluator=evaluator, anyway=anyway, model_a=model_a, model_b=model_b)
    try:
        comparison = compare_in_background(
            summaries,
            store,
            (ours, theirs),
            seconds=settings.page_wait_seconds,
            evaluator=evaluator or None,
            most_changes=None if change_filter.is_any else MOST_CHANGES,
            anyway=bool(anyway),
            models=(model_a or None, model_b or None),
        )
    except TimeoutError:
        return page(request, "compare.html", comparison=None, refused=None, waiting=str(request.url.query), **chosen)
    except ConfigError as error:
        refused = _refusal(error, address)
        return page(request, "compare.html", comparison=None, refused=refused, waiting=None, **chosen)
    return page(
        request,
        "compare.html",
        refused=None,
        waiting=None,
        **chosen,
        **_template_values(store, comparison, address, change_filter),
    )


class _Address:
    """The address of a comparison, with further parameters."""

    def __init__(self, **parameters: str) -> None:
        self._parameters = parameters

    def __call__(self, **more: str) -> str:
        return f"/compare?{self._query(**more)}"

    def of_case(self, case_id: str) -> str:
        """Return the address of one case."""
        return f"/compare/case?{self._query(case=case_id)}"

    def _query(self, **more: str) -> str:
        return urlencode({name: value for name, value in (self._parameters | more).items() if value})


def _refusal(error: ConfigError, address: _Address) -> dict[str, Any]:
    """Return why the runs are not compared, whether they could be anyway, and which models could be chosen."""
    if isinstance(error, IncomparableError):
        anyway = address(anyway="yes", evaluator="")
        return {"why": error.why, "differing": error.differing, "anyway": anyway, "choices": ()}
    models = error.models if isinstance(error, ModelChoiceError) else ()
    side = error.side if isinstance(error, ModelChoiceError) else ""
    choices = [(model, address(**{f"model_{side}": model})) for model in models]
    return {"why": str(error), "differing": [], "anyway": None, "choices": choices}


def _template_values(
    store: Store, comparison: Comparison, address: _Address, change_filter: ChangeFilter
) -> dict[str, Any]:
    changes = [change for change in comparison.changes if change_filter.takes(change)][:MOST_CHANGES]
    names = ["", *comparison.evaluators]
    return {
        "comparison": comparison,
        "view": ComparisonView(comparison=comparison),
        "run_links": {"A": own(comparison.a), "B": own(comparison.b)},
        "evaluator_links": {name: address(evaluator=name) for name in names},
        "cell_links": {
            (Standing(before), Standing(after)): _cell_address(before, after, comparison, address)
            for before in STANDINGS
            for after in STANDINGS
        },
        "changes": list(_change_views(store, comparison, changes, address)),
        "changed": _how_many(comparison, changes, change_filter),
        "all_changes": address() if change_filter.is_any else None,
        "most_text": MOST_TEXT,
    }


def _change_views(
    store: Store, comparison: Comparison, changes: Sequence[Change], address: _Address
) -> Iterator[ChangeView]:
    """Yield the changes with their texts, so that each opens without asking the server again."""
    a, b = _sides(store, comparison)
    paired = {each.case_id: each for each in paired_results(a, b, [change.case_id for change in changes])}
    for change in changes:
        each = paired.get(change.case_id)
        case = None if each is None else case_sides(each.case_id, comparison, each, most_text=MOST_TEXT, most_samples=1)
        yield ChangeView(change=change, case=case, href=address.of_case(change.case_id))


def _sides(store: Store, comparison: Comparison) -> tuple[Side, Side]:
    return (
        Side(store=store, run=comparison.a, model=comparison.model_a),
        Side(store=store, run=comparison.b, model=comparison.model_b),
    )


def case_sides(case_id: str, comparison: Comparison, paired: PairedResult, **shown: Any) -> CaseSidesView:
    """Return a case of both runs, next to each other."""
    sides = (
        CaseSide(name="A", result=paired.a, href=f"{own(comparison.a)}/results/{paired.a.position}"),
        CaseSide(name="B", result=paired.b, href=f"{own(comparison.b)}/results/{paired.b.position}"),
    )
    return CaseSidesView(id=case_id, sides=sides, **shown)


def _cell_address(before: str, after: str, comparison: Comparison, address: _Address) -> str:
    """Return the address of the cases of a cell: here if both have a score, otherwise in one of the runs."""
    if before in SCORED and after in SCORED and before != after:
        return address(before=before, after=after) + "#changes"
    run, standing = (comparison.b, after) if before in SCORED or after not in SCORED else (comparison.a, before)
    filters = {"verdict" if standing in SCORED else "status": standing}
    if comparison.evaluator:
        filters["evaluator"] = comparison.evaluator
    return f"{own(run)}/results?{urlencode(filters)}"


def _how_many(comparison: Comparison, changes: Sequence[Change], change_filter: ChangeFilter) -> str:
    if change_filter.is_any:
        return f"{change_filter.words}: {counted(len(changes), 'case')}."
    if len(changes) == comparison.changed:
        return f"{counted(comparison.changed, 'case')}, the largest difference first."
    return f"The {len(changes):,} largest of {comparison.changed:,}."


@router.get("/compare/case")
def compare_case(
    request: Request,
    store: StoreDep,
    settings: SettingsDep,
    summaries: SummaryCacheDep,
    *,
    a: str,
    case: str,
    b: str = "",
    evaluator: str = "",
    anyway: str = "",
    model_a: str = "",
    model_b: str = "",
) -> Response:
    """Show one case of two runs next to each other, with the changes before and after it."""
    ours, theirs = find_run(store, a), find_run(store, b)
    address = _Address(a=a, b=b, evaluator=evaluator, anyway=anyway, model_a=model_a, model_b=model_b)
    try:
        comparison = compare_in_background(
            summaries,
            store,
            (ours, theirs),
            seconds=settings.page_wait_seconds,
            evaluator=evaluator or None,
            anyway=bool(anyway),
            models=(model_a or None, model_b or None),
        )
    except (TimeoutError, ConfigError):
        return see_other(address())  # which says why, or when
    paired = next(iter(paired_results(*_sides(store, comparison), [case])), None)
    if paired is None:
        raise Problem(404, "Not found", f"runs {ours.id} and {theirs.id} do not both have a case {case!r:.200}")
    ids = [change.case_id for change in comparison.changes]
    place = ids.index(case) if case in ids else None
    return page(
        request,
        "compare_case.html",
        view=case_sides(case, comparison, paired),
        runs=ComparisonView(comparison=comparison),
        run_links={"A": own(ours), "B": own(theirs)},
        back=address(),
        before=address.of_case(ids[place - 1]) if place else None,
        after=address.of_case(ids[place + 1]) if place is not None and place + 1 < len(ids) else None,
        where="" if place is None else f"Change {place + 1:,} of {len(ids):,}, the largest first.",
    )
