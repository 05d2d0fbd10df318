"""Replies in the cache: the key that finds one, and how it is written and read."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from evenhand.domain.ask import Ask
from evenhand.domain.contract import Contract, FieldContract
from evenhand.domain.evaluation import MAX_RAW, Attempt, usage_dict
from evenhand.domain.json_codec import usage_from
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, TokenChoice
from evenhand.engine.identity import canonical, hashed
from evenhand.store.replies import FoundReply
from evenhand.store.rows import reply_row

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


class KeptReplies:
    """The replies of one evaluation that the cache may keep, until it is known which were of use."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: list[tuple[str, str, Reply]] = []

    def note(self, reply: Reply, ask: Ask, key: str | None) -> Reply:
        """Note a reply for the cache, or shorten one that is too long to be used."""
        if len(reply.text) > MAX_RAW and ask.contract is not None:
            # No verdict is that long. It will be asked for again, and what cannot be used need not be held meanwhile.
            *earlier, last = reply.attempts
            return replace(reply, attempts=(*earlier, last.shortened()))
        if key is not None and (reply.finish == "stop" or ask.max_tokens == 1):  # one token is all it was to say
            self._kept.append((key, ask.judge.name, reply))
        return reply

    def rows(self, attempts: tuple[Attempt, ...]) -> list[tuple[Any, ...]]:
        """Return the replies as rows, those that the evaluation found no fault with."""
        rows: list[tuple[Any, ...]] = []
        for key, model, reply in self._kept:
            for place, attempt in enumerate(attempts):
                if attempt is reply.attempts[-1] and attempt.error is None:
                    if attempt.raw == reply.text:
                        rest = first_token_to(reply) if reply.first_token else None
                        rows.append(FoundReply(key, model, place, len(reply.text), rest))
                    else:  # it is nowhere else in these words
                        rows.append(reply_row(key, model, reply_to(reply)))
                    break
        return rows
