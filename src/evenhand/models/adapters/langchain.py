"""LangChain's chat models and Runnables as judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evenhand.domain.ask import Ask
from evenhand.domain.case import transcript
from evenhand.models.adapters.adapter import (
    Adapter,
    content_text,
    finish_of,
    json_text,
    text_of,
    usage_of,
    wanted_schema,
)
from evenhand.models.dialects.dialect import Generation, Said, mapping, stated_model
from evenhand.models.dialects.openai import OPENAI
from evenhand.models.retry import RetryPolicy

# What ``with_structured_output`` raises where a model does not have it, or has it for some schemas only.
_NOT_OFFERED = (NotImplementedError, AttributeError, TypeError, ValueError)


class LangChainModel(Adapter):
    """A chat model, or any Runnable that takes messages and returns a message, text or a mapping.

    A chain that begins with a prompt template of one variable gets the messages in that variable. Retries that the
    model makes by itself (``max_retries`` of LangChain's provider classes) are below ours: set them to 0.
    """

    def __init__(self, runnable: Any, *, policy: RetryPolicy | None = None) -> None:
        # Looked up on the class: what wraps a model passes the name on, and would lose what it wraps it for.
        structured = hasattr(type(runnable), "with_structured_output")
        super().__init__(runnable, name=f"langchain/{_name(runnable)}", policy=policy, structured=structured)

    async def _request(self, ask: Ask, generation: Generation, seconds: float | None) -> Said:  # noqa: ARG002
        messages = [message.as_dict() for message in ask.messages]
        model = _with_room(self._source, ask)
        structured = self._structured_face(model, ask, generation)
        try:
            if structured is not None:
                return _read_structured(await structured.ainvoke(messages))
            return _read_message(await model.ainvoke(_input_for(model, ask, messages)))
        except Exception as error:
            if (response := _cut_off(error)) is None:
                raise
            return response

    def _structured_face(self, model: Any, ask: Ask, generation: Generation) -> Any:
        schema = wanted_schema(ask, generation)
        if schema is None or ask.contract is None:
            return None
        try:
            return model.with_structured_output(
                {"title": ask.contract.name, "description": "The judgment.", **schema}, include_raw=True
            )
        except _NOT_OFFERED:  # nothing was sent, so this is no failed request
            self._generation = replace(generation, structured="none")
            return None


def _name(runnable: Any) -> str:
    """Return the class, and the model where the class serves several."""
    model = next((name for key in ("model_name", "model") if isinstance(name := vars(runnable).get(key), str)), None)
    return f"{runnable.get_name()}:{model}" if model else str(runnable.get_name())


def _with_room(model: Any, ask: Ask) -> Any:
    """Return a copy of the model with the token limit that the ask wants, where the model has such a limit."""
    fields = vars(model)
    limit = ask.max_tokens or fields.get("max_tokens")
    if "max_tokens" not in fields or not isinstance(limit, int) or limit * ask.room == fields["max_tokens"]:
        return model
    return model.model_copy(update={"max_tokens": limit * ask.room})


def _input_for(model: Any, ask: Ask, messages: list[dict[str, str]]) -> object:
    """Return what a Runnable takes: the messages, or a mapping with them for a prompt template."""
    prompt = vars(model).get("first", model)
    if not hasattr(prompt, "input_variables"):
        return messages
    variables = [*prompt.input_variables, *getattr(prompt, "optional_variables", ())]
    if len(variables) != 1:
        return {"messages": messages}
    takes_messages = any(
        getattr(message, "variable_name", None) == variables[0] for message in getattr(prompt, "messages", ())
    )
    return {variables[0]: messages if takes_messages else transcript(ask.messages)}


def _read_structured(result: Any) -> Said:
    """Read structured output: the message as it came, or what was made of it where the message says nothing."""
    if not isinstance(result, Mapping) or "raw" not in result:
        return _read_message(result)
    response = _read_message(result["raw"])
    parsed = result.get("parsed")
    return response if response.text or parsed is None else response._replace(text=text_of(parsed))


def _read_message(result: Any) -> Said:
    if not hasattr(result, "response_metadata"):
        return Said(text=text_of(result))
    about = mapping(result.response_metadata)
    usage = mapping(getattr(result, "usage_metadata", None))
    details = mapping(usage.get("input_token_details"))
    cached, kept = details.get("cache_read"), details.get("cache_creation")
    counted = usage_of(usage.get("input_tokens"), usage.get("output_tokens"), cached, kept)
    model = stated_model(about.get("model_name") or about.get("model"))
    if refusal := _refusal(result):
        return Said(text=refusal, finish="refusal", usage=counted, model=model)
    reasons = [about.get(key) for key in ("finish_reason", "stop_reason", "done_reason", "stopReason")]
    reason = next((reason for reason in reasons if reason), None)
    return Said(text=_message_text(result), finish=finish_of(reason), usage=counted, model=model)


def _message_text(message: Any) -> str:
    """Read a tool call's arguments, which structured output may come in, else the content."""
    for calls in (getattr(message, "tool_calls", ()), getattr(message, "invalid_tool_calls", ())):
        for call in calls:
            arguments = call.get("args")
            return arguments if isinstance(arguments, str) else json_text(arguments)
    return content_text(message.content)


def _refusal(message: Any) -> str | None:
    """Read OpenAI's refusal, which comes beside the content or as a part of it."""
    parts = message.content if isinstance(message.content, list) else []
    for place in (message.additional_kwargs, *parts):
        if isinstance(place, Mapping) and isinstance(text := place.get("refusal"), str):
            return text
    return None


def _cut_off(error: Exception) -> Said | None:
    """Read the reply out of what OpenAI's library raises when structured output was cut off."""
    if type(error).__name__ not in {"LengthFinishReasonError", "ContentFilterFinishReasonError"}:
        return None
    completion = getattr(error, "completion", None)
    if completion is None:
        return Said(text="", finish="filtered")
    return OPENAI.decode(completion.model_dump(exclude_unset=True, warnings=False))
