"""The text in what other people's models and functions return."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from evenhand.domain.evaluation import Usage, token_usage
from evenhand.domain.reply import Finish

_FINISHES: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "content_filter": "filtered",
    "content_filtered": "filtered",
    "safety": "filtered",
    "prohibited_content": "filtered",
    "blocklist": "filtered",
    "guardrail_intervened": "filtered",
}


def text_of(result: object) -> str:
    """Find the text in a result: itself, its ``text``, ``content`` or ``output``; other mappings and lists as JSON.

    >>> text_of({"content": [{"type": "text", "text": "Fine."}]})
    'Fine.'
    >>> text_of({"score": 1})
    '{"score": 1}'
    """
    if isinstance(result, str):
        return result
    inner = _inner(result)
    if inner is not None:
        return content_text(inner) if isinstance(inner, list) else text_of(inner)
    if isinstance(result, (Mapping, list)):
        return json_text(result)
    if hasattr(result, "model_dump"):  # a pydantic model that some parser made of the reply
        return json_text(result.model_dump(mode="json"))
    raise TypeError(
        "a reply is text, a mapping or list (taken as JSON), or an object with .content or .text; "
        f"got {type(result).__name__}: {result!r:.80}"
    )


def _inner(result: object) -> str | list[object] | Mapping[str, object] | None:
    for key in ("text", "content", "output"):
        value = result.get(key) if isinstance(result, Mapping) else getattr(result, key, None)
        if isinstance(value, (str, list, Mapping)):
            return value
    return None


def content_text(content: str | Iterable[object]) -> str:
    """Join the text parts of a message's content; thoughts, tool calls and pictures are not what the judge said."""
    if isinstance(content, str):
        return content
    texts = (
        part if isinstance(part, str) else part.get("text")
        for part in content
        if isinstance(part, str) or (isinstance(part, Mapping) and part.get("type", "text") in {"text", "output_text"})
    )
    return "".join(text for text in texts if isinstance(text, str))


def json_text(value: object) -> str:
    """Write a value as the JSON that a judge would have said."""
    return json.dumps(value, ensure_ascii=False)


def finish_of(reason: object) -> Finish:
    """Read why a model stopped, as providers spell it."""
    return _FINISHES.get(reason.lower(), "stop") if isinstance(reason, str) else "stop"


def usage_of(input_tokens: object, output_tokens: object, cached_tokens: object) -> Usage | None:
    """Put token counts together; None where nothing was counted, which these libraries write as 0 too."""
    usage = token_usage(input_tokens, output_tokens, cached_tokens)
    return None if usage == Usage() else usage
