"""Stop a run when its gates are decided: results count in the drawn order, whenever they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from evenhand.domain.early_decision import UNTIL_DECIDED, GateDecision, UntilDecided
from evenhand.domain.errors import ConfigError, StoreError
from evenhand.domain.evaluation import Status
from evenhand.domain.failure import Failure
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.verdict import Verdict
from evenhand.engine.concurrency_limit import is_refusal
from evenhand.engine.decidable import limits_of
from evenhand.engine.gateway import Gateway
from evenhand.engine.job import Job
from evenhand.engine.known_cases import known_cases
from evenhand.stats.early_gates import EarlyGates, Judged
from evenhand.stats.refusal import Refused
from evenhand.store.store import Store


def early_stop_of(store: Store, run: RunRecord, job: Job, gateway: Gateway, *, retry_errors: bool) -> EarlyStop | None:
    """Return what decides on a run, with all that the store has of it; None for a run that goes to its end.

    A run that was decided before goes to its end too: somebody has resumed it. Which results are known is looked up
    once, and stored before anything is asked.
    """
    until = UntilDecided.of(run)
    if until is None or until.gates:
        return None
    if until.known is None:
        until = replace(until, known=known_cases(store, run, job, gateway))
        store.runs.set_option(run, UNTIL_DECIDED, until.as_dict())
    stop = EarlyStop(run, until)
    stop.read(store.results(run), retry_errors=retry_errors)
    return stop


class EarlyStop:
    """The gates of a run, which take its cases in the drawn order as soon as they are whole.

    A case is whole when all its evaluations are committed, those that are made anew too.
    """

    def __init__(self, run: RunRecord, until: UntilDecided) -> None:
        self._run = run
        self._until = until
        self.order = until.order(run.cases)
        # How many evaluations are to come of a case that was begun.
        self._left: dict[int, int] = {}
        # Whole cases whose turn has not come.
        self._ready: dict[int, Judged] = {}
        self._counted = 0
        self._limits = limits_of(run.definition)
        self._known: list[Judged] = []
        self._gates: EarlyGates | None = None
        self._begin()

    def read(self, results: Iterable[CaseResult], *, retry_errors: bool) -> None:
        """Take in what the store has of all cases; errors that will be made anew are still to come."""
        for result in results:
            again = sum(
                judgment.evaluation.status is Status.ERROR
                and (retry_errors or is_refusal(str(judgment.evaluation.error)))
                for judgment in result.judgments
            )
            if left := result.awaited + again:
                self._left[result.position] = left
            else:
                self.add(result)

    def is_whole_after_one_more(self, position: int) -> bool:
        """Note that an evaluation of a case was committed, and return whether it was the last one."""
        self._left[position] -= 1
        return self._left[position] == 0

    def add(self, result: CaseResult | None) -> None:
        """Take in a whole case, and let count whatever has its turn."""
        if result is None:
            raise StoreError(f"a case of run {self._run.id} that was just judged is not in the store")
        outcome = result.outcome
        is_scored = outcome.status is Status.SCORED and outcome.verdict is not None
        self._ready[result.position] = (
            Judged(score=outcome.score, passed=outcome.verdict is Verdict.PASS) if is_scored else Judged()
        )
        for judged in self._turns():
            if self._gates is None:
                self._known.append(judged)
                self._begin()
            else:
                self._gates.add(dict.fromkeys(self._limits, judged))

    def _turns(self) -> Iterator[Judged]:
        """Yield the cases whose turn has come, until all is decided."""
        while not self.is_over and self._counted < len(self.order):
            judged = self._ready.pop(self.order[self._counted], None)
            if judged is None:
                return
            self._counted += 1
            yield judged

    def _begin(self) -> None:
        """Begin to decide once all known results are in."""
        if len(self._known) < len(self._until.known or ()):
            return
        gates = EarlyGates.of(
            self._limits,
            cases=self._run.cases,
            in_random_order=True,
            alpha=self._until.alpha,
            known=[dict.fromkeys(self._limits, judged) for judged in self._known],
        )
        if isinstance(gates, Refused):  # of an imported run, which nobody checked when it was planned
            raise ConfigError(f"until_decided: {gates.reason}")
        self._gates = gates

    @property
    def is_over(self) -> bool:
        """Whether the run can stop."""
        return self._gates is not None and self._gates.is_over

    def keep(self, store: Store) -> Failure:
        """Store what was decided with the run, and return the reason for which it stops."""
        decisions = {} if self._gates is None else self._gates.decisions
        decided = replace(
            self._until,
            gates=tuple(
                GateDecision(name=name, limit=limit)
                if (found := decisions.get(name)) is None
                else GateDecision(
                    name=name, limit=limit, outcome=found.outcome, after=found.after, certain=found.certain
                )
                for name, (_, limit) in self._limits.items()
            ),
        )
        store.runs.set_option(self._run, UNTIL_DECIDED, decided.as_dict())
        return decided.reason(self._run.cases)
