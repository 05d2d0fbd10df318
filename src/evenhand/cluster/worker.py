"""A worker: it holds the evaluators, judges the cases it is handed, and sends back rows; it needs no store."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from pathlib import Path
from typing import Any, Final

from evenhand.cluster.leased_gateway import LeasedGateway
from evenhand.cluster.messages import Item, Orders, Report, Shipment
from evenhand.cluster.shippable import evaluators_elsewhere
from evenhand.cluster.variables import require_variables
from evenhand.domain.run import Judgment, MadeAnswer, PlannedCase
from evenhand.drive.span_recorder import SpanRecorder
from evenhand.engine.breaker import Patience
from evenhand.engine.case_processor import CaseProcessor
from evenhand.engine.job import Job
from evenhand.engine.telemetry import TracedProcessor, emit_evaluation, enter_run
from evenhand.engine.work import Todo, Work
from evenhand.store.replies import FoundReply
from evenhand.store.rows import answer_of, planned_from
from evenhand.suites.definition import Definition

# How long the first row of a report waits for others, and how long a worker without news is silent.
GATHER_SECONDS: Final = 0.05
SILENT_SECONDS: Final = 0.5
# How often one asks that waits for the driver to let it go on.
WAITING_SECONDS: Final = 0.05
# So many rows make a report at once; so many may be on their way before a place has to wait for the driver's commit.
FULL_REPORT: Final = 200
MOST_UNCOMMITTED: Final = 400
MOST_QUEUED: Final = 400


class Worker:
    """Judges items in so many places at once. ``exchange`` is its only door."""

    def __init__(self, shipment: Shipment) -> None:
        if shipment.cwd is not None:
            os.chdir(shipment.cwd)
        require_variables(shipment.variables)
        source = shipment.source
        if source is not None and shipment.cwd is None:  # the suite's folder was shipped, and is this one
            source = str(Path.cwd() / Path(source).name)
        built = Definition(shipment.definition, source=source)
        job = Job(
            name="",
            definition=shipment.definition,
            cases=tuple,
            evaluators_for=evaluators_elsewhere(shipment.definition, source, shipment.rebuild),
            target=built.target() if shipment.has_target else None,
            prices=built.prices,
            timeout=shipment.timeout,
        )
        self._job = job
        self._changed = asyncio.Event()
        self.gateway = LeasedGateway(
            prices=job.prices,
            places=shipment.places,
            slow_start=shipment.slow_start,
            patience=Patience(seconds=shipment.outage_timeout),
            is_limited=shipment.is_limited,
            limits_cost=shipment.limits_cost,
            remembered=shipment.remembered,
            changed=self._changed,
        )
        self._traced = shipment.traced
        self._recorder: SpanRecorder | None = None
        if shipment.traced is None:
            self._processor = CaseProcessor(job, self.gateway, shipment.run, self)
        else:
            self._recorder = SpanRecorder(
                content_in_events=shipment.traced.content_in_events, content_in_spans=shipment.traced.content_in_spans
            )
            traced = TracedProcessor(self._recorder, job, self.gateway, shipment.run, self)
            self._processor, self.gateway.put = traced, traced.put
        self._processor.free_places = shipment.places
        self._places = shipment.places
        self._queue: deque[Item] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._report = Report(number=1)
        self._committed = 0
        self._unsent_since: float | None = None
        # Rows in reports that are not committed yet, by the number of the report.
        self._on_their_way: deque[tuple[int, int]] = deque()
        self._room = asyncio.Event()
        self._recent: deque[tuple[float, int]] = deque()
        self._settled = False
        # How many turns waited for a call when that was reported last.
        self._calls_wanted = 0

    # What the processor asks of whoever keeps its rows.
    undecided: asyncio.Future[bool] | None = None

    @property
    def is_stopping(self) -> bool:
        """Whether no other evaluation should begin."""
        return self.gateway.ending is not None

    async def keep_answer(
        self,
        planned: PlannedCase,  # noqa: ARG002 - the row says it
        made: MadeAnswer,  # noqa: ARG002
        row: tuple[Any, ...],
        replies: list[Any],
    ) -> None:
        """Send an answer to the driver."""
        await self._send(self._report.answers, row, replies, is_answer=True)

    async def keep_evaluation(
        self,
        planned: PlannedCase,
        todo: Todo,  # noqa: ARG002 - the row says it
        judgment: Judgment,
        row: tuple[Any, ...],
        replies: list[Any],
    ) -> None:
        """Send an evaluation to the driver."""
        evaluation = judgment.evaluation
        cached = any(attempt.cached for attempt in evaluation.attempts)
        self._report.asked_again.append((evaluation.retry_count, cached))
        if self._recorder is not None:
            emit_evaluation(self._recorder, planned, judgment)
        await self._send(self._report.evaluations, row, replies, is_answer=False)

    async def _send(self, rows: list[Any], row: tuple[Any, ...], replies: list[Any], *, is_answer: bool) -> None:
        """Put a row into the next report, and wait only where too many are not committed yet."""
        rows.append(row)
        self._report.replies += [
            reply.at(row, is_answer=is_answer) if isinstance(reply, FoundReply) else reply for reply in replies
        ]
        if self._unsent_since is None:
            self._unsent_since = time.monotonic()
            self._changed.set()
        elif self._unsent >= FULL_REPORT:
            self._changed.set()
        while self._unsent + sum(rows for _, rows in self._on_their_way) > MOST_UNCOMMITTED:
            self._room.clear()
            await self._room.wait()

    @property
    def _unsent(self) -> int:
        return len(self._report.answers) + len(self._report.evaluations)

    async def exchange(self, orders: Orders) -> Report:
        """Take orders, and return what there is to report: rows, once they are some, or anything that cannot wait."""
        await self._follow(orders)
        until = time.monotonic() + (WAITING_SECONDS if self.gateway.waits else SILENT_SECONDS)
        while not self._is_due(now := time.monotonic()) and now < until:
            self._changed.clear()
            end = until if self._unsent_since is None else min(until, self._unsent_since + GATHER_SECONDS)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(end - now, 0.001)):
                    await self._changed.wait()
        return self._reported()

    async def _follow(self, orders: Orders) -> None:
        gateway = self.gateway
        while self._on_their_way and self._on_their_way[0][0] <= orders.committed:
            self._on_their_way.popleft()
        self._room.set()
        gateway.note_answered(orders.answered)
        gateway.hold(orders.held)
        gateway.release(orders.released)
        gateway.note_news()
        gateway.lent.add(orders.calls)
        gateway.let_through(orders.let_through)
        gateway.let_through(orders.reserved)
        gateway.found(orders.replies)
        if orders.stop is not None:
            gateway.stop_as_told(orders.stop)
        if orders.drain:
            gateway.drain()
        if orders.recall:
            self._report.calls_returned += gateway.lent.spare()
        self._queue.extend(orders.items)
        self._start()
        if orders.settle:
            await gateway.settle_refusals()
            self._settled = True

    def _start(self) -> None:
        while self._queue and (len(self._tasks) < self._places or self.is_stopping):
            item = self._queue.popleft()
            if self.is_stopping:
                self._report.ended.append(item.number)
                continue
            task = asyncio.get_running_loop().create_task(self._judge(item))
            self._tasks.add(task)
            self._processor.free_places = self._places - len(self._tasks)
            task.add_done_callback(self._ended)

    async def _judge(self, item: Item) -> None:
        if self._recorder is not None and self._traced is not None:
            enter_run(self._recorder.root, self._traced.run)
        try:
            planned = planned_from(*item.case)
            evaluators = self._job.evaluators_for(planned)
            todo = [Todo(place, evaluators[place], item.sample, number) for place, number in item.todo]
            made = None if item.made is None else answer_of(item.made)
            await self._processor.sample(Work(planned, item.sample, todo, made))
        except Exception as error:  # a mistake in a script or a definition, which the driver reports
            self._report.crashed = (type(error).__name__, str(error))
            self._changed.set()
        self._report.ended.append(item.number)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._processor.free_places = self._places - len(self._tasks)
        self._start()
        if not self._tasks:
            self._changed.set()

    def _is_due(self, now: float) -> bool:
        gateway, report = self.gateway, self._report
        if gateway.unsent or gateway.questions or gateway.unasked or gateway.outages or self._settled or report.crashed:
            return True
        if gateway.awaiting_news or gateway.lent.wanted > self._calls_wanted:
            return True
        if self._unsent_since is not None:
            gathered = now - self._unsent_since >= GATHER_SECONDS or self._unsent >= FULL_REPORT
            return gathered or not self._tasks
        return not self._tasks

    def _reported(self) -> Report:
        report, gateway, now = self._report, self.gateway, time.monotonic()
        rows = self._unsent
        if rows:
            self._on_their_way.append((report.number, rows))
        self._recent.append((now, len(report.ended)))
        while now - self._recent[0][0] > 1.0:
            self._recent.popleft()
        # As much as the last half second took, and no less than there are places.
        pace = sum(ended for _, ended in self._recent) // 2
        report.wanted = max(min(max(pace, self._places), MOST_QUEUED) + self._places - self.busy, 0)
        report.busy = self.busy
        report.spent = gateway.spent
        report.calls_wanted = max(gateway.lent.wanted - (gateway.lent.lent - gateway.lent.promised), 0)
        self._calls_wanted = gateway.lent.wanted
        report.requests, gateway.unsent = gateway.unsent, []
        report.questions, gateway.questions = gateway.questions, []
        report.settled, gateway.lent.settled = gateway.lent.settled, []
        report.used, gateway.used = gateway.used, []
        report.look_ups, gateway.unasked = gateway.unasked, []
        report.outages, gateway.outages = gateway.outages, []
        report.stopped = gateway.stopped
        report.refused = gateway.refusals
        report.answered = [account for account, lane in gateway.lanes.items() if lane.answered]
        report.asking = gateway.waiting_for_providers
        if self._recorder is not None:
            report.spans, self._recorder.finished = self._recorder.finished, []
        gateway.note_report()
        self._report = Report(number=report.number + 1)
        self._unsent_since = None
        self._settled = False
        return report

    @property
    def busy(self) -> int:
        """How many items are queued or under way."""
        return len(self._queue) + len(self._tasks)
