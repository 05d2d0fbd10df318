"""The page of a trend: the runs of a prompt or a suite over time, in a chart and in a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import Response
from markupsafe import Markup

from evenhand.domain.errors import NotFoundError
from evenhand.domain.prompt import Prompt
from evenhand.domain.run import RunRecord
from evenhand.domain.run_kind import has_verdicts
from evenhand.domain.summary import Interval, Tally
from evenhand.reports.html.trend_chart import TrendMark, trend_chart
from evenhand.reports.phrases import NONE, counted, interval_text, moment_text, score_text
from evenhand.server.dependencies import SettingsDep, StoreDep, SummaryCacheDep
from evenhand.server.pages.base import page_routes
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.server.runs.profile_summaries import scale_of
from evenhand.server.runs.trend import CHANGES, MOST_POINTS, Trend, TrendPoint, runs_like, runs_of_prompt, trend_of
from evenhand.store.store import Store

router = page_routes()

METRICS: Final = {"pass_rate": "Pass rate", "mean": "Mean score"}
# The letter of each kind of change in the chart.
_LETTERS: Final = {kind: words[0].upper() for kind, words in CHANGES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRow:
    """A run as the table shows it, and the chart."""

    point: TrendPoint
    metric: str
    scale: int

    @property
    def href(self) -> str:
        """The address of the run."""
        return own(self.point.run)

    @property
    def when(self) -> str:
        """When it began."""
        return moment_text(self.point.run.created).removesuffix(" UTC")

    @property
    def changed(self) -> str:
        """What was changed for it, in words."""
        words = {
            "prompt": f"prompt version {self.point.version}",
            "judge": f"judge {self.point.judge or 'none'}",
            "target": f"target {self.point.target or 'none'}",
            "cases": "cases",
        }
        return ", ".join(words[kind] for kind in self.point.changed)

    @property
    def pass_rate(self) -> str:
        """The pass rate with its interval."""
        tally = self.point.tally if has_verdicts(self.point.run.definition) else None
        return NONE if tally is None else _estimate(tally.pass_rate, tally.pass_rate_interval)

    @property
    def mean(self) -> str:
        """The mean with its interval, on the scale of the run."""
        tally = self.point.tally
        return NONE if tally is None else _estimate(tally.mean, tally.interval, self.scale)

    @property
    def mark(self) -> TrendMark:
        """The run in the chart."""
        value, interval = _values(self.point.tally, self.metric)
        shown = self.pass_rate if self.metric == "pass_rate" else self.mean
        since = f"; changed: {self.changed}" if self.changed else ""
        return TrendMark(
            title=f"{self.point.run.label or self.point.run.name}, {self.when}: {shown}{since}",
            href=self.href,
            estimate=value,
            interval=None if interval is None else (interval.low, interval.high),
            changed=frozenset(self.point.changed),
        )


def _values(tally: Tally | None, metric: str) -> tuple[float | None, Interval | None]:
    if tally is None:
        return None, None
    return (tally.pass_rate, tally.pass_rate_interval) if metric == "pass_rate" else (tally.mean, tally.interval)


def _estimate(value: float | None, interval: Interval | None, scale: int = 1) -> str:
    if value is None:
        return NONE
    if interval is None:
        return score_text(value * scale)
    scaled = Interval(low=interval.low * scale, high=interval.high * scale, method=interval.method)
    return f"{score_text(value * scale)} {interval_text(scaled)}"


@router.get("/trend")
def show_trend(
    request: Request,
    store: StoreDep,
    settings: SettingsDep,
    summaries: SummaryCacheDep,
    *,
    prompt: str = "",
    run: str = "",
    metric: str = "",
    after: int = 0,
) -> Response:
    """Show the trend of a prompt, or of the suite of a run; ``after`` is how many newer runs are left out.

    Where nothing passes or fails, it is that of the mean.
    """
    if metric and metric not in METRICS:
        why = f"metric: it must be one of {', '.join(METRICS)}, not {metric!r:.40}"
        raise Problem(422, "Invalid request", why, field="metric")
    if bool(prompt) == bool(run):
        raise Problem(422, "Invalid request", "name a prompt, or a run of the suite: /trend?prompt=ID or /trend?run=ID")
    like = find_run(store, run) if run else None
    runs = runs_of_prompt(store, prompt) if like is None else runs_like(store, like)
    trend = trend_of(store, runs, summaries, first=max(after, 0), limit=MOST_POINTS, seconds=settings.page_wait_seconds)
    marked = not trend.points or any(has_verdicts(point.run.definition) for point in trend.points)
    metrics = METRICS if marked else {"mean": METRICS["mean"]}
    metric = metric if metric in metrics else next(iter(metrics))
    scale = max((scale_of(point.run) or 1 for point in trend.points), default=1)
    rows = [PointRow(point=point, metric=metric, scale=scale) for point in trend.points]
    known = _prompt(store, prompt) if prompt else None
    address = _Address(prompt=prompt, run=run, metric=metric)
    return page(
        request,
        "trend.html",
        prompt=known,
        title=_title(known, like, runs),
        rows=rows[::-1],
        chart=_chart(rows, metric, scale),
        lanes=[(letter, CHANGES[kind]) for kind, letter in _LETTERS.items()],
        metrics=[(words, address(0, metric=name), name == metric) for name, words in metrics.items()],
        has_rates=marked,
        notes=list(_notes(trend)),
        shown=_shown(trend),
        before=address(max(trend.first - MOST_POINTS, 0)) if trend.first else None,
        after=address(trend.first + MOST_POINTS) if trend.first + MOST_POINTS < trend.total else None,
    )


class _Address:
    """The address of a trend."""

    def __init__(self, **parameters: str) -> None:
        self._parameters = parameters

    def __call__(self, after: int, **more: str) -> str:
        asked: dict[str, Any] = {name: value for name, value in (self._parameters | more).items() if value}
        return f"/trend?{urlencode(asked | ({'after': after} if after else {}))}"


def _prompt(store: Store, prompt_id: str) -> Prompt | None:
    """Return the prompt, None where it was deleted: its runs are kept."""
    try:
        return store.prompts.find(prompt_id)
    except NotFoundError:
        return None


def _title(prompt: Prompt | None, like: RunRecord | None, runs: list[RunRecord]) -> str:
    if prompt is not None:
        return prompt.name
    newest = like or next(iter(runs), None)
    if newest is None:
        raise Problem(404, "Not found", "no such prompt, and no run of it; see the list of runs")
    return newest.name


def _chart(rows: list[PointRow], metric: str, scale: int) -> Markup | None:
    if not rows:
        return None
    ends = rows[0].when[:10], rows[-1].when[:10]
    return trend_chart(
        METRICS[metric],
        [row.mark for row in rows],
        _LETTERS,
        ends=ends,
        scale=scale if metric == "mean" else 1,
    )


def _shown(trend: Trend) -> str:
    if not trend.points:
        return ""
    return f"{trend.first + 1:,} to {trend.first + len(trend.points):,} of {counted(trend.total, 'finished run')}"


def _notes(trend: Trend) -> list[str]:
    notes = []
    if trend.unfinished:
        notes.append(f"{counted(trend.unfinished, 'run')} not finished: left out.")
    if trend.unread:
        notes.append(f"Of {counted(trend.unread, 'run')}, only the number of cases is compared so far.")
    if missing := sum(point.tally is None for point in trend.points):
        notes.append(f"{counted(missing, 'large run')} without numbers: open one to have it counted.")
    return notes
