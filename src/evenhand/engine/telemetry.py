"""A run as OpenTelemetry sees it: a span for the run, for each case, and for each question to a model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, NamedTuple

from evenhand.domain.ask import Ask, Turn
from evenhand.domain.case import Case
from evenhand.domain.early_decision import stopped_decided
from evenhand.domain.evaluation import Status
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Reply, Unanswered
from evenhand.domain.run import Judgment, MadeAnswer, PlannedCase, RunRecord, RunStatus
from evenhand.drive.driver import Deadline
from evenhand.drive.telemetry import OpenSpan, Telemetry, evaluation_attributes
from evenhand.engine.case_processor import CaseProcessor, Keeper
from evenhand.engine.gateway import Gateway
from evenhand.engine.job import Job, Pace
from evenhand.engine.runner import Observer, Runner
from evenhand.engine.work import Todo, Work
from evenhand.store.store import Store


class _Place(NamedTuple):
    """Where in a run a question is asked: the span it belongs to, and the attributes that name the place."""

    span: OpenSpan
    attributes: Mapping[str, Any]


# Our own, and not the current span of OpenTelemetry: what judges and targets leave behind there is not ours. Each
# worker is a task, so that cases which are judged at the same time have a place each.
_place: ContextVar[_Place] = ContextVar("_place")


def enter_run(span: OpenSpan, run: str) -> None:
    """Let what this task does from now on belong to a run, by its id."""
    _place.set(_Place(span, {"evenhand.run.id": run}))


def run_span() -> OpenSpan:
    """Return the span of the run, where no case is being judged."""
    return _place.get().span


@contextlib.contextmanager
def in_case(telemetry: Telemetry, planned: PlannedCase, sample: int) -> Iterator[None]:
    """Let what is done meanwhile belong to the span of a case."""
    run = _place.get()
    attributes = {**run.attributes, "evenhand.case.id": planned.case.id or "", "evenhand.sample": sample}
    with telemetry.span("case", attributes, parent=run.span.context) as span:
        token = _place.set(_Place(span, attributes))
        try:
            yield
        finally:
            _place.reset(token)


def emit_evaluation(telemetry: Telemetry, planned: PlannedCase, judgment: Judgment) -> None:
    """Emit an evaluation, which belongs to the span of its case."""
    span, attributes = _place.get()
    event = evaluation_attributes(judgment.evaluation, planned.case.id, with_content=telemetry.content_in_events) | {
        "evenhand.sample": judgment.sample,
        "evenhand.run.id": attributes["evenhand.run.id"],
    }
    telemetry.emit(event, span)
    if judgment.evaluation.status is Status.ERROR:
        span.fail(str(event["error.type"]))


class TracedProcessor(CaseProcessor):
    """Works on cases within spans: one for each, and for each target that is no model."""

    def __init__(self, telemetry: Telemetry, job: Job, gateway: Gateway, run: int, keeper: Keeper) -> None:
        super().__init__(job, gateway, run, keeper)
        self._telemetry = telemetry

    async def put(self, ask: Ask, deadline: Deadline, turn: Turn | None = None) -> Reply | Unanswered:
        """Ask a judge within a span that belongs to the case."""
        span, attributes = _place.get()
        return await self._telemetry.put(ask, deadline, turn, parent=span.context, attributes=attributes)

    async def sample(self, work: Work) -> None:
        """Work on a sample within its span."""
        with in_case(self._telemetry, work.planned, work.sample):
            await super().sample(work)

    async def _evaluation(self, planned: PlannedCase, todo: Todo, case: Case) -> None:
        place = _place.get()
        token = _place.set(place._replace(attributes={**place.attributes, "evenhand.evaluator": todo.evaluator.name}))
        try:
            await super()._evaluation(planned, todo, case)
        finally:
            _place.reset(token)

    async def _make(self, target: Any, case: Case, ask: Any) -> MadeAnswer:
        """Let the target answer: a model within the span of its question, a program or a function within its own."""
        place = _place.get()
        attributes = {**place.attributes, "evenhand.target": target.name}
        if target.client_for(case) is None:
            with self._telemetry.span(f"target {target.name}", attributes, parent=place.span.context) as span:
                made = await super()._make(target, case, ask)
                if made.error is not None:
                    span.fail(Failure.of(made.error).kind)
                return made
        token = _place.set(place._replace(attributes=attributes))
        try:
            return await super()._make(target, case, ask)
        finally:
            _place.reset(token)


class TracedRunner(Runner):
    """A runner that tells OpenTelemetry what it does; other runs use ``Runner`` itself, and pay nothing for this."""

    # Where others judge, they tell of evaluations too.
    judges_here: ClassVar[bool] = True

    def __init__(
        self,
        store: Store,
        run: RunRecord,
        job: Job,
        pace: Pace,
        *,
        telemetry: Telemetry,
        observers: Sequence[Observer] = (),
        **options: Any,
    ) -> None:
        self._telemetry = telemetry
        emits = [self._emit] if self.judges_here else []
        super().__init__(store, run, job, pace, observers=[*observers, *emits], **options)

    async def run(self) -> RunRecord:
        """Work until all is done, within the span of the run."""
        attributes = {"evenhand.run.id": self._run.id, "evenhand.run.name": self._run.name}
        if self._run.label:
            attributes["evenhand.run.label"] = self._run.label
        with self._telemetry.span(f"run {self._run.name}", attributes) as span:
            enter_run(span, self._run.id)
            ended = await super().run()
            span.set({"evenhand.run.status": ended.status.value, "evenhand.run.cases": ended.cases})
            if ended.status is not RunStatus.FINISHED and not stopped_decided(ended):
                span.fail(ended.status.value)
        return ended

    def _processor_of(self, run: RunRecord) -> CaseProcessor:
        processor = TracedProcessor(self._telemetry, self._job, self.gateway, run.number, self)
        self.gateway.put = processor.put
        return processor

    def _emit(self, planned: PlannedCase, judgment: Judgment) -> None:
        """Emit an evaluation that was committed."""
        emit_evaluation(self._telemetry, planned, judgment)
