"""The page that compares two runs, case by case (SPEC-T1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response
from markupsafe import Markup

from evenhand.domain.comparison import STANDINGS, Change, Compared, Comparison, PairedDifference
from evenhand.domain.errors import ConfigError, IncomparableError, ModelChoiceError
from evenhand.domain.run import RunRecord
from evenhand.reports.comparison import around_text, difference_text, p_text, verdict_sentence
from evenhand.reports.html.charts import Axis, interval_mark, outcome_bar
from evenhand.reports.phrases import NONE, Standing, counted, score_text
from evenhand.server.dependencies import SettingsDep, StoreDep, SummaryCacheDep
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.rendering import page
from evenhand.server.runs.baseline import MOST_CHANGES, SCORED, ChangeFilter, compare_in_background, newest_pair
from evenhand.store.results import case_positions
from evenhand.store.store import Store


def reach(differences: Iterable[PairedDifference]) -> float:
    """Return how far the axis extends on both sides of zero to fit all intervals, rounded up to a tenth."""
    far = [0.1]
    for paired in differences:
        if paired.interval is not None:
            far += [abs(paired.interval.low), abs(paired.interval.high)]
        elif paired.difference is not None:
            far.append(abs(paired.difference))
    return min(math.ceil(max(far) * 10 - 1e-9) / 10, 1.0)


def _difference_mark(name: str, paired: PairedDifference, most: float) -> Markup:
    """Draw a difference with its interval on an axis from ``-most`` to ``most``."""
    axis = Axis(left=-most, right=most, line=0, kind="zero", grid=(-most, most))
    interval = None if paired.interval is None else (paired.interval.low, paired.interval.high)
    description = f"{difference_text(paired.difference)} {around_text(paired.interval)}, from {-most:g} to {most:g}"
    return interval_mark(name, paired.difference, interval, axis, description=description, width="100%")


def _outcomes(paired: PairedDifference) -> Markup:
    """Draw one bar for the cases in which B scored more, the same, and less."""
    counts = [
        (Standing.PASS, paired.wins, f"{counted(paired.wins, 'win')} for B"),
        (Standing.NOT_EVALUATED, paired.ties, f"{counted(paired.ties, 'tie')} for B"),
        (Standing.FAIL, paired.losses, f"{counted(paired.losses, 'loss', 'losses')} for B"),
    ]
    return outcome_bar(counts, f"{paired.wins:,} wins, {paired.ties:,} ties and {paired.losses:,} losses for B")


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
        parameters = {name: value for name, value in (self._parameters | more).items() if value}
        return f"/compare?{urlencode(parameters)}"


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
    subject = comparison.subject
    changes = [change for change in comparison.changes if change_filter.takes(change)][:MOST_CHANGES]
    several: list[tuple[str | None, Compared]] = [(None, comparison.cases), *comparison.evaluators.items()]
    most = reach(compared.scores for _, compared in several)
    ids = [name for change in changes for name in _stored_ids(change.case_id, comparison)]
    positions = case_positions(store, (comparison.a, comparison.b), dict.fromkeys(ids))
    return {
        "comparison": comparison,
        "sentence": verdict_sentence(subject.scores),
        "facts": list(_facts(subject)),
        "bar": _outcomes(subject.scores) if subject.scores.n else None,
        "rows": [_row(name, compared, comparison, most, address) for name, compared in several],
        "most": most,
        "standings": [Standing(name) for name in STANDINGS],
        "transitions": _transitions(comparison, address),
        "labels": [
            (name, compared.labels)
            for name, compared in comparison.evaluators.items()
            if compared.labels is not None and comparison.evaluator in (None, name)
        ],
        "changes": [_change(change, comparison, positions) for change in changes],
        "changed": _how_many(comparison, changes, change_filter),
        "all_changes": address() if change_filter.is_any else None,
        "reaching": counted(subject.in_common, "case"),
        "left_out": list(_left_out(subject)),
    }


def _facts(subject: Compared) -> Iterator[tuple[str, str]]:
    """Yield the numbers, each with its name."""
    paired = subject.scores
    if not paired.n:
        return
    yield "Mean of A", score_text(paired.mean_a, 3)
    yield "Mean of B", score_text(paired.mean_b, 3)
    yield (
        "B − A",
        f"{difference_text(paired.difference)} {'' if paired.interval is None else around_text(paired.interval)}",
    )
    if paired.test is not None:
        yield "Test", paired.test
        yield (
            "p",
            p_text(paired.p)
            if subject.p_holm in (None, paired.p)
            else f"{p_text(paired.p)}, {p_text(subject.p_holm)} after Holm",
        )
    if paired.effect is not None:
        yield paired.effect.name.capitalize(), NONE if paired.effect.value is None else f"{paired.effect.value:.2f}"
    yield "Scored in both", f"{paired.n:,}" + (f" in {counted(paired.clusters, 'cluster')}" if paired.clusters else "")
    if paired.minimum_detectable is not None:
        yield "Detectable with 80 % power", f"a difference of {paired.minimum_detectable:.3f}"
    if paired.needed is not None and paired.needed > paired.n:
        yield "To detect 0.05", f"about {paired.needed:,} cases"


def _row(
    name: str | None, compared: Compared, comparison: Comparison, most: float, address: _Address
) -> dict[str, Any]:
    """Return a row of the table: of an evaluator, or of whole cases, which have no name."""
    called = "whole cases" if name is None else name
    return {
        "name": called,
        "href": address(evaluator=name or ""),
        "here": comparison.evaluator == name,
        "a": score_text(compared.scores.mean_a, 3),
        "b": score_text(compared.scores.mean_b, 3),
        "difference": difference_text(compared.scores.difference),
        "interval": NONE if compared.scores.interval is None else around_text(compared.scores.interval),
        "p": p_text(compared.scores.p if compared.p_holm is None else compared.p_holm),
        "n": f"{compared.scores.n:,}",
        "lacking": compared.scores.lacking,
        "mark": _difference_mark(called, compared.scores, most),
    }


def _transitions(comparison: Comparison, address: _Address) -> list[tuple[Standing, list[tuple[int, str | None]]]]:
    """Return the matrix of verdicts in A and B: counts, each with the address of its cases."""
    return [
        (Standing(before), [(count, _cell_address(before, after, comparison, address) if count else None)
                            for after, count in zip(STANDINGS, row, strict=True)])
        for before, row in zip(STANDINGS, comparison.subject.transitions, strict=True)
    ]  # fmt: skip


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


def _change(change: Change, comparison: Comparison, positions: Mapping[tuple[int, str], int]) -> dict[str, Any]:
    def address(run: RunRecord, model: str | None) -> str | None:
        stored = [positions.get((run.number, name)) for name in (f"{change.case_id} {model}", change.case_id)]
        position = next((place for place in stored if place is not None), None)
        return None if position is None else f"{own(run)}/results/{position}"

    return {
        "id": change.case_id,
        "a": score_text(change.score_a, 3),
        "b": score_text(change.score_b, 3),
        "difference": difference_text(change.difference),
        "before": change.standing_a,
        "after": change.standing_b,
        "in_a": address(comparison.a, comparison.model_a),
        "in_b": address(comparison.b, comparison.model_b),
    }


def _stored_ids(case_id: str, comparison: Comparison) -> list[str]:
    """Return the ids that a case may have in the two runs: with several models, each has its own."""
    models = [model for model in (comparison.model_a, comparison.model_b) if model is not None]
    return [case_id, *(f"{case_id} {model}" for model in models)]


def _left_out(subject: Compared) -> Iterator[str]:
    """Yield how many cases are left out, with the reason."""
    ways = (
        (subject.only_a, "only in A"),
        (subject.only_b, "only in B"),
        (subject.unscored_a, "without a score in A"),
        (subject.unscored_b, "without a score in B"),
        (subject.unscored_both, "without a score in either"),
        (subject.pending, "not fully judged"),
    )
    yield from (f"{count:,} {why}" for count, why in ways if count)
