"""The runs of a prompt or a suite over time: their numbers as they are stored, and what was changed in between."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.run_kind import is_ranking
from evenhand.domain.summary import Tally
from evenhand.engine.case_digest import case_digest, kept_case_digest
from evenhand.reports.json import moment
from evenhand.reports.phrases import model_label
from evenhand.server.runs.baseline import lineage
from evenhand.server.runs.summaries import SummaryCache
from evenhand.server.runs.views import MOST_CASES_IN_LIST, judge_of
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import PROMPT

# How many runs a chart has.
MOST_POINTS: Final = 30
# What may change from run to run, each with what it is called.
CHANGES: Final = {"prompt": "prompt version", "judge": "judge", "target": "target", "cases": "cases"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """A finished run: the numbers of its cases, None where they are not counted yet, and what it was a run of.

    ``cases`` is a hash of what its cases ask, None where that is not known yet. ``changed`` has the kinds of
    ``CHANGES`` in which it differs from the run before.
    """

    run: RunRecord
    tally: Tally | None
    version: int | None
    judge: str | None
    target: str | None
    cases: str | None
    changed: tuple[str, ...] = ()

    def changes_since(self, earlier: TrendPoint) -> tuple[str, ...]:
        """Return the kinds of changes since an earlier run; what is not known of one of them is none."""
        pairs = {
            "prompt": (earlier.version, self.version),
            "judge": (earlier.judge, self.judge),
            "target": (earlier.target, self.target),
            "cases": (earlier.cases, self.cases),
        }
        # Of runs of different sizes, the cases differ whatever they ask.
        if None in pairs["cases"] and earlier.run.cases != self.run.cases and earlier.target == self.target:
            pairs["cases"] = (str(earlier.run.cases), str(self.run.cases))
        return tuple(
            kind
            for kind, (before, after) in pairs.items()
            if before != after and not (kind == "cases" and None in (before, after))
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        tally = self.tally
        return {
            "run": self.run.id, "name": self.run.name, "label": self.run.label, "created": moment(self.run.created),
            "prompt_version": self.version, "judge": self.judge, "target": self.target, "n": self.run.cases,
            "scored": None if tally is None else tally.scored,
            "pass_rate": None if tally is None else tally.pass_rate,
            "pass_rate_interval": _plain(tally and tally.pass_rate_interval),
            "mean": None if tally is None else tally.mean,
            "interval": _plain(tally and tally.interval),
            "changed": list(self.changed),
        }  # fmt: skip


def _plain(interval: Any) -> dict[str, Any] | None:
    return None if interval is None else asdict(interval)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Some of the finished runs of a prompt or suite, the oldest first.

    ``first`` is how many newer ones there are, of ``total`` in all; ``unfinished`` runs are left out. Of ``unread``
    runs, which are large or were not read yet, only the number of cases is compared.
    """

    points: tuple[TrendPoint, ...]
    first: int
    total: int
    unfinished: int = 0
    unread: int = 0


def trend_of(
    store: Store,
    runs: Sequence[RunRecord],
    summaries: SummaryCache,
    *,
    first: int = 0,
    limit: int = MOST_POINTS,
    seconds: float = 0.0,
) -> Trend:
    """Return the trend of some runs, which come newest first; hashes of cases are computed for so many seconds."""
    finished = [run for run in runs if run.status is RunStatus.FINISHED and not is_ranking(run.definition)]
    # The run before the oldest one says what was changed for that.
    here = finished[first : first + limit + 1]
    until = time.monotonic() + seconds
    points = [_point(store, run, summaries, until) for run in reversed(here)]
    told = [replace(point, changed=point.changes_since(earlier)) for earlier, point in itertools.pairwise(points)]
    shown = [*points[:1], *told][-limit:]
    return Trend(
        points=tuple(shown),
        first=first,
        total=len(finished),
        unfinished=sum(run.status is not RunStatus.FINISHED for run in runs),
        unread=sum(point.cases is None for point in shown),
    )


def runs_like(store: Store, run: RunRecord) -> list[RunRecord]:
    """Return the runs of the same prompt or suite as one, the newest first, that one included."""
    same = lineage(run)
    among = store.runs.newest(source=run.source) if same[0] == "suite" else store.runs.newest()
    return [other for other in among if lineage(other) == same]


def runs_of_prompt(store: Store, prompt_id: str) -> list[RunRecord]:
    """Return the runs of a prompt, the newest first."""
    return [run for run in store.runs.newest() if lineage(run) == ("prompt", prompt_id)]


def _point(store: Store, run: RunRecord, summaries: SummaryCache, until: float) -> TrendPoint:
    is_counted = run.cases <= MOST_CASES_IN_LIST or summaries.has(store, run)
    summary = summaries.of(store, run).summary if is_counted else None
    prompt = run.definition.get(PROMPT)
    version = prompt.get("version") if isinstance(prompt, dict) else None
    digest = kept_case_digest(store, run)
    if digest is None and run.cases <= MOST_CASES_IN_LIST and time.monotonic() < until:
        digest = case_digest(store, run)
    return TrendPoint(
        run=run,
        tally=None if summary is None else summary.cases,
        version=version if isinstance(version, int) else None,
        judge=(summary and ", ".join(summary.judges)) or judge_of(run),
        target=model_label(run.definition.get("target")),
        cases=digest,
    )
