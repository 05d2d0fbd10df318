"""How many tokens a question and its reply will have, before it is asked."""

from __future__ import annotations

import math
from typing import Final

from evenhand.domain.ask import Ask
from evenhand.domain.contract import Checks, FieldContract
from evenhand.domain.evaluation import Usage
from evenhand.models.prices import PriceBook, batch_price, cost

CHARACTERS_A_TOKEN: Final = 4
# Outside ASCII a token holds less: in most scripts a character or two.
OTHER_CHARACTERS_A_TOKEN: Final = 1.5
# How long the reply of a judge is taken to be.
JUDGMENT_TOKENS: Final = 200
ITEM_TOKENS: Final = 50


def tokens_in(text: str) -> int:
    """Guess how many tokens a text has.

    >>> tokens_in("Capital of France?"), tokens_in("フランスの首都")
    (5, 5)
    """
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return math.ceil(plain / CHARACTERS_A_TOKEN + (len(text) - plain) / OTHER_CHARACTERS_A_TOKEN)


def expected_usage(ask: Ask, reply_tokens: int | None = None) -> Usage:
    """Return the tokens that a question is expected to take; ``reply_tokens`` are those of its reply, if known."""
    return Usage(
        input_tokens=sum(tokens_in(message.content) for message in ask.messages),
        output_tokens=_reply_tokens(ask) if reply_tokens is None else reply_tokens,
    )


def expected_cost(ask: Ask, usage: Usage, prices: PriceBook, *, batch: bool = False) -> float | None:
    """Return what a question is expected to cost, in dollars; None where the price is unknown."""
    price = prices.price_of(ask.judge.name)
    if price is None or not price.covers(usage.input_tokens):
        return None
    return cost(usage, batch_price(ask.judge.name, price) if batch else price)


def _reply_tokens(ask: Ask) -> int:
    if ask.max_tokens is not None:
        return min(ask.max_tokens, JUDGMENT_TOKENS)
    items = 0
    if isinstance(ask.contract, FieldContract):
        items = sum(len(field.items) for field in ask.contract.fields if isinstance(field, Checks))
    return JUDGMENT_TOKENS + items * ITEM_TOKENS
