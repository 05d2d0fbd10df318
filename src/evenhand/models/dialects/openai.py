"""OpenAI's chat completions, which many other servers speak too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evenhand.domain.ask import Ask
from evenhand.domain.evaluation import Usage, token_usage
from evenhand.domain.reply import Finish, TokenChoice
from evenhand.models.dialects.dialect import (
    Dialect,
    Generation,
    Said,
    alternatives,
    listing,
    mapping,
    merged,
    reply_in,
    stated_model,
    text_of,
    without_structure,
)
from evenhand.models.retry import TransportFault

_LIMIT, _LIMIT_OF_REASONERS = "max_tokens", "max_completion_tokens"
_FINISHES: Mapping[str, Finish] = {"length": "length", "model_length": "length", "content_filter": "filtered"}
# The server's own trouble, reported as a reason to stop.
_BROKEN = frozenset({"error", "insufficient_system_resource"})


def encode(ask: Ask, generation: Generation) -> dict[str, Any]:
    """Make the request body for an ask."""
    body: dict[str, Any] = {"model": generation.model, "messages": [message.as_dict() for message in ask.messages]}
    body |= generation.sampling(**generation.names)
    if (limit := generation.limit(ask)) is not None:
        body[generation.names.get(_LIMIT, _LIMIT)] = limit
    if (form := _response_format(ask, generation)) is not None:
        body["response_format"] = form
    if ask.top_logprobs:
        body |= {"logprobs": True, "top_logprobs": ask.top_logprobs}
    return merged(body, generation.extra_body)


def _response_format(ask: Ask, generation: Generation) -> dict[str, Any] | None:
    if ask.contract is None or generation.structured == "none":
        return None
    schema = ask.contract.schema()
    if schema.get("type") != "object":  # the only root that these decoders know
        return None
    if generation.structured == "json_object":
        return {"type": "json_object"}
    form: dict[str, Any] = {"name": ask.contract.name, "schema": schema}
    if generation.strict and ask.contract.closed:
        form["strict"] = True
    return {"type": "json_schema", "json_schema": form}


def decode(body: Any) -> Said:
    """Read a response body."""
    whole = reply_in(body, "choices")
    choices = whole["choices"]
    usage, model = _usage(whole.get("usage")), stated_model(whole.get("model"))
    if not isinstance(choices, list) or not choices:
        return Said(text="", usage=usage, model=model)
    choice = mapping(choices[0])
    message = mapping(choice.get("message"))
    reason = text_of(choice.get("finish_reason"))
    if reason in _BROKEN:
        reply_in(choice, "message")  # raises what the choice itself complains of
        raise TransportFault("error_body", f"the server stopped with {reason!r}", retryable=True)
    refusal = message.get("refusal")
    if refusal and isinstance(refusal, str):
        return Said(text=refusal, finish="refusal", usage=usage, model=model)
    logprobs = choice.get("logprobs")
    return Said(
        text=content if isinstance(content := message.get("content"), str) else _text(content),
        finish=_FINISHES.get(reason, "stop"),
        usage=usage,
        first_token=_first_token(logprobs) if logprobs else (),
        model=model,
    )


def _first_token(logprobs: object) -> tuple[TokenChoice, ...]:
    tokens = listing(mapping(logprobs).get("content"))
    return alternatives(mapping(tokens[0]).get("top_logprobs"), logprob="logprob") if tokens else ()


def _text(parts: object) -> str:
    """Join the text of content that comes in parts, without the parts that are a model's thoughts."""
    return "".join(text_of(mapping(part).get("text")) for part in listing(parts))


def _usage(usage: object) -> Usage | None:
    if not usage or not isinstance(usage, dict):
        return None
    details = mapping(usage.get("prompt_tokens_details"))
    # DeepSeek says beside the prompt what others say in its details.
    cached = details["cached_tokens"] if "cached_tokens" in details else usage.get("prompt_cache_hit_tokens", 0)
    kept = details.get("cache_write_tokens")  # OpenRouter's name
    return token_usage(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached, kept)


def otherwise(generation: Generation, complaint: str) -> Generation | None:
    """Call the token limit by its other name where a server refuses the one; else give up structured output."""
    sent = generation.names.get(_LIMIT, _LIMIT)
    if re.search(rf"(?<!\w){sent}(?!\w)", complaint) and re.search(_REFUSAL, complaint, re.IGNORECASE):
        other = _LIMIT if sent == _LIMIT_OF_REASONERS else _LIMIT_OF_REASONERS
        return replace(generation, names={**generation.names, _LIMIT: other})
    return without_structure(generation, complaint)


_REFUSAL = r"unsupported|unrecognized|unknown|not (?:supported|permitted|allowed)|extra inputs"

OPENAI = Dialect(encode=encode, decode=decode, otherwise=otherwise)
