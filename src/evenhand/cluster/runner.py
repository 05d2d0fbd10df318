"""A run whose cases are judged by workers: this process plans, hands out cases, and is the only one that writes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from evenhand.cluster.lender import Account, Lender
from evenhand.cluster.messages import Orders, Report, Shipment, Traced
from evenhand.cluster.pool import Held, Pool, made_items, stored_items
from evenhand.cluster.port import Cluster, Port, WorkerLost
from evenhand.cluster.shippable import models_in, require_same_evaluators, require_shippable
from evenhand.cluster.shipped_log import log_again
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, EvenhandError
from evenhand.domain.evaluation import Attempt, Status
from evenhand.domain.failure import Failure
from evenhand.domain.run import Judgment, PlannedCase, RunRecord
from evenhand.domain.verdict import Verdict
from evenhand.engine.breaker import Outage
from evenhand.engine.job import Job, Pace
from evenhand.engine.run import Progress
from evenhand.engine.runner import Runner
from evenhand.engine.work import Todo, drawn_work
from evenhand.store.rows import answer_of, judgment_of_row, planned_from
from evenhand.store.store import Store

# So many workers may die one after the other without having judged anything.
_MOST_LOST: Final = 10
_IDLE_SECONDS: Final = 0.2
_START_SECONDS: Final = 180.0


class _Seen(NamedTuple):
    """What is counted of an evaluation, as its row has it."""

    evaluator: str
    status: Status
    score: float | None
    verdict: Verdict | None
    retry_count: int
    attempts: tuple[Attempt, ...]
    error: str | None = None


_STATUSES: Final = {status.value: status for status in Status}
_VERDICTS: Final = {verdict.value: verdict for verdict in Verdict}
_FROM_CACHE: Final = (Attempt(kind="reply", cached=True),)
_UNREAD: Final = Case()


@dataclass(eq=False, slots=True)
class _Member:
    """A worker as the driver knows it."""

    port: Port
    account: Account
    is_ready: bool = False
    wanted: int = 0
    next: Orders = field(default_factory=Orders)
    committed: int = 0
    refused: Mapping[str, str | None] = field(default_factory=dict)
    is_settled: bool = False
    asking: int = 0


class ClusterRunner(Runner):
    """Brings a run to its end with workers elsewhere; everything that is found is written here."""

    def __init__(self, store: Store, run: RunRecord, job: Job, pace: Pace, *, cluster: Cluster, **options: Any) -> None:
        super().__init__(store, run, job, pace, **options)
        require_shippable(job)
        first = next(iter(store.planned(run)), [])
        for planned in first[:1]:
            require_same_evaluators(job, planned)
        self._cluster = cluster.host(models_in(job, first))
        self._tell = options.get("tell")
        self._lender = Lender(pace.limits, self.budget)
        self._count = max(1, min(self._cluster.workers, pace.concurrency))
        self._members: list[_Member] = []
        self._places = max(1, pace.concurrency // self._count)
        self._pool = self._pool_of(iter(()), 0)
        self._lost_in_a_row = 0
        self._gone: dict[str, tuple[_Member, Outage]] = {}
        self._answered: set[str] = set()

    @property
    def workers(self) -> int:
        """How many workers judge."""
        return self._count

    @property
    def progress(self) -> Progress:
        """How the run is getting on; and whether the provider is what it waits for."""
        progress = super().progress
        progress.waits_for_provider = self.is_waiting_for_provider
        return progress

    async def run(self) -> RunRecord:
        """Work until all is done, the run stops, or somebody interrupts it; no worker outlasts it."""
        try:
            return await super().run()
        finally:
            for member in self._members:
                member.port.close()
            self._cluster.close()

    async def _begin_batches(self) -> None:
        """Refuse batches: one process submits them, and only that one can read what they bring."""
        if self._pace.batch:
            raise ConfigError(
                "--batch and --on ray cannot be combined: whoever waits for a batch needs no more workers"
            )
        if await self._with_store(self._store.provider_batches.items, self._run):
            raise ConfigError(
                f"run {self._run.id} has batches that are paid for; resume it without --on, which reads them"
            )

    @property
    def are_all_ready(self) -> bool:
        """Whether all workers have begun."""
        return len(self._members) == self._count and all(member.is_ready for member in self._members)

    @property
    def is_waiting_for_provider(self) -> bool:
        """Whether nearly all places wait for replies, so that more workers would not help."""
        return sum(member.asking for member in self._members) >= 0.8 * self._pace.concurrency

    def _begin(self, first: int, *, resuming: bool) -> list[asyncio.Task[None]]:
        self._overview = None  # the run is read when it has ended: here nothing is made of its rows
        samples = (self._run.cases - first) * self._run.repeat
        if resuming and not self._pace.retry_errors:  # each that is left lacks an evaluation at least
            samples = min(samples, self._progress.total - self._progress.done)
        self._pool = self._pool_of(self._source(first, resuming=resuming), samples)
        while len(self._members) < self._count:
            self._members.append(self._member())
        for member in self._members:
            member.wanted, member.is_settled = max(member.wanted, 1), False
        return [asyncio.create_task(self._serve(member)) for member in self._members]

    def _pool_of(self, source: Iterator[Held], samples: int) -> Pool[_Member]:
        return Pool(source, repeat=self._run.repeat, samples=samples, workers=self._count, places=self._places)

    def _source(self, first: int, *, resuming: bool) -> Iterator[Held]:
        how = {"resuming": resuming, "retry_errors": self._pace.retry_errors}
        if self._early is None:
            return stored_items(self._store, self._run, self._job, first=first, **how)
        return made_items(self._run, drawn_work(self._store, self._run, self._job, self._early.order, **how))

    def _member(self) -> _Member:
        return _Member(port=self._cluster.start(), account=self._lender.account(), wanted=1)

    def _shipment(self) -> Shipment:
        job, pace = self._job, self._pace
        remembered = self.gateway.remembered if pace.use_cache else None
        return Shipment(
            run=self._run.number,
            definition=job.definition,
            source=job.file,
            rebuild=job.rebuild,
            variables=self._cluster.variables,
            cwd=None if self._cluster.ships_files else _here(),
            has_target=job.target is not None,
            timeout=job.timeout,
            places=self._places,
            slow_start=pace.slow_start,
            outage_timeout=pace.outage_timeout,
            is_limited=self._lender.is_limited,
            limits_cost=self.budget.limits_cost,
            remembered=remembered,
            log_level=logging.getLogger().getEffectiveLevel(),
            traced=self._traced,
        )

    @property
    def _traced(self) -> Traced | None:
        """How workers record spans, if somebody wants them."""
        return None

    def _tell_of(self, report: Report) -> None:
        """Let what a worker logged appear here."""
        log_again(report.logs)

    async def _serve(self, member: _Member) -> None:
        """Let a worker judge, and the one after it if it dies, until nothing is left to do."""
        while True:
            try:
                if not member.is_ready and not await self._is_begun(member):
                    return
                orders = await self._orders(member)
                if orders is None:
                    return
                report = await member.port.exchange(orders)
            except WorkerLost as lost:
                member = await self._replace(member, lost)
                continue
            await self._take(member, report)

    async def _is_begun(self, member: _Member) -> bool:
        """Wait until a worker has begun; False if there is nothing left to do for it by then."""
        beginning = asyncio.ensure_future(member.port.begin(self._shipment()))
        began = time.monotonic()
        try:
            while not beginning.done():
                await asyncio.wait([beginning], timeout=_IDLE_SECONDS)
                if self.is_stopping or self._pool.is_over:
                    return False
                if time.monotonic() - began > _START_SECONDS and not any(each.is_ready for each in self._members):
                    raise ConfigError(
                        f"no worker could be started within {_START_SECONDS:.0f} s: the cluster has no free processor; "
                        "ray status shows what it has"
                    )
        finally:
            if not beginning.done():
                beginning.cancel()
        if (problem := beginning.result()) is not None:
            raise ConfigError(problem)
        member.is_ready = True
        member.next.held += list(self._gone)
        member.next.answered += list(self._answered)
        return True

    async def _replace(self, member: _Member, lost: WorkerLost) -> _Member:
        """Start another worker in place of one that died."""
        self._lost_in_a_row += 1
        member.port.close()
        self._lender.lose(member.account)
        for account, (finder, _) in list(self._gone.items()):
            if finder is member:  # the others find out anew
                self._bring_back(account)
        fatal = self._pool.lose(member)
        if fatal is not None:
            await self._fail_case(fatal)
        if self._lost_in_a_row > _MOST_LOST:
            self.gateway.stop(Failure("crashed", f"{self._lost_in_a_row} workers died one after the other: {lost}"))
        fresh = self._member()
        self._members[self._members.index(member)] = fresh
        return fresh

    async def _fail_case(self, held: Held) -> None:
        """Record that a case kills those who judge it."""
        planned = planned_from(*held.case)
        evaluators = self._job.evaluators_for(planned)
        todo = [Todo(place, evaluators[place], held.sample, number) for place, number in held.todo.items()]
        words = "the process that judged it died, twice, with nothing else to do; look for what this case does to it"
        self._lost_in_a_row = 0
        await self._processor.fail(planned, todo, Failure("crashed", words))

    async def _orders(self, member: _Member) -> Orders | None:
        """Return what a worker is to do next; wait while there is nothing, and return None when there will not be."""
        while True:
            if self.undecided is not None:
                await asyncio.wait([self.undecided])
            stops = self.is_stopping or self._is_decided
            if not stops:
                async with self._reading:
                    items = await self._with_store(self._pool.take, member, member.wanted)
                member.next.items = items
            orders, member.next = member.next, Orders()
            orders.committed = member.committed
            orders.stop = self.gateway.stopped or ("decided" if self._is_decided else None)
            orders.drain = self.gateway.draining
            orders.calls = self._lender.lend(member.account)
            orders.recall = self._lender.is_short
            orders.let_through = self._lender.let_through(member.account)
            orders.reserved = self._lender.reserve(member.account)
            if not orders.reserved and (refusal := self._lender.refusal(member.account)) is not None:
                self.gateway.stop(refusal)
                orders.stop = self.gateway.stopped
            if self._pool.has(member) or orders.replies or (orders.recall and member.account.unused):
                return orders
            if stops or self._pool.is_over:
                self._pool.changed.set()
                if stops or member.is_settled or not any(member.refused.values()):
                    return None
                orders.settle = member.is_settled = True
                return orders
            member.next = orders
            self._pool.changed.clear()
            try:
                async with asyncio.timeout(_IDLE_SECONDS):
                    await self._pool.changed.wait()
            except TimeoutError:
                continue

    async def _take(self, member: _Member, report: Report) -> None:
        """Commit what a worker found, tell of it, and answer what it asks."""
        if report.answers or report.evaluations or report.replies:
            await self._committer.commit(
                answers=tuple(report.answers), evaluations=tuple(report.evaluations), replies=report.replies
            )
            self._lost_in_a_row = 0
        self._tell_of(report)
        member.committed, member.wanted, member.asking = report.number, report.wanted, report.asking
        self._lender.take(member.account, report)
        for row in report.answers:
            if (held := self._pool.held_of(member, row[1], row[2])) is not None:
                held.made = row[-1]
                planned, made = planned_from(*held.case), answer_of(row[-1])
                self._costs.add_answer(planned, made.cost)
                self._answers.look_at(planned.case.id or "", made)
        for row, again in zip(report.evaluations, report.asked_again, strict=True):
            held = self._pool.held_of(member, row[1], row[3])
            if held is not None and held.todo.pop(row[2], None) is not None:
                await self._note_row(held, row, *again)
        self._pool.end(member, () if self.is_stopping and not report.ended else report.ended)
        self._account()
        await self._heed(member, report)

    async def _note_row(self, held: Held, row: tuple[Any, ...], retries: int, cached: bool) -> None:
        """Take note of a row; where nobody looks at the evaluation itself, it is not made."""
        if self._observers or row[7] == Status.ERROR:
            await self._note(planned_from(*held.case), judgment_of_row(row[1:]))
            return
        position, digest, expected, _ = held.case
        verdict = None if row[9] is None else _VERDICTS[row[9]]
        seen: Any = _Seen(row[5], _STATUSES[row[7]], row[8], verdict, retries, _FROM_CACHE if cached else ())
        judgment = Judgment(evaluation=seen, sample=row[3], round=row[4], key=row[6], cost=row[12], seconds=row[13])
        await self._note(PlannedCase(position, _UNREAD, hash=digest, expected=expected), judgment)

    async def _heed(self, member: _Member, report: Report) -> None:
        member.refused = report.refused
        self._note_answered(member, report)
        if report.crashed is not None:
            name, words = report.crashed
            raise ConfigError(words) if name == "ConfigError" else EvenhandError(f"a worker failed: {name}: {words}")
        if report.stopped is not None and not self.is_stopping:
            self.gateway.stop(report.stopped)
        if (used_up := self._lender.used_up()) is not None:
            self.gateway.stop(used_up)
        for account, outage in report.outages:
            if outage.lasted is None:
                self._lose_provider(member, account, outage)
            elif account in self._gone and self._gone[account][0] is member:
                self._bring_back(account)
                if self._tell is not None:
                    self._tell(outage)
        for key in report.look_ups:
            member.next.replies[key] = await self.gateway.look_up(key)

    def _note_answered(self, member: _Member, report: Report) -> None:
        """Let all other workers know which accounts answered one of them."""
        new = [account for account in report.answered if account not in self._answered]
        self._answered.update(new)
        for other in self._members if new else ():
            if other is not member:
                other.next.answered += new

    def _lose_provider(self, member: _Member, account: str, outage: Outage) -> None:
        """Let all other workers wait until the one that found a provider gone finds it back."""
        if account in self._gone:
            return
        self._gone[account] = (member, outage)
        for other in self._members:
            if other is not member:
                other.next.held.append(account)
        if self._tell is not None:
            self._tell(outage)

    def _bring_back(self, account: str) -> None:
        finder, _ = self._gone.pop(account)
        for other in self._members:
            if other is not finder:
                other.next.released.append(account)

    def _account(self) -> None:
        """Add up what all workers used."""
        gateway, spent = self.gateway, self._lender.spent
        gateway.cached = sum(each.cached for each in spent)
        gateway.abandoned_calls = sum(each.abandoned_calls for each in spent)
        costs = [each.abandoned_cost for each in spent]
        gateway.abandoned_cost = None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def _paused(self) -> str | None:
        return next((str(outage) for _, outage in self._gone.values()), None)

    @property
    def _refused(self) -> str | None:
        """What an account said that never said anything else to any worker."""
        said: dict[str, list[str | None]] = {}
        for member in self._members:
            for account, error in member.refused.items():
                said.setdefault(account, []).append(error)
        return next((errors[0] for errors in said.values() if all(errors)), None)


def _here() -> str:
    import os  # noqa: PLC0415 - only where workers share this machine's files

    return os.getcwd()  # noqa: PTH109
