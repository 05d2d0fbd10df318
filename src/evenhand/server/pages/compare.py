"""The pages that compare two runs, case by case, and one case of both (SPEC-T1)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import Response

from evenhand.domain.comparison import STANDINGS, Change, Comparison, PairedResult, SeveralComparison
from evenhand.domain.errors import ConfigError, IncomparableError, ModelChoiceError
from evenhand.domain.run import RunRecord
from evenhand.domain.run_differences import RunDifferences
from evenhand.domain.run_kind import is_ranking
from evenhand.engine.comparison import Side, answering_models, paired_results
from evenhand.engine.targets.several import targets_of
from evenhand.reports.blocks import Grid
from evenhand.reports.comparison import several_parts
from evenhand.reports.html.case_sides import CaseSide, CaseSidesView
from evenhand.reports.html.comparison import ChangeView, ComparisonView, DifferencesView, both_sides
from evenhand.reports.phrases import Standing, counted
from evenhand.server.dependencies import SettingsDep, StoreDep, SummaryCacheDep
from evenhand.server.pages.base import page_routes, see_other
from evenhand.server.pages.compared_cases import answered_cases, cell_cases, sides_of
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.server.runs.baseline import (
    MOST_CHANGES,
    MOST_OTHERS,
    ChangeFilter,
    VerdictChanges,
    compare_in_background,
    compare_several_in_background,
    newest_pair,
)
from evenhand.server.runs.summaries import SummaryCache
from evenhand.store.store import Store
from evenhand.suites.run_settings import setting_changes

# How many characters of each text the list of changes has; the page of the case has more.
MOST_TEXT: Final = 1_200

router = page_routes()

MOST_RUNS: Final = 100


@router.get("/compare")
def compare(
    request: Request,
    store: StoreDep,
    settings: SettingsDep,
    summaries: SummaryCacheDep,
    *,
    a: str = "",
    b: Annotated[tuple[str, ...], Query()] = (),
    evaluator: str = "",
    before: str = "",
    after: str = "",
    way: str = "",
    anyway: str = "",
    model_a: str = "",
    model_b: str = "",
) -> Response:
    """Compare two runs, several with one, or the targets of one; ``before``, ``after`` and ``way`` select changes."""
    newest = store.runs.newest(MOST_RUNS)
    runs = [run for run in newest if not is_ranking(run.definition)]
    others = tuple(each for each in b if each)
    chosen: dict[str, Any] = {"a": a, "b": others[0] if others else "", "more": others[1:], "runs": runs}
    chosen |= {"is_cut": len(newest) == MOST_RUNS, "may_add": len(others) < MOST_OTHERS}
    chosen |= {"comparison": None, "several": None, "refused": None, "waiting": None}
    if not a:
        if not others:
            chosen["a"], chosen["b"] = newest_pair(runs) or ("", "")
        return page(request, "compare.html", **chosen)
    change_filter = ChangeFilter(before=before, after=after, way=way)
    address = _Address(
        a=a,
        b="".join(others[:1]),
        evaluator=evaluator,
        anyway=anyway,
        model_a=model_a,
        model_b=model_b,
        **change_filter.parameters,
    )
    ours, theirs = find_run(store, a), [find_run(store, each) for each in others]
    try:
        if len(theirs) != 1:
            values = _several_values(
                store, summaries, ours, theirs, address=address, seconds=settings.page_wait_seconds
            )
            return page(request, "compare.html", **(chosen | values))
        comparison = compare_in_background(
            summaries,
            store,
            (ours, theirs[0]),
            seconds=settings.page_wait_seconds,
            evaluator=evaluator or None,
            most_changes=None if change_filter.is_any else MOST_CHANGES,
            anyway=bool(anyway),
            models=(model_a or None, model_b or None),
        )
        cell = (
            cell_cases(store, summaries, comparison, change_filter, settings.page_wait_seconds)
            if change_filter.cells
            else None
        )
    except TimeoutError:
        return page(request, "compare.html", **(chosen | {"waiting": str(request.url.query)}))
    except ConfigError as error:
        refused = _refusal(error, address) | {"differences": _differences(store, ours, theirs, error)}
        return page(request, "compare.html", **(chosen | {"refused": refused}))
    return page(request, "compare.html", **(chosen | _template_values(store, comparison, address, change_filter, cell)))


def _several_values(
    store: Store,
    summaries: SummaryCache,
    a: RunRecord,
    others: Sequence[RunRecord],
    *,
    address: _Address,
    seconds: float,
) -> dict[str, Any]:
    """Compare several runs with A, or the targets of A; nothing where there is nothing to compare."""
    evaluator = address["evaluator"] or None
    if not others:
        targets = summaries.targets(store, a, seconds, baseline=address["model_a"] or None, evaluator=evaluator)
        if targets is None:
            return {}
        links = [address(b=a.id, model_a=targets.baseline, model_b=name) for name in targets.others]
        cases = [(name, title, address.of_case(name)) for name, title in answered_cases(store, a, targets.baseline)]
        return {"several": targets, **_block_values(targets, links), "cases": cases, "anyway": None}
    if len(others) > MOST_OTHERS:
        raise Problem(422, "Invalid request", f"at most {MOST_OTHERS} runs are compared with one; choose fewer")
    several = compare_several_in_background(
        summaries,
        store,
        a,
        others,
        seconds=seconds,
        evaluator=evaluator,
        anyway=bool(address["anyway"]),
        models=(address["model_a"] or None, address["model_b"] or None),
    )
    links = [address(b=name) for name in several.others]
    is_refused = bool(several.refused) and not address["anyway"]
    query = urlencode([("a", a.id), *(("b", run.id) for run in others), ("anyway", "yes")])
    anyway = f"/compare?{query}" if is_refused else None
    return {"several": several, **_block_values(several, links), "cases": (), "anyway": anyway}


def _block_values(several: SeveralComparison, links: Sequence[str]) -> dict[str, Any]:
    """Return the blocks of a comparison, with the address of each row of its table."""
    blocks = list(several_parts(several))
    table = next(block for block in blocks if isinstance(block, Grid))
    return {"blocks": blocks, "links": {row[0]: link for row, link in zip(table.rows, links, strict=True)}}


class _Address:
    """The address of a comparison, with further parameters."""

    def __init__(self, **parameters: str) -> None:
        self._parameters = parameters

    def __getitem__(self, name: str) -> str:
        return self._parameters[name]

    def __call__(self, **more: str) -> str:
        return f"/compare?{self._query(**more)}"

    def of_case(self, case_id: str) -> str:
        """Return the address of one case."""
        return f"/compare/case?{self._query(case=case_id)}"

    def _query(self, **more: str) -> str:
        return urlencode({name: value for name, value in (self._parameters | more).items() if value})


def _differences(store: Store, a: RunRecord, others: Sequence[RunRecord], error: ConfigError) -> DifferencesView | None:
    """Say what differs between two runs that were judged differently, where that is why they are not compared."""
    if not isinstance(error, IncomparableError) or not error.differing or len(others) != 1:
        return None
    settings = setting_changes(Side(store=store, run=a), Side(store=store, run=others[0]))
    return DifferencesView.of(RunDifferences(settings=settings)) if settings else None


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
    store: Store,
    comparison: Comparison,
    address: _Address,
    change_filter: ChangeFilter,
    cell: Sequence[tuple[str, str]] | None,
) -> dict[str, Any]:
    """Return what the page shows; ``cell`` are the cases of a cell in which no verdict changed."""
    comparison = comparison.as_shown()
    changes = [change for change in comparison.changes if change_filter.takes(change)][:MOST_CHANGES]
    if cell is not None:
        changes = []
    names = ["", *comparison.evaluators]
    return {
        "comparison": comparison,
        "view": ComparisonView(comparison=comparison),
        "run_links": {"A": own(comparison.a), "B": own(comparison.b)},
        "evaluator_links": {name: address(evaluator=name) for name in names},
        "cell_links": {
            (Standing(before), Standing(after)): _cell_address(before, after, address)
            for before in STANDINGS
            for after in STANDINGS
        },
        "changes": list(_change_views(store, comparison, changes, address)),
        "cell": None if cell is None else [(name, title, address.of_case(name)) for name, title in cell],
        "changed": _how_many(comparison, changes if cell is None else cell, change_filter),
        "ways": _ways(comparison, address, change_filter),
        "most_text": MOST_TEXT,
    }


def _ways(comparison: Comparison, address: _Address, change_filter: ChangeFilter) -> list[tuple[str, str, bool]]:
    """Return the lists of changes there are, each with its address and whether it is shown."""
    turns = VerdictChanges.of(comparison)
    counts = {"": "All", "worse": counted(turns.worse, "regression"), "better": counted(turns.better, "improvement")}
    chosen = None if change_filter.before or change_filter.after else change_filter.way
    return [(words, address(before="", after="", way=way) + "#changes", way == chosen) for way, words in counts.items()]


def _change_views(
    store: Store, comparison: Comparison, changes: Sequence[Change], address: _Address
) -> Iterator[ChangeView]:
    """Yield the changes with their texts, so that each opens without asking the server again."""
    a, b = sides_of(store, comparison)
    paired = {each.case_id: each for each in paired_results(a, b, [change.case_id for change in changes])}
    for change in changes:
        each = paired.get(change.case_id)
        case = None if each is None else _case_view(each.case_id, comparison, each, most_text=MOST_TEXT, most_samples=1)
        href = address.of_case(change.case_id)
        yield ChangeView(change=change, case=case, href=href, has_verdicts=comparison.has_verdicts)


def _case_view(case_id: str, comparison: Comparison, paired: PairedResult, **shown: Any) -> CaseSidesView:
    """Return a case of both runs, next to each other."""
    hrefs = (
        f"{own(comparison.a)}/results/{paired.a.position}",
        f"{own(comparison.b)}/results/{paired.b.position}",
    )
    return CaseSidesView(id=case_id, sides=both_sides(comparison, paired, hrefs), **shown)


def _cell_address(before: str, after: str, address: _Address) -> str:
    """Return the address of the cases of a cell."""
    return address(before=before, after=after, way="") + "#changes"


def _how_many(comparison: Comparison, changes: Sequence[object], change_filter: ChangeFilter) -> str:
    if change_filter.cells:
        table = comparison.subject.transitions
        count = sum(table[STANDINGS.index(before)][STANDINGS.index(after)] for before, after in change_filter.cells)
        first = f", of which these are the first {len(changes)}" if len(changes) < count else ""
        return f"{change_filter.words}: {counted(count, 'case')}{first}."
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
    before: str = "",
    after: str = "",
    way: str = "",
    model_a: str = "",
    model_b: str = "",
) -> Response:
    """Show one case of two runs, or with all targets of one, with the changes before and after it."""
    ours = find_run(store, a)
    if not b:
        return _case_of_targets(request, store, ours, case)
    theirs = find_run(store, b)
    change_filter = ChangeFilter(before=before, after=after, way=way)
    address = _Address(
        a=a,
        b=b,
        evaluator=evaluator,
        anyway=anyway,
        model_a=model_a,
        model_b=model_b,
        **change_filter.parameters,
    )
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
    except (TimeoutError, ConfigError):
        return see_other(address())  # which says why, or when
    paired = next(iter(paired_results(*sides_of(store, comparison), [case])), None)
    if paired is None:
        raise Problem(404, "Not found", f"runs {ours.id} and {theirs.id} do not both have a case {case!r:.200}")
    ids = [change.case_id for change in comparison.changes if change_filter.takes(change)][:MOST_CHANGES]
    place = ids.index(case) if case in ids else None
    return page(
        request,
        "compare_case.html",
        view=_case_view(case, comparison, paired),
        runs=ComparisonView(comparison=comparison),
        run_links={"A": own(ours), "B": own(theirs)},
        back=address(),
        before=address.of_case(ids[place - 1]) if place else None,
        after=address.of_case(ids[place + 1]) if place is not None and place + 1 < len(ids) else None,
        where="" if place is None else _where(place, len(ids), change_filter),
    )


def _where(place: int, count: int, change_filter: ChangeFilter) -> str:
    which = f"{change_filter.words}: change" if change_filter.is_any else "Change"
    return f"{which} {place + 1:,} of {count:,}, the largest first."


def _case_of_targets(request: Request, store: Store, run: RunRecord, case: str) -> Response:
    """Show what each target of a run answered to a test case, the differences to the first marked."""
    named: Collection[str] = targets_of(run)
    sides = [
        CaseSide(name=name, result=result, href=f"{own(run)}/results/{result.position}")
        for name in (named if len(named) > 1 else answering_models(store, run))
        for result in Side(store=store, run=run, model=name).results([case]).values()
    ]
    if len(sides) < 2:
        raise Problem(404, "Not found", f"run {run.id} has no case {case!r:.200} that several targets answered")
    back = f"/compare?{urlencode({'a': run.id})}"
    return page(
        request,
        "compare_case.html",
        view=CaseSidesView(id=case, sides=tuple(sides)),
        runs=None,
        back=back,
        before=None,
        after=None,
        where="",
    )
