"""Amazon Bedrock's Converse API, which is the same for the models of all makers."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from evenhand.domain.ask import Ask
from evenhand.domain.evaluation import Usage, token_sum, token_usage
from evenhand.domain.reply import Finish
from evenhand.models.dialects.anthropic import is_long_enough
from evenhand.models.dialects.dialect import (
    Complaint,
    Dialect,
    Generation,
    Said,
    complaint_in,
    listing,
    mapping,
    merged,
    reply_in,
    split_system,
    text_of,
    without_structure,
)
from evenhand.models.retry import TransportFault, error_body_fault

_FINISHES: Mapping[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "filtered",
    "content_filtered": "filtered",
}

# Models that keep the beginning of prompts where they are told; others refuse to be told.
_KEEPING: Final = (
    "claude-3-5-haiku", "claude-3-7-sonnet", "claude-haiku-4", "claude-opus-4", "claude-sonnet-4",
    "nova-lite", "nova-micro", "nova-premier", "nova-pro",
)  # fmt: skip


def encode(ask: Ask, generation: Generation) -> dict[str, Any]:
    """Make the request body for an ask; the model's name is in the URL, a contract is a tool that it must call."""
    if ask.top_logprobs:
        raise TransportFault(
            "unsupported",
            "Bedrock's Converse API gives no log-probabilities; use score_from 'text' or 'samples'",
            retryable=False,
        )
    system, turns = split_system(ask)
    body: dict[str, Any] = {
        # The roles must alternate.
        "messages": [
            {"role": role, "content": [{"text": content} for _, content in texts]}
            for role, texts in itertools.groupby(turns, key=lambda turn: turn[0])
        ]
    }
    if system:
        body["system"] = [{"text": system}]
        if generation.breakpoints and _keeps_prompts(generation.model, system):
            # What all questions of an evaluator have in common ends here.
            body["system"].append({"cachePoint": {"type": "default"}})
    config = generation.sampling(top_p="topP")
    if (limit := generation.limit(ask)) is not None:
        config["maxTokens"] = limit
    if config:
        body["inferenceConfig"] = config
    if ask.contract is not None and generation.structured != "none":
        schema, name = ask.contract.schema(), ask.contract.name
        if schema.get("type") == "object":
            tool = {"name": name, "description": "Give the reply.", "inputSchema": {"json": schema}}
            body["toolConfig"] = {"tools": [{"toolSpec": tool}], "toolChoice": {"tool": {"name": name}}}
    return merged(body, generation.extra_body)


def _keeps_prompts(name: str, system: str) -> bool:
    """Return whether a model is known to keep the beginning of prompts, and this one may be long enough for that.

    The name may begin with a region, and with the maker.
    """
    model = name.rpartition("anthropic.")[2].rpartition("amazon.")[2]
    return model.startswith(_KEEPING) and is_long_enough(model, system, None)


def otherwise(generation: Generation, complaint: str) -> Generation | None:
    """Return how else to ask: a model may not know of prompt caches after all."""
    if generation.breakpoints and "cach" in complaint.lower():
        return replace(generation, breakpoints=False)
    return without_structure(generation, complaint)


def decode(body: Any) -> Said:
    """Read a response body: the input of the tool call where there is one, else the text."""
    if "output" not in mapping(body) and (problem := complaint(body, {})):
        raise error_body_fault(problem.message, code=problem.code, retry_after=problem.retry_after)
    whole = reply_in(body, "output")
    message = mapping(mapping(whole["output"]).get("message"))
    blocks = [mapping(block) for block in listing(message.get("content"))]
    calls = [mapping(block.get("toolUse")) for block in blocks]
    called = [call["input"] for call in calls if "input" in call]
    return Said(
        text=json.dumps(called[0], ensure_ascii=False)
        if called
        else "".join(text_of(block.get("text")) for block in blocks),
        finish=_FINISHES.get(text_of(whole.get("stopReason")), "stop"),
        usage=_usage(mapping(whole.get("usage"))),
    )


def _usage(usage: Mapping[str, Any]) -> Usage | None:
    read, written = usage.get("inputTokens"), usage.get("outputTokens")
    cached, kept = usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens")
    # Most models count the cached tokens beside the input, some within it: the total tells.
    if usage.get("totalTokens") != token_sum(read, written):
        read = token_sum(read, kept, cached)
    return token_usage(read, written, cached, kept)


def complaint(body: object, headers: Mapping[str, str]) -> Complaint | None:
    """Find what Amazon says went wrong, a bare message with its code in a header; a gateway may say it otherwise."""
    if usual := complaint_in(body):
        return usual
    whole = mapping(body)
    message = text_of(whole.get("message")) or text_of(whole.get("Message"))
    # Before the code there may be the name of its service, and after it an address.
    code = headers.get("x-amzn-errortype") or text_of(whole.get("__type"))
    return Complaint(code.partition(":")[0].rpartition("#")[2] or None, message) if message else None


BEDROCK = Dialect(encode=encode, decode=decode, complaint=complaint, otherwise=otherwise)
