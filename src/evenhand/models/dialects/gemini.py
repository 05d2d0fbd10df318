"""Google's Gemini: ``generateContent``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.domain.ask import Ask
from evenhand.domain.evaluation import Usage, token_sum, token_usage
from evenhand.domain.reply import Finish
from evenhand.models.dialects.dialect import (
    Dialect,
    Generation,
    Said,
    alternatives,
    listing,
    mapping,
    merged,
    reply_in,
    split_system,
    stated_model,
    text_of,
)

_FINISHES: Mapping[str, Finish] = {
    "MAX_TOKENS": "length",
    "SAFETY": "filtered",
    "RECITATION": "filtered",
    "LANGUAGE": "filtered",
    "BLOCKLIST": "filtered",
    "PROHIBITED_CONTENT": "filtered",
    "SPII": "filtered",
}


def encode(ask: Ask, generation: Generation) -> dict[str, Any]:
    """Make the request body for an ask; the model's name is in the URL."""
    system, turns = split_system(ask)
    config = generation.sampling(top_p="topP")
    if (limit := generation.limit(ask)) is not None:
        config["maxOutputTokens"] = limit
    if ask.contract is not None and generation.structured != "none":
        config["responseMimeType"] = "application/json"
        if generation.structured == "json_schema":
            config["responseJsonSchema"] = ask.contract.schema()
    if ask.top_logprobs:
        config |= {"responseLogprobs": True, "logprobs": ask.top_logprobs}
    body: dict[str, Any] = {
        "contents": [
            {"role": "model" if role == "assistant" else "user", "parts": [{"text": content}]}
            for role, content in turns
        ]
    }
    if system:
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if config:
        body["generationConfig"] = config
    return merged(body, generation.extra_body)


def decode(body: Any) -> Said:
    """Read a response body; a prompt that was blocked has no candidates, only a reason."""
    whole = reply_in(body, "candidates", "promptFeedback", "usageMetadata")
    blocked = mapping(whole.get("promptFeedback")).get("blockReason")
    usage, model = _usage(whole.get("usageMetadata")), stated_model(whole.get("modelVersion"))
    candidates = listing(whole.get("candidates"))
    if not candidates:
        return Said(text="", finish="filtered" if blocked else "stop", usage=usage, model=model)
    candidate = mapping(candidates[0])
    parts = [mapping(part) for part in listing(mapping(candidate.get("content")).get("parts"))]
    tokens = listing(mapping(candidate.get("logprobsResult")).get("topCandidates"))
    return Said(
        text="".join(text_of(part.get("text")) for part in parts if not part.get("thought")),
        finish=_FINISHES.get(text_of(candidate.get("finishReason")), "stop"),
        usage=usage,
        first_token=alternatives(mapping(tokens[0]).get("candidates"), logprob="logProbability") if tokens else (),
        model=model,
    )


def _usage(value: object) -> Usage | None:
    usage = mapping(value)
    written = token_sum(usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount"))
    return token_usage(usage.get("promptTokenCount"), written, usage.get("cachedContentTokenCount"))


GEMINI = Dialect(encode=encode, decode=decode)
