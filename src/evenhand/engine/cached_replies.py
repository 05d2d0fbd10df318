"""Replies in the cache: the key that finds one, and how it is written and read."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from evenhand.domain.ask import Ask
from evenhand.domain.contract import Contract, FieldContract
from evenhand.domain.evaluation import Attempt, usage_dict
from evenhand.domain.json_codec import usage_from
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, TokenChoice
from evenhand.engine.identity import canonical, hashed

# Replies that were read by other rules are other replies.
_READING = 1


def cache_key(identity: bytes, ask: Ask, sample: int) -> str:
    """Hash everything that decides on a reply, and the number of the sample; what is of any length comes with it."""
    form = "" if ask.contract is None else _contract_form(ask.contract)
    settings = f"{_READING} {sample} {ask.sample} {ask.top_logprobs} {ask.room} {ask.max_tokens}"
    messages = ask.messages
    # Often the longest, and the same for all cases. Not with further keys: True and 1 are equal, and not the same.
    if messages and messages[0].role == "system" and not messages[0].more:
        key = _beginning(identity, form, settings, messages[0]).copy()
        messages = messages[1:]
    else:
        key = _beginning(identity, form, settings).copy()
    for message in messages:
        key.update(_message_bytes(message))
    return key.hexdigest()


@functools.lru_cache(maxsize=16)
def _beginning(identity: bytes, form: str, settings: str, first: Message | None = None) -> hashlib.blake2b:
    head = f"{len(identity)} {len(form)} {settings} ".encode()
    return hashed(b"".join((head, identity, form.encode(), b"" if first is None else _message_bytes(first))))


def _message_bytes(message: Message) -> bytes:
    role, content = message.role, message.content
    more = canonical(message.more).decode() if message.more else ""
    return f"{len(role)} {len(content)} {len(more)} {role}{content}{more}".encode("utf-8", "surrogatepass")


def _contract_form(contract: Contract) -> str:
    written = contract.written if isinstance(contract, FieldContract) else None
    return orjson.dumps([contract.name, contract.schema()]).decode() if written is None else written


def reply_to(reply: Reply) -> dict[str, Any]:
    """Write a reply for the cache."""
    last = reply.attempts[-1]
    stated = {} if last.model is None else {"model": last.model}
    return {"text": reply.text, "usage": usage_dict(last.usage), **stated, **first_token_to(reply)}


def first_token_to(reply: Reply) -> dict[str, Any]:
    """Write what a reply has beside its words: the alternatives for its first token, if any."""
    choices = [[choice.token, choice.logprob] for choice in reply.first_token]
    return {"first_token": choices} if choices else {}


def reply_from(stored: Mapping[str, Any]) -> Reply:
    """Read a reply from the cache; its one attempt says that it is from there."""
    attempt = Attempt(
        kind="reply",
        raw=stored["text"],
        usage=usage_from(stored["usage"]),
        cached=True,
        model=stored.get("model"),
    )
    choices = tuple(TokenChoice(token=token, logprob=chance) for token, chance in stored.get("first_token", ()))
    return Reply(text=stored["text"], attempts=(attempt,), first_token=choices)
