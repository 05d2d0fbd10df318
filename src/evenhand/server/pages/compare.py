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
from evenhand.domain.errors import ConfigError, IncomparableError
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


def reach(found: Iterable[PairedDifference]) -> float:
    """Return how far the axis extends on both sides of zero to fit all intervals, rounded up to a tenth."""
    far = [0.1]
    for one in found:
        if one.interval is not None:
            far += [abs(one.interval.low), abs(one.interval.high)]
        elif one.difference is not None:
            far.append(abs(one.difference))
    return min(math.ceil(max(far) * 10 - 1e-9) / 10, 1.0)


def _difference_mark(name: str, found: PairedDifference, most: float) -> Markup:
    """Draw a difference with its interval on an axis from ``-most`` to ``most``."""
    axis = Axis(left=-most, right=most, line=0, kind="zero", grid=(-most, most))
    interval = None if found.interval is None else (found.interval.low, found.interval.high)
    said = f"{difference_text(found.difference)} {around_text(found.interval)}, from {-most:g} to {most:g}"
    return interval_mark(name, found.difference, interval, axis, said=said, width="100%")


def _outcomes(found: PairedDifference) -> Markup:
    """Draw one bar for the cases in which B scored more, the same, and less."""
    counts = [
        (Standing.PASS, found.wins, f"{counted(found.wins, 'win')} for B"),
        (Standing.NOT_EVALUATED, found.ties, f"{counted(found.ties, 'tie')} for B"),
        (Standing.FAIL, found.losses, f"{counted(found.losses, 'loss', 'losses')} for B"),
    ]
    return outcome_bar(counts, f"{found.wins:,} wins, {found.ties:,} ties and {found.losses:,} losses for B")


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
) -> Response:
    """Compare two runs; ``before``, ``after`` and ``way`` select changes of verdicts."""
    runs = store.runs.newest(MOST_RUNS)
    chosen: dict[str, Any] = {"a": a, "b": b, "runs": runs}
    if not a or not b:
        if not a and not b:
            chosen["a"], chosen["b"] = newest_pair(runs) or ("", "")
        return page(request, "compare.html", found=None, refused=None, waiting=None, **chosen)
    ours, theirs = find_run(store, a), find_run(store, b)
    change_filter = ChangeFilter(before=before, after=after, way=way)
    try:
        found = compare_in_background(
            summaries,
            store,
            (ours, theirs),
            seconds=settings.page_wait_seconds,
            evaluator=evaluator or None,
            most_changes=None if change_filter.is_any else MOST_CHANGES,
            anyway=bool(anyway),
        )
    except TimeoutError:
        return page(request, "compare.html", found=None, refused=None, waiting=str(request.url.query), **chosen)
    except ConfigError as error:
        return page(request, "compare.html", found=None, refused=_refusal(error, a, b), waiting=None, **chosen)
    address = _Address(a=a, b=b, evaluator=evaluator, anyway=anyway)
    return page(
        request, "compare.html", refused=None, waiting=None, **chosen, **_shown(store, found, address, change_filter)
    )


class _Address:
    """The address of a comparison, with further parameters."""

    def __init__(self, **said: str) -> None:
        self._said = said

    def __call__(self, **more: str) -> str:
        said = {name: value for name, value in (self._said | more).items() if value}
        return f"/compare?{urlencode(said)}"


def _refusal(error: ConfigError, a: str, b: str) -> dict[str, Any]:
    """Return why the runs are not compared, and whether they could be anyway."""
    if not isinstance(error, IncomparableError):
        return {"why": str(error), "differing": [], "anyway": None}
    return {"why": error.why, "differing": error.differing, "anyway": _Address(a=a, b=b, anyway="yes")()}


def _shown(store: Store, found: Comparison, address: _Address, change_filter: ChangeFilter) -> dict[str, Any]:
    subject = found.subject
    changes = [one for one in found.changes if change_filter.takes(one)][:MOST_CHANGES]
    several: list[tuple[str | None, Compared]] = [(None, found.cases), *found.evaluators.items()]
    most = reach(one.scores for _, one in several)
    positions = case_positions(store, (found.a, found.b), [one.case_id for one in changes])
    return {
        "found": found,
        "sentence": verdict_sentence(subject.scores),
        "facts": list(_facts(subject)),
        "bar": _outcomes(subject.scores) if subject.scores.n else None,
        "rows": [_row(name, one, found, most, address) for name, one in several],
        "most": most,
        "standings": [Standing(name) for name in STANDINGS],
        "transitions": _transitions(found, address),
        "changes": [_change(one, found, positions) for one in changes],
        "changed": _how_many(found, changes, change_filter),
        "all_changes": address() if change_filter.is_any else None,
        "reaching": counted(subject.in_common, "case"),
        "left_out": list(_left_out(subject)),
    }


def _facts(subject: Compared) -> Iterator[tuple[str, str]]:
    """Yield the numbers, each with its name."""
    found = subject.scores
    if not found.n:
        return
    yield "Mean of A", score_text(found.mean_a, 3)
    yield "Mean of B", score_text(found.mean_b, 3)
    yield (
        "B − A",
        f"{difference_text(found.difference)} {'' if found.interval is None else around_text(found.interval)}",
    )
    if found.test is not None:
        yield "Test", found.test
        yield (
            "p",
            p_text(found.p)
            if subject.p_holm in (None, found.p)
            else f"{p_text(found.p)}, {p_text(subject.p_holm)} after Holm",
        )
    if found.effect is not None:
        yield found.effect.name.capitalize(), NONE if found.effect.value is None else f"{found.effect.value:.2f}"
    yield "Scored in both", f"{found.n:,}" + (f" in {counted(found.clusters, 'cluster')}" if found.clusters else "")
    if found.minimum_detectable is not None:
        yield "Detectable with 80 % power", f"a difference of {found.minimum_detectable:.3f}"
    if found.needed is not None and found.needed > found.n:
        yield "To detect 0.05", f"about {found.needed:,} cases"


def _row(name: str | None, one: Compared, found: Comparison, most: float, address: _Address) -> dict[str, Any]:
    """Return a line of the table: of an evaluator, or of whole cases, which have no name."""
    called = "whole cases" if name is None else name
    return {
        "name": called,
        "href": address(evaluator=name or ""),
        "here": found.evaluator == name,
        "a": score_text(one.scores.mean_a, 3),
        "b": score_text(one.scores.mean_b, 3),
        "difference": difference_text(one.scores.difference),
        "interval": NONE if one.scores.interval is None else around_text(one.scores.interval),
        "p": p_text(one.scores.p if one.p_holm is None else one.p_holm),
        "n": f"{one.scores.n:,}",
        "lacking": one.scores.lacking,
        "mark": _difference_mark(called, one.scores, most),
    }


def _transitions(found: Comparison, address: _Address) -> list[tuple[Standing, list[tuple[int, str | None]]]]:
    """Return the matrix of verdicts in A and B: counts, each with the address of its cases."""
    return [
        (Standing(before), [(count, _look_at(before, after, found, address) if count else None)
                            for after, count in zip(STANDINGS, row, strict=True)])
        for before, row in zip(STANDINGS, found.subject.transitions, strict=True)
    ]  # fmt: skip


def _look_at(before: str, after: str, found: Comparison, address: _Address) -> str:
    """Return the address of the cases of a cell: here if both have a score, otherwise in one of the runs."""
    if before in SCORED and after in SCORED and before != after:
        return address(before=before, after=after) + "#changes"
    run, standing = (found.b, after) if before in SCORED or after not in SCORED else (found.a, before)
    said = {"verdict" if standing in SCORED else "status": standing}
    return f"{own(run)}/results?{urlencode(said | ({'evaluator': found.evaluator} if found.evaluator else {}))}"


def _how_many(found: Comparison, changes: Sequence[Change], change_filter: ChangeFilter) -> str:
    if change_filter.is_any:
        return f"{change_filter.words}: {counted(len(changes), 'case')}."
    if len(changes) == found.changed:
        return f"{counted(found.changed, 'case')}, the largest difference first."
    return f"The {len(changes):,} largest of {found.changed:,}."


def _change(change: Change, found: Comparison, positions: Mapping[tuple[int, str], int]) -> dict[str, Any]:
    def address(run: RunRecord) -> str | None:
        position = positions.get((run.number, change.case_id))
        return None if position is None else f"{own(run)}/results/{position}"

    return {
        "id": change.case_id,
        "a": score_text(change.score_a, 3),
        "b": score_text(change.score_b, 3),
        "difference": difference_text(change.difference),
        "before": change.standing_a,
        "after": change.standing_b,
        "in_a": address(found.a),
        "in_b": address(found.b),
    }


def _left_out(subject: Compared) -> Iterator[str]:
    """Count the cases that are left out, with the reason."""
    ways = (
        (subject.only_a, "only in A"),
        (subject.only_b, "only in B"),
        (subject.unscored_a, "without a score in A"),
        (subject.unscored_b, "without a score in B"),
        (subject.unscored_both, "without a score in either"),
        (subject.pending, "not fully judged"),
    )
    yield from (f"{count:,} {why}" for count, why in ways if count)
