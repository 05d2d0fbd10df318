"""Ollama's own chat API."""

from __future__ import annotations

from typing import Any

from evenhand.domain.ask import Ask
from evenhand.domain.evaluation import token_usage
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
)


def encode(ask: Ask, generation: Generation) -> dict[str, Any]:
    """Make the request body for an ask; a contract's schema becomes the grammar of the reply."""
    body: dict[str, Any] = {
        "model": generation.model,
        "messages": [message.as_dict() for message in ask.messages],
        "stream": False,
    }
    options = generation.sampling()
    if (limit := generation.limit(ask)) is not None:
        options["num_predict"] = limit
    if options:
        body["options"] = options
    if ask.contract is not None and generation.structured != "none":
        body["format"] = ask.contract.schema() if generation.structured == "json_schema" else "json"
    if ask.top_logprobs:
        body |= {"logprobs": True, "top_logprobs": ask.top_logprobs}
    return merged(body, generation.extra_body)


def decode(body: Any) -> Said:
    """Read a response body."""
    whole = reply_in(body, "message")
    tokens = listing(whole.get("logprobs"))
    return Said(
        text=text_of(mapping(whole["message"]).get("content")),
        finish="length" if whole.get("done_reason") == "length" else "stop",
        usage=token_usage(whole.get("prompt_eval_count"), whole.get("eval_count")),
        first_token=alternatives(mapping(tokens[0]).get("top_logprobs"), logprob="logprob") if tokens else (),
        model=stated_model(whole.get("model")),
    )


OLLAMA = Dialect(encode=encode, decode=decode)
