"""What a run is expected to take, before anything is spent: calls, tokens and dollars (SPEC-S4).

Nothing is sent. Each evaluator is let go as far as its first questions, which are counted and measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from evenhand.domain.ask import Ask, Call, Evaluator, Exec, Steps
from evenhand.domain.run import PlannedCase
from evenhand.domain.run_kind import RANKING, mode_of
from evenhand.engine.budget import Budget, Limits
from evenhand.engine.cached_replies import cache_key
from evenhand.engine.first_steps import all_steps, first_wants
from evenhand.engine.gateway import Gateway
from evenhand.engine.job import Job, Scope
from evenhand.engine.plan import planned_cases
from evenhand.engine.targets.base import Target
from evenhand.engine.token_estimate import (
    CHARACTERS_A_TOKEN,
    ITEM_TOKENS,
    JUDGMENT_TOKENS,
    OTHER_CHARACTERS_A_TOKEN,
    expected_cost,
    expected_usage,
    tokens_in,
)
from evenhand.models.prices import PRICES_AS_OF, PriceBook
from evenhand.store.store import Store

ANSWER_TOKENS: Final = 200

RULES: Final = (
    f"Tokens are estimated: {CHARACTERS_A_TOKEN} characters per token in ASCII, {OTHER_CHARACTERS_A_TOKEN} otherwise.",
    f"A judge's reply is assumed to be {JUDGMENT_TOKENS} tokens long, plus {ITEM_TOKENS} for each rubric item.",
    f"An answer yet to be generated is assumed to be as long as the reference answer, or {ANSWER_TOKENS} tokens.",
    "Reasoning tokens are billed too, but are not included in these figures.",
    "The upper end assumes that every question takes as many attempts as are allowed.",
)
# The same for profiles, which have no rubrics, and answers already.
_PROFILE_RULES: Final = (RULES[0], f"A judge's reply is assumed to be {JUDGMENT_TOKENS} tokens long.", *RULES[3:])
BATCH_RULE: Final = "Dollars are at the batch price, which is half the price of single requests."
CASCADE_RULE: Final = (
    "The lower end assumes that the first stage of a cascade always decides, the upper end that all stages are asked."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEstimate:
    """What one model will be asked; the cost is None where its price is unknown.

    ``cached`` counts questions whose replies are in the cache: they are not asked, and in none of the other figures.
    """

    model: str
    calls: int = 0
    most_calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    low: float | None = 0.0
    high: float | None = 0.0
    # What the same would cost without batches.
    low_alone: float | None = 0.0
    high_alone: float | None = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        return {
            "model": self.model,
            "calls": {"low": self.calls, "high": self.most_calls},
            "cached": self.cached,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": _range(self.low, self.high),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run will take; ``programs`` and ``functions`` count what is run and called, on this machine.

    ``noun`` is what a case of the run is.
    """

    cases: int
    repeat: int
    models: tuple[ModelEstimate, ...] = ()
    programs: int = 0
    functions: int = 0
    has_cascade: bool = False
    batch: bool = False
    noun: str = "case"

    @property
    def saving(self) -> tuple[float, float] | None:
        """How many dollars batches save, at least and at most; None where a price is unknown."""
        low, high = _sum(model.low_alone for model in self.models), _sum(model.high_alone for model in self.models)
        if low is None or high is None or self.low is None or self.high is None:
            return None
        return low - self.low, high - self.high

    @property
    def calls(self) -> int:
        """How many questions will be asked at least."""
        return sum(model.calls for model in self.models)

    @property
    def most_calls(self) -> int:
        """How many questions will be asked at most, when each judgment has to be asked for again and again."""
        return sum(model.most_calls for model in self.models)

    @property
    def cached(self) -> int:
        """How many questions have their replies in the cache."""
        return sum(model.cached for model in self.models)

    @property
    def low(self) -> float | None:
        """The lower end of the cost, in dollars; None where a price is unknown."""
        return _sum(model.low for model in self.models)

    @property
    def high(self) -> float | None:
        """The upper end of the cost, in dollars; None where a price is unknown."""
        return _sum(model.high for model in self.models)

    @property
    def rules(self) -> tuple[str, ...]:
        """What the figures assume."""
        rules = RULES if self.noun == "case" else _PROFILE_RULES
        return (*rules, CASCADE_RULE) if self.has_cascade else rules

    @property
    def in_short(self) -> str:
        """The estimate in one line: calls, tokens, dollars."""
        tokens = sum(model.input_tokens for model in self.models)
        parts = [f"{_format_range(self.calls, self.most_calls)} call{'' if self.most_calls == 1 else 's'} to models"]
        parts += [f"{self.cached:,} from the cache"] if self.cached else []
        parts.append(f"about {tokens:,} tokens in")
        parts.append(f"{_dollars(self.low, self.high)} dollars{' at the batch price' if self.batch else ''}")
        return ", ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Return the estimate as plain JSON values; an unknown cost is null."""
        return {
            "cases": self.cases,
            "repeat": self.repeat,
            "calls": {"low": self.calls, "high": self.most_calls},
            "cached": self.cached,
            "programs": self.programs,
            "functions": self.functions,
            "models": [model.as_dict() for model in self.models],
            "cost": _range(self.low, self.high),
            "prices_as_of": PRICES_AS_OF,
            "rules": list(self.rules),
            **({"batch": {"saving": None if self.saving is None else _range(*self.saving)}} if self.batch else {}),
        }

    def text(self) -> str:
        """Return the estimate as text for people."""
        parts = [_format_count(self.cases, self.noun) + (f", {self.repeat} times each" if self.repeat > 1 else "")]
        parts.append(
            f"{_format_range(self.calls, self.most_calls)} call{'' if self.most_calls == 1 else 's'} to models"
        )
        replies = "reply" if self.cached == 1 else "replies"
        parts += [f"{self.cached:,} {replies} from the cache"] if self.cached else []
        parts += [_format_count(self.programs, "program run")] if self.programs else []
        parts += [_format_count(self.functions, "function call")] if self.functions else []
        rows = [("model", "calls", "input tokens", "output tokens", "dollars")]
        rows += [
            (
                model.model,
                _format_range(model.calls, model.most_calls),
                f"{model.input_tokens:,}",
                f"{model.output_tokens:,}",
                _dollars(model.low, model.high),
            )
            for model in self.models
        ]
        rows.append(("total", _format_range(self.calls, self.most_calls), "", "", _dollars(self.low, self.high)))
        notes = [] if not self.batch else [BATCH_RULE]
        if self.batch and self.saving is not None:
            notes.append(f"Batches save {_dollars(*self.saving)} dollars.")
        notes += [*self.rules, f"Prices are as of {PRICES_AS_OF}, or your own; unknown ones can be set under 'prices'."]
        return "\n".join([", ".join(parts), "", *_table(rows), "", *notes])


def _sum(costs: Iterable[float | None]) -> float | None:
    total = 0.0
    for amount in costs:
        if amount is None:
            return None
        total += amount
    return total


def _range(low: float | None, high: float | None) -> dict[str, float] | None:
    return None if low is None or high is None else {"low": low, "high": high}


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _format_range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _dollars(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "unknown"
    return _amount(low) if _amount(low) == _amount(high) else f"{_amount(low)} to {_amount(high)}"


def _amount(dollars: float) -> str:
    """Write an amount in cents, or to two digits where that would be nothing."""
    if 0 < dollars < 0.0001:
        return "<0.0001"
    return f"{dollars:,.2f}" if dollars == 0 or dollars >= 0.1 else f"{dollars:.2g}"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]


def estimate(
    cases: Iterable[PlannedCase],
    evaluators_for: Callable[[PlannedCase], Sequence[Evaluator]],
    *,
    target: Target | None,
    repeat: int,
    prices: PriceBook,
    cached: Callable[[Ask, int], bool],
    batch: bool = False,
) -> Estimate:
    """Estimate a run; the cases stream. The target answers those that bring no answer.

    ``cached`` says whether the reply to a question is in the cache, in each of the repeats, from 0: such replies are
    free. That of a question about an answer which is still to be made cannot be there. With ``batch``, everything is
    asked in batches.
    """
    tally = _Tally(prices=prices, cached=cached, repeat=repeat, batch=batch)
    count = 0
    for planned in cases:
        count += 1
        case, is_known = planned.case, True
        if target is not None and case.candidate_answer is None:
            answer = case.reference_answer or "." * (ANSWER_TOKENS * CHARACTERS_A_TOKEN)
            tally.count(target.steps(case), attempts=1, reply_tokens=tokens_in(answer))
            case, is_known = replace(case, candidate_answer=answer), False
        for evaluator in evaluators_for(planned):
            for steps, attempts, is_sure in all_steps(evaluator, case):
                tally.count(steps, attempts=attempts, is_known=is_known, is_sure=is_sure)
    return Estimate(
        cases=count,
        repeat=repeat,
        models=tuple(tally.models[name] for name in sorted(tally.models)),
        programs=tally.programs,
        functions=tally.functions,
        has_cascade=tally.has_cascade,
        batch=batch,
    )


@dataclass(slots=True, kw_only=True)
class _Tally:
    """Counts wants as they come."""

    prices: PriceBook
    cached: Callable[[Ask, int], bool]
    repeat: int
    batch: bool = False
    models: dict[str, ModelEstimate] = field(default_factory=dict)
    programs: int = 0
    functions: int = 0
    has_cascade: bool = False

    def count(
        self,
        steps: Steps[Any],
        *,
        attempts: int,
        reply_tokens: int | None = None,
        is_known: bool = True,
        is_sure: bool = True,
    ) -> None:
        """Count what a step generator wants first; ``is_known`` says whether that is known to the letter.

        What is not sure to be wanted at all counts at the upper end only.
        """
        self.has_cascade = self.has_cascade or not is_sure
        for want in first_wants(steps):
            match want:
                case Ask():
                    self._ask(want, attempts, reply_tokens, is_known, is_sure)
                case Exec():
                    self.programs += self.repeat
                case Call():
                    self.functions += self.repeat

    def _ask(self, ask: Ask, attempts: int, reply_tokens: int | None, is_known: bool, is_sure: bool) -> None:
        name = ask.judge.name
        so_far = self.models.get(name) or ModelEstimate(model=name)
        free = sum(is_known and self.cached(ask, sample) for sample in range(self.repeat))
        calls = self.repeat - free
        # Without a contract any reply will do, and is never asked for again.
        most_calls = calls * (attempts if ask.contract is not None else 1)
        calls, free = (calls, free) if is_sure else (0, 0)
        usage = expected_usage(ask, reply_tokens)
        each = expected_cost(ask, usage, self.prices, batch=self.batch)
        alone = expected_cost(ask, usage, self.prices)
        self.models[name] = replace(
            so_far,
            calls=so_far.calls + calls,
            most_calls=so_far.most_calls + most_calls,
            cached=so_far.cached + free,
            input_tokens=so_far.input_tokens + calls * usage.input_tokens,
            output_tokens=so_far.output_tokens + calls * usage.output_tokens,
            low=_plus(so_far.low, calls, each),
            high=_plus(so_far.high, most_calls, each),
            low_alone=_plus(so_far.low_alone, calls, alone),
            high_alone=_plus(so_far.high_alone, most_calls, alone),
        )


def _plus(so_far: float | None, calls: int, each: float | None) -> float | None:
    if calls == 0 or so_far is None:
        return so_far
    return None if each is None else so_far + calls * each


def forecast(store: Store, job: Job, scope: Scope, *, use_cache: bool) -> Estimate:
    """Estimate a run, at the batch price if it asks in batches."""
    gateway = Gateway(store, budget=Budget(Limits()), prices=job.prices, concurrency=1, use_cache=use_cache)
    found = estimate(
        (written.given for written in planned_cases(store, job, scope)),
        job.evaluators_for,
        target=job.target,
        repeat=scope.repeat,
        prices=job.prices,
        cached=cached_replies(store, gateway),
        batch=scope.batch,
    )
    return replace(found, noun={None: "case", RANKING: "group"}.get(mode_of(job.definition), "profile"))


def cached_replies(store: Store, gateway: Gateway) -> Callable[[Ask, int], bool]:
    """Return a function that says whether the reply to a question is in the cache, for a sample."""

    def cached(ask: Ask, sample: int) -> bool:
        identity = gateway.entry_of(ask.judge).identity
        if identity is None:
            return False
        key = cache_key(identity, ask, sample)
        return key in gateway.remembered and store.reply(key) is not None

    return cached
