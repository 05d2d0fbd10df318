"""Replies that came in a batch: how they are kept until their evaluation is committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evenhand.domain.evaluation import usage_dict
from evenhand.domain.json_codec import usage_from
from evenhand.domain.reply import Reply, TokenChoice


def number_in(custom_id: str, key: str) -> int:
    """Return the number of a request in its batch; -1 for an id that is none of it."""
    start, _, number = custom_id.rpartition("-")
    return int(number) if start == key and number.isdecimal() and len(number) < 9 else -1


def kept_reply(reply: Reply) -> dict[str, Any]:
    """Write a reply for the store."""
    last = reply.attempts[-1]
    kept: dict[str, Any] = {"text": reply.text, "finish": reply.finish, "usage": usage_dict(last.usage)}
    if last.model is not None:
        kept["model"] = last.model
    if reply.first_token:
        kept["first_token"] = [[choice.token, choice.logprob] for choice in reply.first_token]
    return kept


def reply_of(kept: Mapping[str, Any]) -> Reply:
    """Read a reply from the store; its one attempt says that it was asked in a batch."""
    reply = Reply.said(
        kept["text"],
        finish=kept["finish"],
        usage=usage_from(kept["usage"]),
        model=kept.get("model"),
        first_token=tuple(TokenChoice(token=token, logprob=chance) for token, chance in kept.get("first_token", ())),
    )
    return replace(reply, attempts=(replace(reply.attempts[-1], batch=True),))
