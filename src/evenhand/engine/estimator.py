"""What a run will take, before a cent is spent (SPEC-S4).

Nothing is sent. Each evaluator is let go as far as its first questions, which are counted and measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from evenhand.domain.ask import Ask, Call, Evaluator, Exec, Steps, Want
from evenhand.domain.case import Case
from evenhand.domain.contract import Checks, FieldContract
from evenhand.domain.evaluation import Evaluation, Usage
from evenhand.domain.run import PlannedCase
from evenhand.domain.verdict import Verdict
from evenhand.engine.budget import Budget, Limits
from evenhand.engine.estimate import (
    ANSWER_TOKENS,
    CHARACTERS_A_TOKEN,
    ITEM_TOKENS,
    JUDGMENT_TOKENS,
    OTHER_CHARACTERS_A_TOKEN,
    Estimate,
    ModelEstimate,
)
from evenhand.engine.gateway import Gateway, cache_key
from evenhand.engine.job import Job, Scope
from evenhand.engine.plan import planned_cases
from evenhand.engine.target import Target
from evenhand.evaluators.aggregators import ByModel, ByProgram, Member
from evenhand.evaluators.asking import DEFAULT_ATTEMPTS
from evenhand.evaluators.composite import CompositeEvaluator
from evenhand.models.prices import PriceBook, cost
from evenhand.store.store import Store


def estimate(
    cases: Iterable[PlannedCase],
    evaluators_for: Callable[[PlannedCase], Sequence[Evaluator]],
    *,
    target: Target | None,
    repeat: int,
    prices: PriceBook,
    cached: Callable[[Ask, int], bool],
) -> Estimate:
    """Estimate a run; the cases stream. The target answers those that bring no answer.

    ``cached`` tells whether the reply to a question is in the cache, in each of the repeats, from 0: such replies are
    free. That of a question about an answer which is still to be made cannot be there.
    """
    tally = _Tally(prices=prices, cached=cached, repeat=repeat)
    count = 0
    for planned in cases:
        count += 1
        case, is_known = planned.case, True
        if target is not None and case.candidate_answer is None:
            answer = case.reference_answer or "." * (ANSWER_TOKENS * CHARACTERS_A_TOKEN)
            tally.count(target.steps(case), attempts=1, reply_tokens=tokens_in(answer))
            case, is_known = replace(case, candidate_answer=answer), False
        for evaluator in evaluators_for(planned):
            for steps, attempts in _all_steps(evaluator, case):
                tally.count(steps, attempts=attempts, is_known=is_known)
    return Estimate(
        cases=count,
        repeat=repeat,
        models=tuple(tally.models[name] for name in sorted(tally.models)),
        programs=tally.programs,
        functions=tally.functions,
    )


def tokens_in(text: str) -> int:
    """Guess how many tokens a text has.

    >>> tokens_in("Capital of France?"), tokens_in("フランスの首都")
    (5, 5)
    """
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return math.ceil(plain / CHARACTERS_A_TOKEN + (len(text) - plain) / OTHER_CHARACTERS_A_TOKEN)


@dataclass(slots=True, kw_only=True)
class _Tally:
    """Counts wants as they come."""

    prices: PriceBook
    cached: Callable[[Ask, int], bool]
    repeat: int
    models: dict[str, ModelEstimate] = field(default_factory=dict)
    programs: int = 0
    functions: int = 0

    def count(
        self, steps: Steps[Any], *, attempts: int, reply_tokens: int | None = None, is_known: bool = True
    ) -> None:
        """Count what a step generator wants first; ``is_known`` tells whether that is known to the letter."""
        for want in _first_wants(steps):
            match want:
                case Ask():
                    self._ask(want, attempts, _reply_tokens(want) if reply_tokens is None else reply_tokens, is_known)
                case Exec():
                    self.programs += self.repeat
                case Call():
                    self.functions += self.repeat

    def _ask(self, ask: Ask, attempts: int, reply_tokens: int, is_known: bool) -> None:
        name = ask.judge.name
        so_far = self.models.get(name) or ModelEstimate(model=name)
        free = sum(is_known and self.cached(ask, sample) for sample in range(self.repeat))
        calls = self.repeat - free
        # Without a contract any reply will do, and is never asked for again.
        most_calls = calls * (attempts if ask.contract is not None else 1)
        usage = Usage(
            input_tokens=sum(tokens_in(message.content) for message in ask.messages),
            output_tokens=reply_tokens,
        )
        price = self.prices.price_of(name)
        each = None if price is None or not price.covers(usage.input_tokens) else cost(usage, price)
        self.models[name] = replace(
            so_far,
            calls=so_far.calls + calls,
            most_calls=so_far.most_calls + most_calls,
            cached=so_far.cached + free,
            input_tokens=so_far.input_tokens + calls * usage.input_tokens,
            output_tokens=so_far.output_tokens + calls * usage.output_tokens,
            low=_plus(so_far.low, calls, each),
            high=_plus(so_far.high, most_calls, each),
        )


def _first_wants(steps: Steps[Any]) -> tuple[Want, ...]:
    try:
        return next(steps)
    except StopIteration:  # there is nothing that it would have to ask
        return ()
    finally:
        steps.close()


def _all_steps(evaluator: Evaluator, case: Case) -> Iterator[tuple[Steps[Any], int]]:
    """Yield the steps of an evaluator, or of a composite's members and meta-judge, and how often each may ask."""
    if not isinstance(evaluator, CompositeEvaluator):
        yield evaluator.steps(case), _attempts(evaluator)
        return
    members = cast("tuple[Evaluator, ...]", evaluator.members)
    for member in members:
        yield from _all_steps(member, case)
    # A meta-judge asks when the members have answered, which nobody can wait for here.
    if isinstance(evaluator.aggregator, (ByModel, ByProgram)) and case.candidate_answer is not None:
        steps = evaluator.aggregator.steps(case, [_assumed(member) for member in members])
        yield steps, _attempts(evaluator.aggregator.judge)


def _attempts(evaluator: Evaluator) -> int:
    attempts = getattr(evaluator, "max_attempts", None)
    return attempts if isinstance(attempts, int) else DEFAULT_ATTEMPTS


def _assumed(member: Evaluator) -> Member:
    evaluation = Evaluation.with_score(
        evaluator=member.name,
        type=member.type,
        score=1.0,
        verdict=Verdict.PASS,
        reasoning="." * (JUDGMENT_TOKENS * CHARACTERS_A_TOKEN),
    )
    return Member(name=member.name, evaluation=evaluation, weight=member.weight, required=member.required)


def _reply_tokens(ask: Ask) -> int:
    if ask.max_tokens is not None:
        return min(ask.max_tokens, JUDGMENT_TOKENS)
    items = 0
    if isinstance(ask.contract, FieldContract):
        items = sum(len(one.items) for one in ask.contract.fields if isinstance(one, Checks))
    return JUDGMENT_TOKENS + items * ITEM_TOKENS


def _plus(so_far: float | None, calls: int, each: float | None) -> float | None:
    if calls == 0 or so_far is None:
        return so_far
    return None if each is None else so_far + calls * each


def forecast(store: Store, job: Job, scope: Scope, *, use_cache: bool) -> Estimate:
    """Estimate a run."""
    gateway = Gateway(store, budget=Budget(Limits()), prices=job.prices, concurrency=1, use_cache=use_cache)

    def cached(ask: Ask, sample: int) -> bool:
        _, _, identity = gateway.known(ask.judge)
        if identity is None:
            return False
        key = cache_key(identity, ask, sample)
        return key in gateway.remembered and store.reply(key) is not None

    return estimate(
        (one.given for one in planned_cases(store, job, scope)),
        job.evaluators_for,
        target=job.target,
        repeat=scope.repeat,
        prices=job.prices,
        cached=cached,
    )
