"""Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from evenhand.domain.ask import Ask
from evenhand.domain.evaluation import token_sum, token_usage
from evenhand.domain.reply import Finish
from evenhand.models.dialects.dialect import (
    Dialect,
    Generation,
    Said,
    listing,
    mapping,
    merged,
    reply_in,
    split_system,
    stated_model,
    text_of,
)
from evenhand.models.retry import TransportFault

# The API wants a limit in every request. A verdict with its reasons takes a few hundred tokens.
_USUAL_LIMIT = 4096
_FINISHES: Mapping[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


def encode(ask: Ask, generation: Generation) -> dict[str, Any]:
    """Make the request body for an ask; a contract becomes a tool that the model must call."""
    if ask.top_logprobs:
        raise TransportFault(
            "unsupported",
            "Anthropic's API gives no log-probabilities; use score_from 'text' or 'samples'",
            retryable=False,
        )
    system, turns = split_system(ask)
    body: dict[str, Any] = {
        "model": generation.model,
        "max_tokens": generation.limit(ask) or _USUAL_LIMIT * ask.room,
        "messages": [{"role": role, "content": content} for role, content in turns],
    }
    if system:
        body["system"] = system
    body |= generation.sampling()
    if ask.contract is not None and generation.structured != "none":
        schema = ask.contract.schema()
        if schema.get("type") == "object":
            body["tools"] = [{"name": ask.contract.name, "description": "Give the reply.", "input_schema": schema}]
            body["tool_choice"] = {"type": "tool", "name": ask.contract.name}
    return merged(body, generation.extra_body)


def decode(body: Any) -> Said:
    """Read a response body: the input of the tool call where there is one, else the text."""
    whole = reply_in(body, "content")
    blocks = [mapping(block) for block in listing(whole["content"])]
    called = [block["input"] for block in blocks if block.get("type") == "tool_use" and "input" in block]
    usage = mapping(whole.get("usage"))
    cached = usage.get("cache_read_input_tokens")
    return Said(
        text=json.dumps(called[0], ensure_ascii=False)
        if called
        else "".join(text_of(block.get("text")) for block in blocks),
        finish=_FINISHES.get(text_of(whole.get("stop_reason")), "stop"),
        # Here the cached tokens are counted beside the input, elsewhere within it.
        usage=token_usage(
            token_sum(usage.get("input_tokens"), usage.get("cache_creation_input_tokens"), cached),
            usage.get("output_tokens"),
            cached,
        ),
        model=stated_model(whole.get("model")),
    )


ANTHROPIC = Dialect(encode=encode, decode=decode)
