"""What a run is expected to take: calls, tokens and dollars, as a range, and by which rules that was guessed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evenhand.models.prices import PRICES_AS_OF

CHARACTERS_A_TOKEN: Final = 4
# Outside ASCII a token holds less: in most scripts a character or two.
OTHER_CHARACTERS_A_TOKEN: Final = 1.5
JUDGMENT_TOKENS: Final = 200
ITEM_TOKENS: Final = 50
ANSWER_TOKENS: Final = 200

RULES: Final = (
    f"Tokens are estimated from characters: {CHARACTERS_A_TOKEN} a token in ASCII, else {OTHER_CHARACTERS_A_TOKEN}.",
    f"A judgment is assumed to be {JUDGMENT_TOKENS} tokens long, and {ITEM_TOKENS} more for each rubric item.",
    f"An answer still to be generated is assumed to be as long as the reference, or {ANSWER_TOKENS} tokens long.",
    "What a model thinks before it answers is billed too, and is not in these figures.",
    "The upper end: every judgment needs as many attempts as are allowed.",
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
    """What a run will take; ``programs`` and ``functions`` count what is run and called, on this machine."""

    cases: int
    repeat: int
    models: tuple[ModelEstimate, ...] = ()
    programs: int = 0
    functions: int = 0

    @property
    def calls(self) -> int:
        """How many questions will be asked at least."""
        return sum(one.calls for one in self.models)

    @property
    def most_calls(self) -> int:
        """How many questions will be asked at most, when each judgment has to be asked for again and again."""
        return sum(one.most_calls for one in self.models)

    @property
    def cached(self) -> int:
        """How many questions have their replies in the cache."""
        return sum(one.cached for one in self.models)

    @property
    def low(self) -> float | None:
        """The lower end of the cost, in dollars; None where a price is unknown."""
        return _sum(one.low for one in self.models)

    @property
    def high(self) -> float | None:
        """The upper end of the cost, in dollars; None where a price is unknown."""
        return _sum(one.high for one in self.models)

    @property
    def in_short(self) -> str:
        """The estimate in one line: calls, tokens, dollars."""
        tokens = sum(one.input_tokens for one in self.models)
        told = [f"{_between(self.calls, self.most_calls)} call{'' if self.most_calls == 1 else 's'} to models"]
        told += [f"{self.cached:,} from the cache"] if self.cached else []
        told.append(f"about {tokens:,} tokens in")
        told.append(f"{_dollars(self.low, self.high)} dollars")
        return ", ".join(told)

    def as_dict(self) -> dict[str, Any]:
        """Return the estimate as plain JSON values; an unknown cost is null."""
        return {
            "cases": self.cases,
            "repeat": self.repeat,
            "calls": {"low": self.calls, "high": self.most_calls},
            "cached": self.cached,
            "programs": self.programs,
            "functions": self.functions,
            "models": [one.as_dict() for one in self.models],
            "cost": _range(self.low, self.high),
            "prices_as_of": PRICES_AS_OF,
            "rules": list(RULES),
        }

    def text(self) -> str:
        """Tell the estimate to people."""
        told = [_counted(self.cases, "case") + (f", {self.repeat} times each" if self.repeat > 1 else "")]
        told.append(f"{_between(self.calls, self.most_calls)} call{'' if self.most_calls == 1 else 's'} to models")
        replies = "reply" if self.cached == 1 else "replies"
        told += [f"{self.cached:,} {replies} from the cache"] if self.cached else []
        told += [_counted(self.programs, "program")] if self.programs else []
        told += [_counted(self.functions, "function call")] if self.functions else []
        rows = [("model", "calls", "input tokens", "output tokens", "dollars")]
        rows += [
            (
                one.model,
                _between(one.calls, one.most_calls),
                f"{one.input_tokens:,}",
                f"{one.output_tokens:,}",
                _dollars(one.low, one.high),
            )
            for one in self.models
        ]
        rows.append(("in all", _between(self.calls, self.most_calls), "", "", _dollars(self.low, self.high)))
        notes = [*RULES, f"Prices are of {PRICES_AS_OF}, or your own; unknown ones can be given under 'prices'."]
        return "\n".join([", ".join(told), "", *_table(rows), "", *notes])


def _sum(costs: Iterable[float | None]) -> float | None:
    total = 0.0
    for one in costs:
        if one is None:
            return None
        total += one
    return total


def _range(low: float | None, high: float | None) -> dict[str, float] | None:
    return None if low is None or high is None else {"low": low, "high": high}


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _between(low: int, high: int) -> str:
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
