"""The limits of a run on several workers: the one place that lends calls and lets requests through."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from evenhand.cluster.messages import NOTHING, Report, Request, Settled, Spent
from evenhand.domain.evaluation import Attempt
from evenhand.domain.failure import Failure
from evenhand.engine.budget import Budget, Limits, Reservation
from evenhand.engine.question_costs import Question
from evenhand.models.rate_limit import RateLimit
from evenhand.models.retry import BUDGET

# Beyond those that are waited for: a request may be sent in another form at once.
_SPARE: Final = 1


@dataclass(slots=True)
class Account:
    """What one worker was lent and has used; it stays when the worker dies, so that nothing is lent twice."""

    lent: int = 0
    spent: Spent = NOTHING
    asking: int = 0
    wanted: int = 0
    waiting: list[Request] = field(default_factory=list)
    questions: list[tuple[int, Question]] = field(default_factory=list)
    reserved: dict[int, Reservation] = field(default_factory=dict)
    is_lost: bool = False

    @property
    def unused(self) -> int:
        """How many calls it has left; of a dead worker nobody knows, so all of them are taken for used."""
        return 0 if self.is_lost else max(self.lent - self.spent.calls, 0)


class Lender:
    """Keeps the budget and the limits per minute for all workers."""

    def __init__(self, limits: Limits, budget: Budget) -> None:
        self._limits = limits
        self._budget = budget
        self._accounts: list[Account] = []
        self._rates: dict[tuple[str, str], RateLimit] = {}

    @property
    def is_limited(self) -> bool:
        """Whether calls must be lent."""
        return self._limits.max_calls is not None

    def account(self) -> Account:
        """Return the account of another worker."""
        self._accounts.append(Account())
        return self._accounts[-1]

    @property
    def spent(self) -> list[Spent]:
        """What each worker has used."""
        return [account.spent for account in self._accounts]

    def take(self, account: Account, report: Report) -> None:
        """Take in what a worker used and wants."""
        account.lent -= report.calls_returned
        account.spent, account.asking, account.wanted = report.spent, report.asking, report.calls_wanted
        account.waiting += report.requests
        account.questions += report.questions
        for settled in report.settled:
            self._settle(account, settled)
        for key_account, model, estimated, used in report.used:
            if (rate := self._rates.get((key_account, model))) is not None:
                rate.settle(estimated, used)
        budget, spent = self._budget, self.spent
        budget.calls = sum(each.calls for each in spent)
        budget.faults = sum(each.faults for each in spent)
        budget.cost = sum(each.cost for each in spent)
        budget.cost_is_known = all(each.cost_is_known for each in spent)

    def _settle(self, account: Account, settled: Settled) -> None:
        """Learn from what became of a question, and give back what was reserved for it."""
        reservation = account.reserved.pop(settled.number, None)
        if reservation is None:
            account.questions = [each for each in account.questions if each[0] != settled.number]
            return
        if settled.is_lost:
            self._budget.give_up(reservation)
        elif settled.cost is not None:  # what is counted here is set by the sums of all workers
            self._budget.end(None, (Attempt(kind="reply"),), cost=settled.cost, reservation=reservation)
        self._budget.release(reservation)

    def lose(self, account: Account) -> None:
        """Close the account of a worker that died: whatever it had may have been used."""
        account.is_lost = True
        account.questions.clear()
        for number in list(account.reserved):
            self._settle(account, Settled(number, is_lost=True))

    def reserve(self, account: Account) -> list[int]:
        """Return the questions of a worker for which what they may cost is reserved now."""
        reserved = []
        while account.questions:
            number, question = account.questions[0]
            if (reservation := self._budget.reserve(question)) is None:
                break
            account.reserved[number] = reservation
            reserved.append(number)
            account.questions.pop(0)
        return reserved

    def refusal(self, account: Account) -> Failure | None:
        """Say why the next question of a worker cannot be paid for."""
        if not account.questions:
            return None
        why = self._budget.used_up or self._budget.refusal(account.questions[0][1])
        return None if why is None else Failure(BUDGET, why)

    def let_through(self, account: Account) -> list[int]:
        """Return which of the requests that a worker waits for may be sent now."""
        passed = []
        while account.waiting:
            request = account.waiting[0]
            key = (request.account, request.model)
            rate = self._rates.setdefault(key, RateLimit(rpm=request.rpm, tpm=request.tpm))
            if rate.take(request.tokens) > 0:
                break
            passed.append(account.waiting.pop(0).number)
        return passed

    def lend(self, account: Account) -> int:
        """Return how many calls a worker gets now."""
        if not self.is_limited or not account.wanted:
            return 0
        calls = max(min(account.wanted + _SPARE, self._calls_left()), 0)
        account.lent += calls
        account.wanted = max(account.wanted - calls, 0)
        return calls

    @property
    def is_short(self) -> bool:
        """Whether workers should give back what they do not need at once: another one waits for it."""
        return any(account.wanted for account in self._accounts if not account.is_lost)

    def used_up(self) -> Failure | None:
        """Say that the calls are used up: somebody waits for a call, nobody has one left, and none may be lent."""
        under_way = sum(account.unused + account.asking for account in self._accounts if not account.is_lost)
        if not self.is_short or under_way or self._calls_left() > 0:
            return None
        return Failure(BUDGET, self._budget.used_up or f"max_calls: {self._limits.max_calls} calls were allowed")

    def _calls_left(self) -> int:
        most = self._limits.max_calls
        if most is None:
            return 1 << 30
        return most - sum(max(account.lent, account.spent.calls) for account in self._accounts)
