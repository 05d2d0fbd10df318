"""A run on a cluster as OpenTelemetry sees it: workers record spans, and this process makes them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from evenhand.cluster.messages import Report, Traced
from evenhand.cluster.port import Cluster
from evenhand.cluster.runner import ClusterRunner
from evenhand.domain.run import Judgment, PlannedCase, RunRecord
from evenhand.drive import telemetry
from evenhand.drive.span_recorder import make_again
from evenhand.engine.breaker import OutageObserver
from evenhand.engine.job import Job, Pace
from evenhand.engine.never_scored import Confirm
from evenhand.engine.runner import Observer
from evenhand.engine.telemetry import TracedRunner, in_case, run_span
from evenhand.engine.work import Todo
from evenhand.store.store import Store


def cluster_runner_for(
    cluster: Cluster,
    store: Store,
    run: RunRecord,
    job: Job,
    pace: Pace,
    *,
    on_outage: OutageObserver,
    observers: Sequence[Observer] = (),
    confirm: Confirm | None = None,
    on_note: Callable[[str], None] | None = None,
) -> ClusterRunner:
    """Return the runner of a run on a cluster; it is called as ``runner_for`` is."""
    found = telemetry.current()
    make: Callable[..., ClusterRunner] = (
        ClusterRunner if found is None else functools.partial(TracedClusterRunner, telemetry=found)
    )
    options: dict[str, Any] = {"observers": observers, "tell": on_outage, "confirm": confirm, "on_note": on_note}
    return make(store, run, job, pace, cluster=cluster, **options)


class TracedClusterRunner(TracedRunner, ClusterRunner):
    """Makes the spans of all workers, under that of the run."""

    judges_here: ClassVar[bool] = False

    @property
    def _traced(self) -> Traced | None:
        found = self._telemetry
        return Traced(self._run.id, found.content_in_spans, found.content_in_events)

    def _tell_of(self, report: Report) -> None:
        super()._tell_of(report)
        for span in report.spans:
            make_again(self._telemetry, span, run_span().context)

    async def keep_evaluation(
        self, planned: PlannedCase, todo: Todo, judgment: Judgment, row: tuple[Any, ...], replies: list[Any]
    ) -> None:
        """Commit the error of a case that killed its workers, of which none of them could tell."""
        await super().keep_evaluation(planned, todo, judgment, row, replies)
        with in_case(self._telemetry, planned, judgment.sample):
            self._emit(planned, judgment)
